/// A point on the boot clock (`CLOCK_BOOTTIME`): it goes on while the machine sleeps and never jumps.
///
/// Wall-clock values that a peer sends are converted to one of these once, at arrival, so that nothing that
/// happens to the wall clock afterwards can make a call ring late or twice.
package struct BootInstant: Hashable, Comparable, Sendable, Codable {
    /// Nanoseconds since the machine started.
    package var nanoseconds: Int64

    package init(nanoseconds: Int64) {
        self.nanoseconds = nanoseconds
    }

    package static func < (left: BootInstant, right: BootInstant) -> Bool {
        left.nanoseconds < right.nanoseconds
    }

    /// The instant `duration` later; one that lies beyond the clock's range is the clock's last instant.
    package func advanced(by duration: Duration) -> BootInstant {
        let (sum, overflow) = nanoseconds.addingReportingOverflow(duration.saturatingNanoseconds)
        if overflow {
            return BootInstant(nanoseconds: duration < .zero ? .min : .max)
        }
        return BootInstant(nanoseconds: sum)
    }

    /// How many nanoseconds later than `start` this is; at the end of the range when it doesn't fit.
    package func offset(from start: BootInstant) -> Int64 { start.duration(to: self).saturatingNanoseconds }

    /// The instant that many nanoseconds later.
    package func advanced(byOffset nanoseconds: Int64) -> BootInstant { advanced(by: .nanoseconds(nanoseconds)) }

    /// How long it is from this instant to `other`; negative when `other` is earlier.
    package func duration(to other: BootInstant) -> Duration {
        let (difference, overflow) = other.nanoseconds.subtractingReportingOverflow(nanoseconds)
        if overflow {
            return .nanoseconds(other < self ? Int64.min : Int64.max)
        }
        return .nanoseconds(difference)
    }
}

extension Duration {
    /// The duration in nanoseconds; one too long for 64 bits (292 years) is the longest that fits.
    package var saturatingNanoseconds: Int64 {
        let (seconds, attoseconds) = components
        let (scaled, tooLong) = seconds.multipliedReportingOverflow(by: 1_000_000_000)
        let (sum, tooLongByAFraction) = scaled.addingReportingOverflow(attoseconds / 1_000_000_000)
        if tooLong || tooLongByAFraction {
            return seconds < 0 ? .min : .max
        }
        return sum
    }

    /// The duration in whole milliseconds, rounded towards zero.
    package var milliseconds: Int64 { saturatingNanoseconds / 1_000_000 }
}
