internal import RunLoop

/// The watched host names: their addresses, and when to look them up again.
///
/// A name is looked up when its watch begins, when the default route or the resolver's files change, and after a
/// resume. A look-up that failed, or found nothing, is also repeated after a while, but only while a name server is
/// reachable. Otherwise no name needs a timer: an answer that is old is asked for again when it is needed.
struct HostTable {
    /// The age up to which an answer is used without another look-up: `getaddrinfo` does not tell its time to live.
    static let longestAge = Duration.seconds(30)
    static let firstRetry = Duration.seconds(2)
    static let longestRetry = Duration.seconds(15 * 60)

    /// The state of one name.
    private struct Host {
        var answer: Resolution?
        /// When the answer came.
        var answeredAt: BootClock.Instant?
        /// When the last look-up ended, also if it failed and the answer is that of an earlier one.
        var lookedUpAt: BootClock.Instant?
        var isAsked = false
        /// The network changed during the look-up, so the answer may be outdated.
        var isToBeAskedAgain = false
        var failures = 0
        var retryAt: BootClock.Instant?

        /// A newer answer is about to come.
        func isAwaited(at now: BootClock.Instant) -> Bool { isAsked && HostTable.isOld(answeredAt, at: now) }

        /// Who needs the name has it looked up again. A failed look-up counts for as long as an answer: each push and
        /// each question would begin another while a server refuses at once.
        func isDue(at now: BootClock.Instant) -> Bool { !isAsked && HostTable.isOld(lookedUpAt, at: now) }

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

    /// When the addresses of a name were looked up, or that it has none; nil if no server has said so yet.
    func resolvedAt(_ name: String) -> BootClock.Instant? {
        guard let host = hosts[name] else { return nil }
        if case .failed? = host.answer { return nil }
        return host.answeredAt
    }

    /// Whether a newer answer is about to come, because the present one is old.
    func isAwaited(_ name: String, at now: BootClock.Instant) -> Bool {
        hosts[name]?.isAwaited(at: now) ?? false
    }

    private static func isOld(_ time: BootClock.Instant?, at now: BootClock.Instant) -> Bool {
        time.map { $0.duration(to: now) > longestAge } ?? false
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

    /// These names are needed now.
    /// - Returns: Those of them to look up: the last look-up is old, and no other is under way.
    mutating func askOld(_ names: [String], at now: BootClock.Instant) -> [String] {
        ask(names.filter { hosts[$0]?.isDue(at: now) ?? false })
    }

    /// Looks up every name whose answer is old.
    mutating func askOld(at now: BootClock.Instant) -> [String] { askOld(Array(hosts.keys), at: now) }

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
        host.lookedUpAt = now
        switch answer {
        case .addresses(let addresses):
            // Name servers rotate the addresses to spread load. That is no change.
            if case .addresses(let old)? = host.answer, Set(old) == Set(addresses) {} else { host.answer = answer }
            host.answeredAt = now
            host.failures = 0
            host.retryAt = nil
        case .notFound:
            host.answer = answer
            host.answeredAt = now
            host.noteFailure(at: now, mayRetry: mayRetry)
        case .failed:
            // Keep the old addresses: name servers are often silent during a network change.
            if case .addresses? = host.answer {} else { (host.answer, host.answeredAt) = (answer, now) }
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
