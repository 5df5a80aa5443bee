internal import RunLoop

/// The watched host names: their addresses, and when to look them up again.
///
/// A name is looked up when its watch begins, when the default route or the resolver's files change, and after a
/// resume; so it never keeps an outdated answer. A name without an answer is also looked up again after a while, but
/// only while a name server is reachable. A name with an answer needs no timer.
struct HostTable {
    static let firstRetry = Duration.seconds(2)
    static let longestRetry = Duration.seconds(15 * 60)

    /// The state of one name.
    private struct Host {
        var answer: Resolution?
        var isAsked = false
        /// The network changed during the look-up, so the answer may be outdated.
        var isToBeAskedAgain = false
        var failures = 0
        var retryAt: BootClock.Instant?

        mutating func noteFailure(at now: BootClock.Instant, mayRetry: Bool) {
            failures = min(failures + 1, 32)
            let pause = min(HostTable.firstRetry * (1 << min(failures - 1, 16)), HostTable.longestRetry)
            retryAt = mayRetry ? now.advanced(by: pause) : nil
        }
    }

    private var hosts: [String: Host] = [:]

    /// The addresses of a name, or why it has none.
    enum Knowledge: Equatable {
        case addresses([IPAddress])
        case unknown(UnsatisfiedReason)
    }

    func knowledge(of name: String) -> Knowledge {
        switch hosts[name]?.answer {
        case .addresses(let addresses) where !addresses.isEmpty: .addresses(addresses)
        case .addresses, .notFound: .unknown(.nameNotFound)
        case .failed: .unknown(.nameServersSilent)
        case nil: .unknown(.resolving)
        }
    }

    /// The next time to look a name up again.
    var nextDeadline: BootClock.Instant? { hosts.values.compactMap(\.retryAt).min() }

    /// - Returns: The names to look up.
    mutating func add(_ name: String) -> [String] {
        guard hosts[name] == nil else { return [] }
        hosts[name] = Host()
        return ask([name])
    }

    mutating func remove(_ name: String) {
        hosts[name] = nil
    }

    /// The default route, the resolver's files or the time changed, so every name may have other addresses now.
    /// Resets the retry delays.
    /// - Returns: The names to look up.
    mutating func askAll() -> [String] {
        for name in hosts.keys { hosts[name]?.failures = 0 }
        return ask(Array(hosts.keys))
    }

    /// - Returns: The names whose retry is due.
    mutating func askDue(at now: BootClock.Instant) -> [String] {
        ask(hosts.filter { $0.value.retryAt.map { $0 <= now } ?? false }.map(\.key))
    }

    /// Takes the resolver's answer.
    /// - Parameter mayRetry: whether a name server is reachable; without one, a retry is pointless.
    /// - Returns: Whether the knowledge of the name changed, and the names to look up.
    mutating func resolved(
        _ name: String, _ answer: Resolution, at now: BootClock.Instant, mayRetry: Bool
    ) -> (isChanged: Bool, ask: [String]) {
        guard var host = hosts[name] else { return (false, []) }
        let before = knowledge(of: name)
        host.isAsked = false
        switch answer {
        case .addresses(let addresses):
            // Name servers rotate the addresses to spread load. That is no change.
            if case .addresses(let old)? = host.answer, Set(old) == Set(addresses) {} else { host.answer = answer }
            host.failures = 0
            host.retryAt = nil
        case .notFound:
            host.answer = answer
            host.noteFailure(at: now, mayRetry: mayRetry)
        case .failed:
            // Keep the old addresses: name servers are often silent during a network change.
            if case .addresses? = host.answer {} else { host.answer = answer }
            host.noteFailure(at: now, mayRetry: mayRetry)
        }
        let isToBeAskedAgain = host.isToBeAskedAgain
        host.isToBeAskedAgain = false
        hosts[name] = host
        return (before != knowledge(of: name), isToBeAskedAgain ? ask([name]) : [])
    }

    private mutating func ask(_ names: [String]) -> [String] {
        names.sorted().filter { name in
            guard var host = hosts[name] else { return false }
            defer { hosts[name] = host }
            host.retryAt = nil
            if host.isAsked {
                host.isToBeAskedAgain = true
                return false
            }
            host.isAsked = true
            return true
        }
    }
}
