internal import RingwakeCore

/// Places what another boot wrote on the clock of this one.
nonisolated struct BootTimes {
    /// 2025-01-01: a wall clock before that has not been set. In milliseconds since 1970.
    static let earliestWallClock: Int64 = 1_735_689_600_000
    /// How far behind the newest journaled arrival the wall clock may be, in milliseconds: clocks are corrected.
    static let wallTolerance: Int64 = 60_000

    /// The row of the present boot.
    let boot: Int64
    /// The present by the clock of this boot.
    let now: BootInstant
    /// The present by the wall clock, in milliseconds since 1970.
    let wall: Int64
    /// Whether the wall clock tells how long ago another boot was.
    let isWallKnown: Bool
    /// Whether what is too old by the wall clock is too old.
    let isWallKept: Bool
    /// The wall clock is behind the newest arrival by less than can be: how far off it may be.
    private let uncertainty: Duration

    /// - Parameter newestWall: The wall clock of the newest journaled arrival.
    init(boot: Int64, now: BootInstant, wall: Int64, newestWall: Int64?, trust: WallClockTrust) {
        self.boot = boot
        self.now = now
        self.wall = wall
        let newest = newestWall ?? .min
        let (least, underflow) = newest.subtractingReportingOverflow(Self.wallTolerance)
        let isPlausible = wall >= max(underflow ? .min : least, Self.earliestWallClock)
        isWallKnown = isPlausible && trust != .none
        isWallKept = isPlausible && trust == .kept
        uncertainty = wall < newest ? .milliseconds(Self.wallTolerance) : .zero
    }

    /// When something arrived, and whether that is known.
    ///
    /// Of another boot it is as long ago as the wall clock says; at least as long as this boot lasts, and so long that
    /// what happened to it since (`lastOffset`, in nanoseconds after its arrival) is not in the future.
    func arrival(
        boot: Int64, receivedBoot: Int64, receivedWall: Int64, lastOffset: Int64
    ) -> (at: BootInstant, isKnown: Bool) {
        guard boot != self.boot else { return (BootInstant(nanoseconds: receivedBoot), true) }
        var elapsed = Duration.nanoseconds(max(0, lastOffset, now.nanoseconds))
        if isWallKnown {
            let (milliseconds, overflow) = wall.subtractingReportingOverflow(receivedWall)
            if !overflow { elapsed = max(elapsed, .milliseconds(milliseconds) + uncertainty) }
        }
        return (now.advanced(by: .zero - elapsed), isWallKnown)
    }

    /// The wall clock, in milliseconds since 1970, at an instant of this boot.
    func wallClock(at instant: BootInstant) -> Int64 {
        let (sum, overflow) = wall.subtractingReportingOverflow(instant.duration(to: now).milliseconds)
        return overflow ? wall : sum
    }
}
