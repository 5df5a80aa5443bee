internal import RunLoop

/// The host names that are watched: what they resolve to, and when they are asked of the resolver again.
///
/// A name is asked when its watch begins, when the way to the network or the resolver's files change, and after a
/// resume; so it is never stuck on its first answer. A name that had no answer is asked again after a while as well,
/// but only while a name server can be reached. A name that has one is left alone: no timer runs for it.
struct HostTable {
    static let firstRetry = Duration.seconds(2)
    static let longestRetry = Duration.seconds(15 * 60)

    /// What is known of one name.
    private struct Host {
        var answer: Resolution?
        var isAsked = false
        /// Things changed while it was asked: the answer may be of before.
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

    /// The next time at which a name is to be asked again.
    var nextDeadline: BootClock.Instant? { hosts.values.compactMap(\.retryAt).min() }

    /// - Returns: The names to ask of the resolver.
    mutating func add(_ name: String) -> [String] {
        guard hosts[name] == nil else { return [] }
        hosts[name] = Host()
        return ask([name])
    }

    mutating func remove(_ name: String) {
        hosts[name] = nil
    }

    /// The way to the network, the resolver's files or the time changed: every name may have another address now.
    /// What failed before says nothing of how long to wait after the next failure.
    /// - Returns: The names to ask of the resolver.
    mutating func askAll() -> [String] {
        for name in hosts.keys { hosts[name]?.failures = 0 }
        return ask(Array(hosts.keys))
    }

    /// - Returns: The names whose time to be asked again has come.
    mutating func askDue(at now: BootClock.Instant) -> [String] {
        ask(hosts.filter { $0.value.retryAt.map { $0 <= now } ?? false }.map(\.key))
    }

    /// Takes the resolver's answer.
    /// - Parameter mayRetry: Some name server can be reached; without one an error is not worth a retry.
    /// - Returns: Whether what is known of the name changed, and the names to ask.
    mutating func resolved(
        _ name: String, _ answer: Resolution, at now: BootClock.Instant, mayRetry: Bool
    ) -> (isChanged: Bool, ask: [String]) {
        guard var host = hosts[name] else { return (false, []) }
        let before = knowledge(of: name)
        host.isAsked = false
        switch answer {
        case .addresses(let addresses):
            // Name servers turn the order round with each answer, to spread the load; that is no change.
            if case .addresses(let old)? = host.answer, Set(old) == Set(addresses) {} else { host.answer = answer }
            host.failures = 0
            host.retryAt = nil
        case .notFound:
            host.answer = answer
            host.noteFailure(at: now, mayRetry: mayRetry)
        case .failed:
            // The old addresses are more likely to be right than none: servers are silent when a network changes.
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
