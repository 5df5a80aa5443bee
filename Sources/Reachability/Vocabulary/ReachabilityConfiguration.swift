/// How reachability is evaluated. The defaults fit most programs.
public struct ReachabilityConfiguration: Hashable, Sendable {
    /// How long a loss has to last before it is reported. A gain or a change of interface is reported immediately.
    public var lossHold: Duration = .milliseconds(200)
    /// The highest level of the kernel-side filter: 4 drops every irrelevant message, 0 filters nothing. The kernel may
    /// refuse it; the monitor's status has the active level.
    public var filterLevel: Int = 4
    /// Facts about interfaces that are not in the kernel's tables. The first override that matches the name applies.
    public var interfaces: [InterfaceOverride] = []
    /// The file that lists the name servers.
    public var resolverFile: String = "/etc/resolv.conf"
    /// The file with host names; after a change, names are looked up again.
    public var hostsFile: String = "/etc/hosts"
    /// The valid levels; another value counts as the nearest of them.
    public static let filterLevels = 0...4
    /// The maximum: a longer hold would hide losses that people have to know about.
    public static let longestLossHold = Duration.seconds(60)

    public init() {}
}

/// Facts about interfaces from the configuration.
public struct InterfaceOverride: Hashable, Sendable {
    /// The interface's name; `*` matches any characters.
    public var name: String
    public var type: NetworkInterface.InterfaceType?
    public var isExpensive: Bool?
    public var isConstrained: Bool?
    /// A person has to do something before it works, such as enter a PIN.
    public var interventionRequired: Bool
    /// It connects on demand.
    public var connectionOnDemand: Bool

    public init(
        name: String, type: NetworkInterface.InterfaceType? = nil, isExpensive: Bool? = nil,
        isConstrained: Bool? = nil, interventionRequired: Bool = false, connectionOnDemand: Bool = false
    ) {
        self.name = name
        self.type = type
        self.isExpensive = isExpensive
        self.isConstrained = isConstrained
        self.interventionRequired = interventionRequired
        self.connectionOnDemand = connectionOnDemand
    }

    /// Whether it applies to the interface with this name.
    public func matches(_ interface: String) -> Bool {
        let parts = name.split(separator: "*", omittingEmptySubsequences: false)
        guard let first = parts.first, let last = parts.last, parts.count > 1 else { return name == interface }
        guard interface.hasPrefix(first), interface.count >= first.count + last.count else { return false }
        var rest = interface.dropFirst(first.count).dropLast(last.count)
        guard interface.hasSuffix(last) else { return false }
        for part in parts.dropFirst().dropLast() where !part.isEmpty {
            guard let start = firstOccurrence(of: part, in: rest) else { return false }
            rest = rest[start...].dropFirst(part.count)
        }
        return true
    }

    private func firstOccurrence(of part: Substring, in text: Substring) -> Substring.Index? {
        text.indices.first { text[$0...].hasPrefix(part) }
    }
}
