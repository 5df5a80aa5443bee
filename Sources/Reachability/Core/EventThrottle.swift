internal import RunLoop

/// Decides when the event socket is not looked at for a while.
///
/// The first changes after a quiet time are handled as they come: what switches a network over makes a few within
/// milliseconds, and each may be the one that matters. After that the socket rests, 50 ms at first and twice as long
/// each time, up to 1 s: a storm then costs a wakeup a second, and the kernel's queue, or its complaint that the queue
/// ran over, holds what is to be known.
struct EventThrottle {
    /// Batches that are handled at once after a quiet time.
    static let leadingBatches = 4
    static let shortestRest = Duration.milliseconds(50)
    static let longestRest = Duration.seconds(1)
    /// So long without a batch is a quiet time; the rest that was taken counts on top of it.
    static let quietTime = Duration.seconds(1)

    /// Rests since the start.
    private(set) var rests: UInt64 = 0
    private var batches = 0
    private var rest = shortestRest
    private var quietAfter: BootClock.Instant?

    /// A batch was handled.
    /// - Returns: How long to rest now; nil for not at all.
    mutating func handledBatch(at now: BootClock.Instant) -> Duration? {
        if let quietAfter, now >= quietAfter {
            batches = 0
            rest = Self.shortestRest
        }
        batches += 1
        guard batches >= Self.leadingBatches else {
            quietAfter = now.advanced(by: Self.quietTime)
            return nil
        }
        let taken = rest
        rest = min(rest * 2, Self.longestRest)
        rests &+= 1
        quietAfter = now.advanced(by: taken + Self.quietTime)
        return taken
    }
}
