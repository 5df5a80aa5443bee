package import RingwakeCore

/// The receipts that wait for one team's webhook, and when they are posted.
///
///     idle -add-> gathering -deadline-> building -built-> sending -delivered-> idle, or building the next
///                                          ^                 | failed
///                                          +- given up - waiting -deadline-> sending
///
/// It holds the names of pushes, not their receipts: what is posted is what is known when the request is built. A push that
/// changes while it waits is posted once; one that changes while its receipt is on its way is posted again. There is one
/// request at a time, and a failed one is repeated as it was: so the receipts of a push are posted in order.
package nonisolated struct WebhookQueue<Name: Hashable & Sendable>: Sendable {
    /// A request. A repetition has the same id and body.
    package struct Batch: Equatable, Sendable {
        package let id: String
        package let body: [UInt8]
        /// Receipts in it.
        package let count: Int
        let madeAt: BootInstant
        var attempts = 0
    }

    /// How a request ended.
    package enum Outcome: Equatable, Sendable {
        case delivered
        /// - Parameter retryAfter: what the server asked for.
        case failed(String, retryAfter: Duration?)
        /// The server wants no more (410).
        case gone
    }

    /// What to do next.
    package enum Step: Equatable, Sendable {
        /// Find the receipts of these pushes; then call ``built(_:id:count:at:)``.
        case build([Name])
        /// Post it; then call ``finished(_:at:jitter:)``.
        case post(Batch)
    }

    private enum State: Sendable {
        case idle
        case gathering(until: BootInstant)
        case building
        case sending(Batch)
        case waiting(Batch, until: BootInstant)
        case ended
    }

    /// Pushes that wait at most; then the oldest are dropped.
    package static var maximumWaiting: Int { 10_000 }
    /// Receipts in one request at most.
    package static var maximumInBatch: Int { 64 }
    /// What changes within this time is posted together.
    static var gatherTime: Duration { .milliseconds(500) }
    /// The first and the longest time until a request is repeated.
    static var backoff: ClosedRange<Duration> { .seconds(1) ... .seconds(600) }
    /// A request is given up after this time: the receipts in it are as old.
    static var maximumAge: Duration { .seconds(24 * 3600) }
    /// Attempts of a request at most, whatever the clock says.
    static var maximumAttempts: Int { 300 }

    private var state = State.idle
    private var order: [Name] = []
    /// Where ``order`` begins: the names before it have been taken.
    private var start = 0
    private var names: Set<Name> = []
    /// Failures since the last success.
    private var failures = 0

    /// Receipts that the server has taken, since the start.
    package private(set) var delivered: UInt64 = 0
    /// Requests that failed, since the start.
    package private(set) var failed: UInt64 = 0
    /// Receipts that were given up, since the start.
    package private(set) var dropped: UInt64 = 0
    /// Why the last request failed; nil if it didn't.
    package private(set) var problem: String?

    package init() {}

    /// Pushes that wait, with those of the request that is on its way.
    package var waiting: Int {
        switch state {
        case .sending(let batch), .waiting(let batch, _): names.count + batch.count
        default: names.count
        }
    }

    /// Whether the server has said that it wants no more.
    package var hasEnded: Bool { if case .ended = state { true } else { false } }

    /// When ``next(at:)`` has something to do; nil while it waits for an event.
    package var nextDeadline: BootInstant? {
        switch state {
        case .gathering(let time), .waiting(_, let time): time
        default: nil
        }
    }

    /// Something is new about a push.
    package mutating func add(_ name: Name, at now: BootInstant) {
        guard !hasEnded, names.insert(name).inserted else { return }
        order.append(name)
        if names.count > Self.maximumWaiting {
            names.remove(order[start])
            start += 1
            dropped += 1
        }
        if start > Self.maximumWaiting {
            order.removeFirst(start)
            start = 0
        }
        if case .idle = state { state = .gathering(until: now.advanced(by: Self.gatherTime)) }
    }

    /// What is due; nil if nothing is.
    package mutating func next(at now: BootInstant) -> Step? {
        switch state {
        case .gathering(let time) where time <= now || failures == 0 && names.count >= Self.maximumInBatch:
            state = .building
            return .build(take())
        case .waiting(var batch, let time) where time <= now:
            batch.attempts += 1
            state = .sending(batch)
            return .post(batch)
        default: return nil
        }
    }

    /// The receipts have been found.
    ///
    /// - Parameter count: how many there are; 0: nobody knows these pushes any more.
    package mutating func built(_ body: [UInt8], id: String, count: Int, at now: BootInstant) -> Step? {
        guard case .building = state else { return nil }
        guard count > 0 else {
            rest(at: now)
            return nil
        }
        let batch = Batch(id: id, body: body, count: count, madeAt: now, attempts: 1)
        state = .sending(batch)
        return .post(batch)
    }

    /// Receipts that nobody could find.
    package mutating func lost(_ count: Int) { dropped += UInt64(count) }

    /// The request has ended.
    ///
    /// - Parameter jitter: 0 to 1, at random: servers of many teams, or many gateways, may have failed together.
    package mutating func finished(_ outcome: Outcome, at now: BootInstant, jitter: Double) {
        guard case .sending(let batch) = state else { return }
        switch outcome {
        case .delivered:
            delivered += UInt64(batch.count)
            (failures, problem) = (0, nil)
            rest(at: now)
        case .gone:
            failed += 1
            dropped += UInt64(batch.count + names.count)
            problem = "the server wants no more receipts (410)"
            (order, start, names, state) = ([], 0, [], .ended)
        case .failed(let why, let retryAfter):
            failed += 1
            failures += 1
            problem = why
            guard batch.attempts < Self.maximumAttempts, batch.madeAt.advanced(by: Self.maximumAge) > now else {
                dropped += UInt64(batch.count)
                // The next one waits as long as this one would.
                return rest(at: now, for: pause(jitter, retryAfter))
            }
            state = .waiting(batch, until: now.advanced(by: pause(jitter, retryAfter)))
        }
    }

    /// A request can't be made or signed; it isn't tried again.
    package mutating func refused(_ why: String, at now: BootInstant) {
        guard case .sending(let batch) = state else { return }
        (problem, failed, dropped) = (why, failed + 1, dropped + UInt64(batch.count))
        rest(at: now)
    }

    /// Begins again after ``Outcome/gone``, or at once instead of after a pause: the webhook was configured anew.
    package mutating func restart(at now: BootInstant) {
        failures = 0
        switch state {
        case .ended: (state, problem) = (.idle, nil)
        case .waiting(let batch, _): state = .waiting(batch, until: now)
        default: break
        }
    }

    private mutating func take() -> [Name] {
        let some = Array(order[start...].prefix(Self.maximumInBatch))
        start += some.count
        if start == order.count { (order, start) = ([], 0) }
        names.subtract(some)
        return some
    }

    private mutating func rest(at now: BootInstant, for pause: Duration? = nil) {
        state = names.isEmpty ? .idle : .gathering(until: now.advanced(by: pause ?? Self.gatherTime))
    }

    private func pause(_ jitter: Double, _ retryAfter: Duration?) -> Duration {
        let doubled = Self.backoff.lowerBound * (1 << min(max(failures - 1, 0), 10))
        let longest = min(doubled, Self.backoff.upperBound)
        let pause = longest / 2 + longest / 2 * min(max(jitter, 0), 1)
        return max(pause, min(retryAfter ?? .zero, Self.backoff.upperBound))
    }
}
