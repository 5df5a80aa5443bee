/// How reachability is judged. The defaults are right for most.
public struct ReachabilityConfiguration: Hashable, Sendable {
    /// How long a loss has to last before it is told. A gain, or another interface, is told at once.
    public var lossHold: Duration = .milliseconds(200)

    /// The highest level of the kernel-side filter: 4 keeps away every message that cannot matter, 0 filters nothing.
    /// The kernel may refuse it; the monitor's status has the level in force.
    public var filterLevel: Int = 4

    /// What is known of interfaces and is not in the kernel's tables. The first that matches the name counts.
    public var interfaces: [InterfaceOverride] = []

    /// The file that names the name servers.
    public var resolverFile: String = "/etc/resolv.conf"
    /// The file that holds host names; a change has names looked up again.
    public var hostsFile: String = "/etc/hosts"

    /// The levels that there are; others count as the nearest.
    public static let filterLevels = 0...4
    /// A longer hold than this hides what people have to know.
    public static let longestLossHold = Duration.seconds(60)

    public init() {}
}

/// What the configuration says of interfaces.
public struct InterfaceOverride: Hashable, Sendable {
    /// The names that it is about: a name, with `*` for any characters.
    public var name: String
    public var type: NetworkInterface.InterfaceType?
    public var isExpensive: Bool?
    public var isConstrained: Bool?
    /// Somebody has to do something before it can be used, such as to enter a PIN.
    public var interventionRequired: Bool
    /// It makes its connection on demand.
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

    /// Whether it is about the interface of this name.
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
