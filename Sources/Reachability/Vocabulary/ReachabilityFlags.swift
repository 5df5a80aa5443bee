/// What is known about the way to a destination, in the terms of Apple's `SCNetworkReachabilityFlags`, with its values.
public struct ReachabilityFlags: OptionSet, Hashable, Sendable {
    public let rawValue: UInt32

    public init(rawValue: UInt32) {
        self.rawValue = rawValue
    }

    /// The way leads over a link that comes and goes: point-to-point, a tunnel, a mobile network.
    public static let transientConnection = ReachabilityFlags(rawValue: 1 << 0)
    /// The kernel has a way to the destination, or would have one after ``connectionRequired``.
    public static let reachable = ReachabilityFlags(rawValue: 1 << 1)
    /// A connection has to be made first: the link is dormant.
    public static let connectionRequired = ReachabilityFlags(rawValue: 1 << 2)
    /// Traffic to the destination makes that connection.
    public static let connectionOnTraffic = ReachabilityFlags(rawValue: 1 << 3)
    /// Somebody has to do something first. From configuration only.
    public static let interventionRequired = ReachabilityFlags(rawValue: 1 << 4)
    /// The connection is made on demand. From configuration only.
    public static let connectionOnDemand = ReachabilityFlags(rawValue: 1 << 5)
    /// The destination is an address of this machine.
    public static let isLocalAddress = ReachabilityFlags(rawValue: 1 << 16)
    /// The destination is on the link itself; no gateway is in between.
    public static let isDirect = ReachabilityFlags(rawValue: 1 << 17)
    /// The way leads over a mobile network.
    public static let isWWAN = ReachabilityFlags(rawValue: 1 << 18)

    /// All flags with their names, in the order of their values; Apple's names without `kSCNetworkReachabilityFlags`.
    private static let named: [(flag: ReachabilityFlags, name: String)] = [
        (.transientConnection, "transientConnection"), (.reachable, "reachable"),
        (.connectionRequired, "connectionRequired"), (.connectionOnTraffic, "connectionOnTraffic"),
        (.interventionRequired, "interventionRequired"), (.connectionOnDemand, "connectionOnDemand"),
        (.isLocalAddress, "isLocalAddress"), (.isDirect, "isDirect"), (.isWWAN, "isWWAN"),
    ]

    /// The names of the flags that are set; `reachable` comes first.
    public var names: [String] {
        let names = Self.named.filter { contains($0.flag) }.map(\.name)
        return names.filter { $0 == "reachable" } + names.filter { $0 != "reachable" }
    }
}
