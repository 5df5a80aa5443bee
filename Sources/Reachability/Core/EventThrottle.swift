internal import RunLoop

/// Decides when the event socket is not looked at for a while.
///
/// Four batches of messages may be handled as they come, and one more for each half second since: what switches a
/// network over makes a few within milliseconds, and each may be the one that matters. When these are used up the
/// socket rests, 50 ms at first and twice as long each time, up to 1 s: a storm then costs two wakeups a second and a
/// few timers, and the kernel's queue, or its complaint that the queue ran over, holds what is to be known.
struct EventThrottle {
    /// Batches that are handled at once after a quiet time.
    static let burst = 4
    /// One more batch may be handled at once after each of these.
    static let interval = Duration.milliseconds(500)
    static let shortestRest = Duration.milliseconds(50)
    static let longestRest = Duration.seconds(1)

    /// Rests since the start.
    private(set) var rests: UInt64 = 0
    private var rest = shortestRest
    /// When a whole burst may be handled at once again; each batch makes it later by one interval.
    private var fullAt: BootClock.Instant?

    /// A batch was handled.
    /// - Returns: How long to rest now; nil for not at all.
    mutating func handledBatch(at now: BootClock.Instant) -> Duration? {
        let start: BootClock.Instant
        if let fullAt, fullAt > now {
            start = fullAt
        } else {
            start = now
            rest = Self.shortestRest
        }
        // Never further than an empty budget: a storm does not make those pay that come after it.
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
