/// The network as a whole, in the terms of Apple's `NWPath`.
public struct NetworkPath: Hashable, Sendable {
    /// Whether the network, or one destination, can be used.
    public enum Status: String, Hashable, Sendable, CaseIterable {
        /// It can be used.
        case satisfied
        /// It cannot be used; a reason says why.
        case unsatisfied
        /// It can be used after traffic has triggered a connection.
        case requiresConnection
    }

    public var status: Status
    /// Why the status is not satisfied; nil if it is.
    public var unsatisfiedReason: UnsatisfiedReason?
    /// The interfaces with a usable default route: first the one in use, then by the routes' metrics.
    public var interfaces: [NetworkInterface]
    /// The gateways of the default routes in use, IPv4 first. Empty on a point-to-point link.
    public var gateways: [IPAddress]
    /// The source addresses of traffic, IPv4 first.
    public var sources: [IPAddress]
    /// The interface in use is billed by volume: a mobile network, or an interface that the configuration marks.
    public var isExpensive: Bool
    /// The program should use the interface sparingly. Set only by the configuration.
    public var isConstrained: Bool
    /// IPv4 has a usable default route.
    public var supportsIPv4: Bool
    /// IPv6 has a usable default route.
    public var supportsIPv6: Bool
    /// A name server of `/etc/resolv.conf` is reachable.
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
