package import Reachability

/// What the network as a whole offers. All members are always there; what there is none of is null, or an empty list.
package struct PathMessage: Codable, Equatable, Sendable {
    package var schema = ControlAPI.schema
    /// `satisfied`, `unsatisfied` or `requiresConnection`.
    package var status: String
    /// Why it is not satisfied: `UnsatisfiedReason` as text.
    package var reason: String?
    /// The interface in use, by name: the first of `interfaces`.
    package var interface: String?
    /// What carries it: `wifi`, `cellular`, `wiredEthernet`, `loopback` or `other`.
    package var interfaceType: String?
    /// The interfaces with a default route that can be used, the one in use first.
    package var interfaces: [Interface]
    /// The gateways of the default routes in use.
    package var gateways: [String]
    /// The addresses that traffic is sent from.
    package var sources: [String]
    /// The interface in use is paid for by volume.
    package var isExpensive: Bool
    /// The interface in use is to be spared.
    package var isConstrained: Bool
    package var supportsIPv4: Bool
    package var supportsIPv6: Bool
    /// Some name server is reachable.
    package var supportsDNS: Bool

    /// One interface.
    package struct Interface: Codable, Equatable, Sendable {
        package var name: String
        package var type: String
        /// The kernel's number of it.
        package var index: UInt32

        init(_ interface: NetworkInterface) {
            name = interface.name
            type = interface.type.rawValue
            index = interface.index
        }
    }

    package init(_ path: NetworkPath) {
        status = path.status.rawValue
        reason = path.unsatisfiedReason?.rawValue
        interfaces = path.interfaces.map(Interface.init)
        interface = path.interfaces.first?.name
        interfaceType = path.interfaces.first?.type.rawValue
        gateways = path.gateways.map(\.description)
        sources = path.sources.map(\.description)
        isExpensive = path.isExpensive
        isConstrained = path.isConstrained
        supportsIPv4 = path.supportsIPv4
        supportsIPv6 = path.supportsIPv6
        supportsDNS = path.supportsDNS
    }

    // Written by hand for the nulls: what is synthesized leaves them out.
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
