import RunLoop

/// Counts events that are rare for an honest client, in fixed periods: resets by the client (rapid reset,
/// CVE-2023-44487), resets that the client's errors cause (MadeYouReset, CVE-2025-8671), and invalid frames.
struct GlitchCounter {
    private var count = 0
    private var periodEnd = BootClock.Instant(nanoseconds: .min)

    /// Counts one event. Returns true if the limit is exceeded.
    mutating func add(at now: BootClock.Instant, limits: ConnectionLimits) -> Bool {
        if now >= periodEnd {
            count = 0
            periodEnd = now.advanced(by: limits.glitchPeriod)
        }
        count += 1
        return count > limits.maximumGlitches
    }
}
