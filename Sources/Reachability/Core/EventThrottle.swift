internal import RunLoop

/// Decides when to pause reading the event socket.
///
/// Four batches of messages may be handled as they arrive, and one more for each half second since: a network change
/// causes a few batches within milliseconds, and each may be the important one. When this budget is used up, the
/// socket is paused, 50 ms at first and twice as long each time, up to 1 s. A storm then costs two wakeups a second
/// and a few timers. Meanwhile the kernel queues the messages, or reports an overrun.
struct EventThrottle {
    /// Batches that are handled immediately after a quiet time.
    static let burst = 4
    /// One more batch may be handled immediately after each interval.
    static let interval = Duration.milliseconds(500)
    static let shortestRest = Duration.milliseconds(50)
    static let longestRest = Duration.seconds(1)

    /// Pauses since the start.
    private(set) var rests: UInt64 = 0
    private var rest = shortestRest
    /// When the budget is full again. Each batch delays this by one interval.
    private var fullAt: BootClock.Instant?

    /// A batch was handled.
    /// - Returns: How long to pause now; nil for no pause.
    mutating func handledBatch(at now: BootClock.Instant) -> Duration? {
        let start: BootClock.Instant
        if let fullAt, fullAt > now {
            start = fullAt
        } else {
            start = now
            rest = Self.shortestRest
        }
        // Never beyond an empty budget: batches after a storm must not pay for it.
        let empty = now.advanced(by: Self.interval * Self.burst)
        let full = min(start.advanced(by: Self.interval), empty)
        fullAt = full
        guard now.duration(to: full) > Self.interval * (Self.burst - 1) else { return nil }
        let taken = rest
        rest = min(rest * 2, Self.longestRest)
        rests &+= 1
        return taken
    }
}
