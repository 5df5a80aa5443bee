import RunLoop

/// Counts what an honest client seldom does, in periods of fixed length.
///
/// Resets by the client (rapid reset, CVE-2023-44487), resets that its errors make us send (MadeYouReset,
/// CVE-2025-8671) and frames that are not valid.
struct GlitchCounter {
    private var count = 0
    private var periodEnd = BootClock.Instant(nanoseconds: .min)

    /// Counts one; true when there are more than the limits allow.
    mutating func add(at now: BootClock.Instant, limits: ConnectionLimits) -> Bool {
        if now >= periodEnd {
            count = 0
            periodEnd = now.advanced(by: limits.glitchPeriod)
        }
        count += 1
        return count > limits.maximumGlitches
    }
}
