/// How the kernel's tables reach one target. All members are always present; an absent value is null.
package struct TargetMessage: Codable, Equatable, Sendable {
    package var schema = ControlAPI.schema
    /// The target in canonical form: `any`, an address, `LOCAL,REMOTE`, or a host name.
    package var target: String
    /// Packets can be sent now: the status is `satisfied`.
    package var reachable: Bool
    /// Apple's names of the flags that are set, without `kSCNetworkReachabilityFlags`.
    package var flags: [String]
    /// `satisfied`, `unsatisfied` or `requiresConnection`.
    package var status: String
    /// Why it is not satisfied: Reachability's `UnsatisfiedReason` as text.
    package var reason: String?
    /// The outgoing interface; also one that is down, if that is the reason.
    package var interface: String?
    /// Its type: `wifi`, `cellular`, `wiredEthernet`, `loopback` or `other`.
    package var interfaceType: String?
    /// The source address of packets.
    package var source: String?
    /// The gateway; null if the target is on the link.
    package var gateway: String?
    /// The addresses that this is about; those of a host name in the resolver's order. None for `any`, null for
    /// strangers.
    package var addresses: [String]?
    /// When the addresses of a host name were looked up, or that it has none: UTC, with milliseconds. Null before that,
    /// for other targets, and for strangers.
    package var resolvedAt: String?
    /// The interface is paid for by volume.
    package var isExpensive = false
    /// The interface should carry as little as possible.
    package var isConstrained = false
    /// An IPv4 address of the target is reachable.
    package var supportsIPv4 = false
    /// An IPv6 address of the target is reachable.
    package var supportsIPv6 = false
    /// At least one name server is reachable.
    package var supportsDNS = false

    package init(target: String, reachable: Bool, flags: [String], status: String, reason: String?) {
        self.target = target
        self.reachable = reachable
        self.flags = flags
        self.status = status
        self.reason = reason
    }

    /// The same for strangers.
    package var withoutAddresses: TargetMessage {
        var message = self
        (message.source, message.gateway) = (nil, nil)
        (message.addresses, message.resolvedAt) = (nil, nil)
        return message
    }

    // Written by hand because the synthesized encoder omits nulls.
    package func encode(to encoder: any Encoder) throws {
        var members = encoder.container(keyedBy: CodingKeys.self)
        try members.encode(schema, forKey: .schema)
        try members.encode(target, forKey: .target)
        try members.encode(reachable, forKey: .reachable)
        try members.encode(flags, forKey: .flags)
        try members.encode(status, forKey: .status)
        try members.encode(reason, forKey: .reason)
        try members.encode(interface, forKey: .interface)
        try members.encode(interfaceType, forKey: .interfaceType)
        try members.encode(source, forKey: .source)
        try members.encode(gateway, forKey: .gateway)
        try members.encode(addresses, forKey: .addresses)
        try members.encode(resolvedAt, forKey: .resolvedAt)
        try members.encode(isExpensive, forKey: .isExpensive)
        try members.encode(isConstrained, forKey: .isConstrained)
        try members.encode(supportsIPv4, forKey: .supportsIPv4)
        try members.encode(supportsIPv6, forKey: .supportsIPv6)
        try members.encode(supportsDNS, forKey: .supportsDNS)
    }
}

/// The answer to `GET /v1/reachability`: one entry for each target, in the order of the request.
package struct TargetListMessage: Codable, Equatable, Sendable {
    package var schema = ControlAPI.schema
    package var targets: [TargetMessage]
    /// The network namespace for which this holds, as SO_NETNS_COOKIE; nil if unknown.
    package var networkNamespace: UInt64?

    package init(targets: [TargetMessage], networkNamespace: UInt64? = nil) {
        self.targets = targets
        self.networkNamespace = networkNamespace
    }
}
