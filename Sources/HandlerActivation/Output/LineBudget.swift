internal import RunLoop

/// Limits how many lines of one handler are logged: a token bucket. Once empty, it stays closed until it holds a
/// second's worth again, so a flood shows as a few lines and one count each second, not as a count after every line.
struct LineBudget {
    /// Maximum lines at once.
    static let burst: Int64 = 200
    /// Lines per second in the long run, and the lines that an empty bucket must hold before it opens again.
    static let linesPerSecond: Int64 = 50

    private static let costOfLine: Int64 = 1_000_000_000 / linesPerSecond

    /// Available lines, in nanoseconds.
    private var credit = Self.burst * Self.costOfLine
    private var filledAt: BootClock.Instant
    private var isShut = false

    init(at now: BootClock.Instant) {
        filledAt = now
    }

    /// Whether this line may be logged.
    mutating func admitsLine(at now: BootClock.Instant) -> Bool {
        guard isOpen(at: now) else { return false }
        guard credit >= Self.costOfLine else {
            isShut = true
            return false
        }
        credit -= Self.costOfLine
        return true
    }

    /// False from the first refused line until the bucket holds a second's worth of lines.
    mutating func isOpen(at now: BootClock.Instant) -> Bool {
        let full = Self.burst * Self.costOfLine
        let elapsed = max(0, now.nanoseconds - filledAt.nanoseconds)
        credit = elapsed >= full ? full : min(full, credit + elapsed)
        filledAt = max(filledAt, now)
        if isShut, credit >= Self.linesPerSecond * Self.costOfLine { isShut = false }
        return !isShut
    }
}
