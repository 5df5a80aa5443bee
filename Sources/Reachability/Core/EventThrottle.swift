internal import RunLoop

/// Decides when to pause reading the event socket.
///
/// Batches that changed a result have a budget: four may be handled as they arrive, and one more for each half second
/// since, because a network change causes a few batches within milliseconds, and each may be the important one. When
/// it is used up, the socket is paused, 50 ms at first and twice as long each time, up to 1 s. A storm then costs two
/// wakeups a second and a few timers. Meanwhile the kernel queues the messages, or reports an overrun.
///
/// Batches that changed nothing have a budget of their own: 25 a second, and a twentieth of the processor's time. They
/// use up nothing of the other one, and their pauses stay short, so that other programs' changes delay no news.
struct EventThrottle {
    /// Batches that were handled lately, as the time until they no longer count.
    private struct Budget {
        /// Time of batches that may be handled without a pause.
        let capacity: Duration
        /// When the budget is full again.
        var fullAt: BootClock.Instant?

        /// - Returns: Whether the budget is used up.
        mutating func spend(_ cost: Duration, at now: BootClock.Instant) -> Bool {
            // Never beyond an empty budget: batches after a storm must not pay for it.
            let full = min(max(fullAt ?? now, now).advanced(by: cost), now.advanced(by: max(capacity, cost)))
            fullAt = full
            return now.duration(to: full) > capacity - cost
        }

        func isFull(at now: BootClock.Instant) -> Bool { fullAt.map { $0 <= now } ?? true }
    }

    /// Changing batches that are handled immediately after a quiet time.
    static let burst = 4
    /// One more of them may be handled immediately after each interval.
    static let interval = Duration.milliseconds(500)
    static let shortestRest = Duration.milliseconds(50)
    static let longestRest = Duration.seconds(1)
    /// The same for batches that changed nothing.
    static let idleBurst = 25
    static let idleInterval = Duration.milliseconds(40)
    /// The part of the time that such batches may take: one of so many.
    static let idleShare = 20

    /// Pauses since the start.
    private(set) var rests: UInt64 = 0
    private var rest = shortestRest
    private var changes = Budget(capacity: interval * burst)
    private var idle = Budget(capacity: idleInterval * idleBurst)

    /// A batch was handled.
    /// - Parameters:
    ///   - isChange: whether it changed a result.
    ///   - took: the processor's time that this took.
    /// - Returns: How long to pause now; nil for no pause.
    mutating func handledBatch(isChange: Bool, took: Duration = .zero, at now: BootClock.Instant) -> Duration? {
        guard isChange else {
            let cost = max(Self.idleInterval, took * Self.idleShare)
            return idle.spend(cost, at: now) ? pause(min(max(Self.shortestRest, cost), Self.longestRest)) : nil
        }
        if changes.isFull(at: now) { rest = Self.shortestRest }
        guard changes.spend(Self.interval, at: now) else { return nil }
        defer { rest = min(rest * 2, Self.longestRest) }
        return pause(rest)
    }

    private mutating func pause(_ duration: Duration) -> Duration {
        rests &+= 1
        return duration
    }
}
