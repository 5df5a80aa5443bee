internal import Glibc

/// The clock of all deadlines: time since boot, including suspend. It is never set.
package enum BootClock {
    /// A time on the clock.
    package struct Instant: Comparable, Hashable, Sendable {
        /// Nanoseconds since boot.
        package var nanoseconds: Int64

        package init(nanoseconds: Int64) {
            self.nanoseconds = nanoseconds
        }

        /// The time `duration` later. Saturates instead of overflowing.
        package func advanced(by duration: Duration) -> Instant {
            let (sum, overflow) = nanoseconds.addingReportingOverflow(duration.saturatingNanoseconds)
            if overflow { return Instant(nanoseconds: duration < .zero ? .min : .max) }
            return Instant(nanoseconds: sum)
        }

        /// The duration until `other`; negative if that is earlier. Saturates instead of overflowing.
        package func duration(to other: Instant) -> Duration {
            let (difference, overflow) = other.nanoseconds.subtractingReportingOverflow(nanoseconds)
            if overflow { return .nanoseconds(other < self ? Int64.min : Int64.max) }
            return .nanoseconds(difference)
        }

        package static func < (one: Instant, other: Instant) -> Bool { one.nanoseconds < other.nanoseconds }
    }

    /// The present, by `CLOCK_BOOTTIME`.
    package static func now() -> Instant {
        var time = timespec()
        // This can't fail: every kernel since 2.6.39 has the clock, and the pointer is valid.
        _ = clock_gettime(CLOCK_BOOTTIME, &time)
        return Instant(nanoseconds: Int64(time.tv_sec) &* 1_000_000_000 &+ Int64(time.tv_nsec))
    }
}

extension Duration {
    /// This duration in whole nanoseconds; saturates if it doesn't fit.
    var saturatingNanoseconds: Int64 {
        let (seconds, attoseconds) = components
        let (whole, overflow) = seconds.multipliedReportingOverflow(by: 1_000_000_000)
        if overflow { return seconds < 0 ? .min : .max }
        let (sum, carry) = whole.addingReportingOverflow(attoseconds / 1_000_000_000)
        if carry { return seconds < 0 ? .min : .max }
        return sum
    }
}
