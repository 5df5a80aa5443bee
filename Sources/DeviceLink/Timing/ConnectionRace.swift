package import RingwakeCore

/// One race for a connection over addresses that are already resolved: Happy Eyeballs version 2 (RFC 8305).
///
///     start --start--> racing --secured-----------------------------------> over: won
///                        |  ^
///                        |  +-- failed, connected, advance (next attempt)
///                        |
///                        +-- failed or advance (no attempt left), the deadline --> over: failed
///                        +-- cancel ---------------------------------------------> over
///
/// The labels of the arrows are functions. An *attempt* is a TCP connection and the TLS handshake on it. The first
/// attempt whose handshake is complete wins and the others are closed, so the server sees one CONNECT only.
///
/// - *racing*: at least one attempt is in progress, or the next one starts now. The next address is tried after the
///   Connection Attempt Delay (RFC 8305 section 5), or at once when an attempt fails.
/// - *over*: no attempt is in progress and no input has an effect. Late results need no care from the driver.
///
/// The race names an address by its index in the list it was started with.
package struct ConnectionRace<Failure: Hashable & Sendable>: Hashable, Sendable {
    private var state: State = .new
    /// The addresses in the order in which they are tried, as indexes of the list of the caller.
    package let order: [Int]
    private let addressCount: Int
    private let limits: ConnectionRaceLimits

    /// A race that has not started.
    ///
    /// - Parameter families: the families of the addresses, in the order of the resolver (RFC 6724). Addresses above
    ///   ``ConnectionRaceLimits/maximumAttempts`` after the interleaving are never tried.
    package init(families: [AddressFamily], limits: ConnectionRaceLimits = ConnectionRaceLimits()) {
        self.limits = limits
        addressCount = families.count
        order = Array(Self.interleave(families).prefix(max(limits.maximumAttempts, 0)))
    }

    /// When ``advance(to:)`` has something to do; nil before the start and once the race is over.
    package var nextDeadline: BootInstant? {
        guard case .racing(let race) = state else { return nil }
        return race.untried.isEmpty ? race.endsAt : min(race.nextAttemptAt, race.endsAt)
    }

    /// Whether the race has ended in any way.
    package var isOver: Bool { state == .over }

    // MARK: - Inputs

    /// Starts the first attempt, or reports failure if there is no address.
    package mutating func start(at now: BootInstant) -> [Action] {
        guard case .new = state else { return [] }
        state = .racing(
            Racing(untried: order[...], nextAttemptAt: now, endsAt: now.advanced(by: limits.overall), entries: [:]))
        return startNext(at: now)
    }

    /// The TCP connection of an attempt is established, and its TLS handshake begins.
    ///
    /// This address works so far. The next attempt waits for another full delay, once for each attempt: otherwise each
    /// path whose handshake takes more than 250 ms would cost the server a second handshake.
    package mutating func connected(_ index: Int, at now: BootInstant) -> [Action] {
        guard case .racing(var race) = state, race.entries[index] == .connecting else { return [] }
        race.entries[index] = .handshaking
        race.nextAttemptAt = max(race.nextAttemptAt, now.advanced(by: limits.attemptDelay))
        state = .racing(race)
        return []
    }

    /// The TLS handshake of an attempt is complete: it wins.
    package mutating func secured(_ index: Int) -> [Action] {
        guard case .racing(let race) = state, race.isInProgress(index) else { return [] }
        state = .over
        return race.inProgress(order).filter { $0 != index }.map { .close($0) } + [.won(index)]
    }

    /// An attempt failed, in its connection or in its handshake. The next one starts at once.
    package mutating func failed(_ index: Int, _ failure: Failure, at now: BootInstant) -> [Action] {
        guard case .racing(var race) = state, race.isInProgress(index) else { return [] }
        race.entries[index] = .failed(failure)
        state = .racing(race)
        return now < race.endsAt ? startNext(at: now) : end()
    }

    /// Ends the race without a result, for example because the path changed.
    package mutating func cancel() -> [Action] {
        let closed: [Action]
        if case .racing(let race) = state { closed = race.inProgress(order).map { .close($0) } } else { closed = [] }
        state = .over
        return closed
    }

    /// Applies the deadline that is due. A late timer starts one attempt, not all that it has missed.
    package mutating func advance(to now: BootInstant) -> [Action] {
        guard case .racing(let race) = state else { return [] }
        if race.endsAt <= now { return end() }
        return !race.untried.isEmpty && race.nextAttemptAt <= now ? startNext(at: now) : []
    }

    // MARK: - Steps

    private mutating func startNext(at now: BootInstant) -> [Action] {
        guard case .racing(var race) = state else { return [] }
        guard let index = race.untried.popFirst() else { return race.inProgress(order).isEmpty ? end() : [] }
        race.entries[index] = .connecting
        race.nextAttemptAt = now.advanced(by: limits.attemptDelay)
        state = .racing(race)
        return [.start(index)]
    }

    private mutating func end() -> [Action] {
        guard case .racing(let race) = state else { return [] }
        state = .over
        let outcomes = (0..<addressCount).map { index -> Outcome in
            switch race.entries[index] {
            case .connecting: .timedOut(.connecting)
            case .handshaking: .timedOut(.handshaking)
            case .failed(let failure): .failed(failure)
            case nil: .untried
            }
        }
        return race.inProgress(order).map { .close($0) } + [.failed(outcomes)]
    }

    /// The order of attempts: IPv6 first, then the families in turn (RFC 8305 section 4, First Address Family Count 1).
    /// Within a family the order of the resolver stays.
    private static func interleave(_ families: [AddressFamily]) -> [Int] {
        let preferred = families.indices.filter { families[$0] == .ipv6 }
        let others = families.indices.filter { families[$0] == .ipv4 }
        let both = min(preferred.count, others.count)
        return zip(preferred, others).flatMap { [$0, $1] } + preferred.dropFirst(both) + others.dropFirst(both)
    }
}

extension ConnectionRace {
    private enum State: Hashable, Sendable {
        case new
        case racing(Racing)
        case over
    }

    private struct Racing: Hashable, Sendable {
        /// The addresses still to be tried, the next one first.
        var untried: ArraySlice<Int>
        var nextAttemptAt: BootInstant
        let endsAt: BootInstant
        /// The attempts that were started.
        var entries: [Int: Attempt]

        func isInProgress(_ index: Int) -> Bool {
            entries[index] == .connecting || entries[index] == .handshaking
        }

        /// The attempts in progress, the oldest first.
        func inProgress(_ order: [Int]) -> [Int] { order.filter(isInProgress) }
    }

    private enum Attempt: Hashable, Sendable {
        case connecting
        case handshaking
        case failed(Failure)
    }

    /// What the driver must do, in this order.
    package enum Action: Hashable, Sendable {
        /// Start to connect to this address, and then the TLS handshake.
        case start(Int)
        /// Close this attempt, which has lost or has run out of time.
        case close(Int)
        /// This attempt is the connection to use. The race is over.
        case won(Int)
        /// No attempt succeeded. The outcomes are in the order of the caller's list. The race is over.
        case failed([Outcome])
    }

    /// What became of an address in a race that nobody won.
    package enum Outcome: Hashable, Sendable {
        case failed(Failure)
        /// The race ran out of time while this attempt was in progress.
        case timedOut(Stage)
        /// It was never tried: no time was left, or the list was too long.
        case untried
    }

    package enum Stage: Hashable, Sendable {
        case connecting
        case handshaking
    }
}

/// The family of an address.
package enum AddressFamily: Hashable, Sendable {
    case ipv4
    case ipv6
}

/// The limits of a ``ConnectionRace``.
package struct ConnectionRaceLimits: Hashable, Sendable {
    /// The Connection Attempt Delay that RFC 8305 section 8 recommends.
    package var attemptDelay = Duration.milliseconds(250)
    /// The race fails after this. It is longer than a SYN that is lost four times (1 + 2 + 4 + 8 s) and a handshake.
    package var overall = Duration.seconds(30)
    /// The number of addresses that are tried. A resolver's answer may name hundreds.
    package var maximumAttempts = 16

    package init() {}
}
