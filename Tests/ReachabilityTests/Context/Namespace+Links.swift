import Reachability

extension Commands {
    /// Makes `name` with an IPv4 address and a default route, and its other end `name` + `p`.
    func connect(_ name: String) throws {
        try ipBatch([
            "link add \(name) type veth peer name \(name)p", "address add 192.0.2.2/24 dev \(name)",
            "link set \(name) up", "link set \(name)p up", "route add default via 192.0.2.1 dev \(name)",
        ])
    }
}

extension ReachabilityConfiguration {
    /// Losses are told at once, so that no test waits for time to pass.
    static var prompt: ReachabilityConfiguration {
        var configuration = ReachabilityConfiguration()
        configuration.lossHold = .zero
        return configuration
    }
}
