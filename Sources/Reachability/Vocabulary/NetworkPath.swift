/// What the network as a whole offers, in the terms of Apple's `NWPath`.
public struct NetworkPath: Hashable, Sendable {
    /// Whether the network, or one destination, can be used.
    public enum Status: String, Hashable, Sendable, CaseIterable {
        /// It can.
        case satisfied
        /// It cannot; a reason says why.
        case unsatisfied
        /// It can once a connection is made, which traffic does.
        case requiresConnection
    }

    public var status: Status
    /// Why it is not satisfied; nil when it is.
    public var unsatisfiedReason: UnsatisfiedReason?
    /// The interfaces with a default route that can be used: the one that is used first, then by the routes' metrics.
    public var interfaces: [NetworkInterface]
    /// The gateways of the default routes in use, IPv4 first. Empty on a point-to-point link.
    public var gateways: [IPAddress]
    /// The addresses that traffic would be sent from, IPv4 first.
    public var sources: [IPAddress]
    /// The interface in use is paid for by volume: a mobile network, or one that the configuration says so of.
    public var isExpensive: Bool
    /// The interface in use is to be spared. From configuration only.
    public var isConstrained: Bool
    /// IPv4 has a default route that can be used.
    public var supportsIPv4: Bool
    /// IPv6 has a default route that can be used.
    public var supportsIPv6: Bool
    /// Some name server of `/etc/resolv.conf` is reachable.
    public var supportsDNS: Bool

    public init(
        status: Status, unsatisfiedReason: UnsatisfiedReason? = nil, interfaces: [NetworkInterface] = [],
        gateways: [IPAddress] = [], sources: [IPAddress] = [], isExpensive: Bool = false,
        isConstrained: Bool = false, supportsIPv4: Bool = false, supportsIPv6: Bool = false, supportsDNS: Bool = false
    ) {
        self.status = status
        self.unsatisfiedReason = unsatisfiedReason
        self.interfaces = interfaces
        self.gateways = gateways
        self.sources = sources
        self.isExpensive = isExpensive
        self.isConstrained = isConstrained
        self.supportsIPv4 = supportsIPv4
        self.supportsIPv6 = supportsIPv6
        self.supportsDNS = supportsDNS
    }

    /// Whether the interface in use is of this type.
    public func usesInterfaceType(_ type: NetworkInterface.InterfaceType) -> Bool {
        status != .unsatisfied && interfaces.first?.type == type
    }
}
