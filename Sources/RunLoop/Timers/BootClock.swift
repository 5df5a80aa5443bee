internal import Glibc

/// The clock that every deadline is on: it counts from boot, counts while the machine sleeps, and is never set.
package enum BootClock {
    /// A point on the clock.
    package struct Instant: Comparable, Hashable, Sendable {
        /// Nanoseconds since boot.
        package var nanoseconds: Int64

        package init(nanoseconds: Int64) {
            self.nanoseconds = nanoseconds
        }

        /// The point `duration` later. Saturates instead of overflowing.
        package func advanced(by duration: Duration) -> Instant {
            let (sum, overflow) = nanoseconds.addingReportingOverflow(duration.saturatingNanoseconds)
            if overflow { return Instant(nanoseconds: duration < .zero ? .min : .max) }
            return Instant(nanoseconds: sum)
        }

        /// How much later `other` is; negative when it is earlier. Saturates instead of overflowing.
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
        // Cannot fail: the clock is in every kernel since 2.6.39, and the pointer is valid.
        _ = clock_gettime(CLOCK_BOOTTIME, &time)
        return Instant(nanoseconds: Int64(time.tv_sec) &* 1_000_000_000 &+ Int64(time.tv_nsec))
    }
}

extension Duration {
    /// This duration in whole nanoseconds, at the nearest end of the range when it does not fit.
    var saturatingNanoseconds: Int64 {
        let (seconds, attoseconds) = components
        let (whole, overflow) = seconds.multipliedReportingOverflow(by: 1_000_000_000)
        if overflow { return seconds < 0 ? .min : .max }
        let (sum, carry) = whole.addingReportingOverflow(attoseconds / 1_000_000_000)
        if carry { return seconds < 0 ? .min : .max }
        return sum
    }
}
