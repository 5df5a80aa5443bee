/// Limits how often something may happen: a bucket that holds a number of turns, and gets one back after each interval.
///
/// It is one instant: when the bucket will be full again. So it needs no timer, and the time is an argument.
package struct RateBucket: Hashable, Sendable {
    private var fullAt: BootInstant?
    private let burst: Int
    private let interval: Duration

    /// A full bucket.
    ///
    /// - Parameters:
    ///   - burst: the number of turns that a full bucket holds; at least 1.
    ///   - interval: the time after which a turn comes back.
    package init(burst: Int, interval: Duration) {
        self.burst = burst
        self.interval = interval
    }

    /// Whether there is a turn.
    package func allows(at now: BootInstant) -> Bool {
        guard let fullAt, now < fullAt else { return true }
        return now.duration(to: fullAt) <= interval * (burst - 1)
    }

    /// The time until there is a turn; zero if there is one.
    package func wait(at now: BootInstant) -> Duration {
        guard let fullAt else { return .zero }
        return max(.zero, now.duration(to: fullAt) - interval * (burst - 1))
    }

    /// Takes a turn.
    package mutating func take(at now: BootInstant) {
        fullAt = max(now, fullAt ?? now).advanced(by: interval)
    }

    /// Whether it is like a new one.
    package func isFull(at now: BootInstant) -> Bool { fullAt.map { $0 <= now } ?? true }
}
