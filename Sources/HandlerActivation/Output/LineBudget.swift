internal import RunLoop

/// How many lines of one handler the log takes: a token bucket that, once empty, stays shut until it holds a second's
/// worth again, so that a flood shows as a few lines and one count in each second, not as a count after every line.
struct LineBudget {
    /// Lines at once.
    static let burst: Int64 = 200
    /// Lines in a second, in the long run. Also what must be there before an empty bucket opens again.
    static let linesPerSecond: Int64 = 50

    private static let costOfLine: Int64 = 1_000_000_000 / linesPerSecond

    /// Nanoseconds' worth of lines.
    private var credit = Self.burst * Self.costOfLine
    private var filledAt: BootClock.Instant
    private var isShut = false

    init(at now: BootClock.Instant) {
        filledAt = now
    }

    /// True when this line may be logged.
    mutating func admitsLine(at now: BootClock.Instant) -> Bool {
        guard isOpen(at: now) else { return false }
        guard credit >= Self.costOfLine else {
            isShut = true
            return false
        }
        credit -= Self.costOfLine
        return true
    }

    /// False from the first line that was refused until the bucket has filled up enough.
    mutating func isOpen(at now: BootClock.Instant) -> Bool {
        let full = Self.burst * Self.costOfLine
        let elapsed = max(0, now.nanoseconds - filledAt.nanoseconds)
        credit = elapsed >= full ? full : min(full, credit + elapsed)
        filledAt = max(filledAt, now)
        if isShut, credit >= Self.linesPerSecond * Self.costOfLine { isShut = false }
        return !isShut
    }
}
