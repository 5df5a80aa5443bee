package import Reachability

/// What the kernel's tables say of the way to one destination. All members are always there; what there is none of is
/// null.
package struct TargetMessage: Codable, Equatable, Sendable {
    package var schema = ControlAPI.schema
    /// The destination in the form that it is written back in: `any`, an address, `LOCAL,REMOTE`, or a host name.
    package var target: String
    /// Packets can be sent now: the status is `satisfied`.
    package var reachable: Bool
    /// Apple's names of the flags that are set, without `kSCNetworkReachabilityFlags`.
    package var flags: [String]
    /// `satisfied`, `unsatisfied` or `requiresConnection`.
    package var status: String
    /// Why it is not satisfied: `UnsatisfiedReason` as text.
    package var reason: String?
    /// The interface that packets leave by; also of one that is down, where it is the reason.
    package var interface: String?
    /// What carries it: `wifi`, `cellular`, `wiredEthernet`, `loopback` or `other`.
    package var interfaceType: String?
    /// The address that packets are sent from.
    package var source: String?
    /// The gateway; null when the destination is on the link.
    package var gateway: String?
    /// The interface is paid for by volume.
    package var isExpensive: Bool
    /// The interface is to be spared.
    package var isConstrained: Bool
    /// An IPv4 address of the destination can be reached.
    package var supportsIPv4: Bool
    /// An IPv6 address of the destination can be reached.
    package var supportsIPv6: Bool
    /// Some name server is reachable.
    package var supportsDNS: Bool

    package init(_ target: ReachabilityTarget, _ reachability: TargetReachability) {
        self.target = target.description
        reachable = reachability.isReachable
        flags = reachability.flags.names
        status = reachability.status.rawValue
        reason = reachability.unsatisfiedReason?.rawValue
        interface = reachability.interface?.name
        interfaceType = reachability.interface?.type.rawValue
        source = reachability.source?.description
        gateway = reachability.nextHop?.description
        isExpensive = reachability.isExpensive
        isConstrained = reachability.isConstrained
        supportsIPv4 = reachability.supportsIPv4
        supportsIPv6 = reachability.supportsIPv6
        supportsDNS = reachability.supportsDNS
    }

    // Written by hand for the nulls: what is synthesized leaves them out.
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
        try members.encode(isExpensive, forKey: .isExpensive)
        try members.encode(isConstrained, forKey: .isConstrained)
        try members.encode(supportsIPv4, forKey: .supportsIPv4)
        try members.encode(supportsIPv6, forKey: .supportsIPv6)
        try members.encode(supportsDNS, forKey: .supportsDNS)
    }
}

extension TargetReachability {
    /// Of a host name whose addresses are not known yet, on this path.
    package static func resolving(on path: NetworkPath) -> TargetReachability {
        TargetReachability(
            flags: [], status: .unsatisfied, unsatisfiedReason: .resolving, supportsDNS: path.supportsDNS)
    }
}

/// The answer to `GET /v1/reachability`: one entry for each destination, in the order that they were asked for.
package struct TargetListMessage: Codable, Equatable, Sendable {
    package var schema = ControlAPI.schema
    package var targets: [TargetMessage]

    package init(targets: [TargetMessage]) {
        self.targets = targets
    }
}
