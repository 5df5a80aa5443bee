/// A point on the boot clock (`CLOCK_BOOTTIME`), which keeps running while the machine sleeps and never jumps.
///
/// Wall-clock values from a peer are converted to boot instants once, at arrival. A later change of the wall clock
/// cannot make a call ring late or twice.
package struct BootInstant: Hashable, Comparable, Sendable, Codable {
    /// Nanoseconds since the machine started.
    package var nanoseconds: Int64

    package init(nanoseconds: Int64) {
        self.nanoseconds = nanoseconds
    }

    package static func < (left: BootInstant, right: BootInstant) -> Bool {
        left.nanoseconds < right.nanoseconds
    }

    /// The instant `duration` later, clamped to the clock's range.
    package func advanced(by duration: Duration) -> BootInstant {
        let (sum, overflow) = nanoseconds.addingReportingOverflow(duration.saturatingNanoseconds)
        if overflow {
            return BootInstant(nanoseconds: duration < .zero ? .min : .max)
        }
        return BootInstant(nanoseconds: sum)
    }

    /// The nanoseconds from `start` to this instant, clamped to 64 bits.
    package func offset(from start: BootInstant) -> Int64 { start.duration(to: self).saturatingNanoseconds }

    /// The instant `nanoseconds` later.
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
    /// The duration in nanoseconds, clamped to 64 bits (292 years).
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
