/// What the network as a whole offers. All members are always present; an absent value is null, or an empty list.
package struct PathMessage: Codable, Equatable, Sendable {
    package var schema = ControlAPI.schema
    /// `satisfied`, `unsatisfied` or `requiresConnection`.
    package var status: String
    /// Why it is not satisfied: Reachability's `UnsatisfiedReason` as text.
    package var reason: String?
    /// The interface in use, by name: the first of `interfaces`.
    package var interface: String?
    /// Its type: `wifi`, `cellular`, `wiredEthernet`, `loopback` or `other`.
    package var interfaceType: String?
    /// The interfaces with a default route that can be used, the one in use first.
    package var interfaces: [Interface]
    /// The gateways of the default routes in use.
    package var gateways: [String] = []
    /// The source addresses of traffic.
    package var sources: [String] = []
    /// The interface in use is paid for by volume.
    package var isExpensive = false
    /// The interface in use should carry as little as possible.
    package var isConstrained = false
    package var supportsIPv4 = false
    package var supportsIPv6 = false
    /// At least one name server is reachable.
    package var supportsDNS = false

    /// One interface.
    package struct Interface: Codable, Equatable, Sendable {
        package var name: String
        package var type: String
        /// The kernel's index of the interface.
        package var index: UInt32

        package init(name: String, type: String, index: UInt32) {
            self.name = name
            self.type = type
            self.index = index
        }
    }

    package init(status: String, reason: String?, interfaces: [Interface]) {
        self.status = status
        self.reason = reason
        self.interfaces = interfaces
        interface = interfaces.first?.name
        interfaceType = interfaces.first?.type
    }

    /// The same for strangers.
    package var withoutAddresses: PathMessage {
        var message = self
        (message.gateways, message.sources) = ([], [])
        return message
    }

    // Written by hand because the synthesized encoder omits nulls.
    package func encode(to encoder: any Encoder) throws {
        var members = encoder.container(keyedBy: CodingKeys.self)
        try members.encode(schema, forKey: .schema)
        try members.encode(status, forKey: .status)
        try members.encode(reason, forKey: .reason)
        try members.encode(interface, forKey: .interface)
        try members.encode(interfaceType, forKey: .interfaceType)
        try members.encode(interfaces, forKey: .interfaces)
        try members.encode(gateways, forKey: .gateways)
        try members.encode(sources, forKey: .sources)
        try members.encode(isExpensive, forKey: .isExpensive)
        try members.encode(isConstrained, forKey: .isConstrained)
        try members.encode(supportsIPv4, forKey: .supportsIPv4)
        try members.encode(supportsIPv6, forKey: .supportsIPv6)
        try members.encode(supportsDNS, forKey: .supportsDNS)
    }
}
