/// Facts about the route to a destination: Apple's `SCNetworkReachabilityFlags`, with the same values.
public struct ReachabilityFlags: OptionSet, Hashable, Sendable {
    public let rawValue: UInt32

    public init(rawValue: UInt32) {
        self.rawValue = rawValue
    }

    /// The route uses a link that is not permanent: point-to-point, a tunnel, a mobile network.
    public static let transientConnection = ReachabilityFlags(rawValue: 1 << 0)
    /// The kernel has a route to the destination, or will have one after ``connectionRequired``.
    public static let reachable = ReachabilityFlags(rawValue: 1 << 1)
    /// The link is dormant, and has to be connected first.
    public static let connectionRequired = ReachabilityFlags(rawValue: 1 << 2)
    /// Traffic to the destination connects the link.
    public static let connectionOnTraffic = ReachabilityFlags(rawValue: 1 << 3)
    /// A person has to do something first. Set only by the configuration.
    public static let interventionRequired = ReachabilityFlags(rawValue: 1 << 4)
    /// The link connects on demand. Set only by the configuration.
    public static let connectionOnDemand = ReachabilityFlags(rawValue: 1 << 5)
    /// The destination is an address of this machine.
    public static let isLocalAddress = ReachabilityFlags(rawValue: 1 << 16)
    /// The destination is on the link itself; there is no gateway.
    public static let isDirect = ReachabilityFlags(rawValue: 1 << 17)
    /// The route uses a mobile network.
    public static let isWWAN = ReachabilityFlags(rawValue: 1 << 18)

    /// All flags with their names, in the order of their values; Apple's names without `kSCNetworkReachabilityFlags`.
    private static let named: [(flag: ReachabilityFlags, name: String)] = [
        (.transientConnection, "transientConnection"), (.reachable, "reachable"),
        (.connectionRequired, "connectionRequired"), (.connectionOnTraffic, "connectionOnTraffic"),
        (.interventionRequired, "interventionRequired"), (.connectionOnDemand, "connectionOnDemand"),
        (.isLocalAddress, "isLocalAddress"), (.isDirect, "isDirect"), (.isWWAN, "isWWAN"),
    ]

    /// The names of the set flags; `reachable` comes first.
    public var names: [String] {
        let names = Self.named.filter { contains($0.flag) }.map(\.name)
        return names.filter { $0 == "reachable" } + names.filter { $0 != "reachable" }
    }
}
