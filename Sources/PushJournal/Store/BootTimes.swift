internal import RingwakeCore

/// Converts times of another boot to the clock of this one.
nonisolated struct BootTimes {
    /// 2025-01-01, in milliseconds since 1970. An earlier wall clock has not been set.
    static let earliestWallClock: Int64 = 1_735_689_600_000
    /// How far the wall clock may be behind the newest journaled arrival, in milliseconds, because clocks are
    /// corrected.
    static let wallTolerance: Int64 = 60_000

    /// The row of the present boot.
    let boot: Int64
    /// The current time by the clock of this boot.
    let now: BootInstant
    /// The current wall clock, in milliseconds since 1970.
    let wall: Int64
    /// Whether the wall clock shows how long ago another boot was.
    let isWallKnown: Bool
    /// Whether the wall clock may decide that data is too old.
    let isWallKept: Bool
    /// The possible error of the wall clock. It is not zero if the clock is behind the newest arrival.
    private let uncertainty: Duration

    /// - Parameter newestWall: the wall clock of the newest journaled arrival.
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

    /// When something arrived, and whether that time is known.
    ///
    /// For another boot, the wall clock decides how long ago that was. It is at least as long ago as this boot lasts,
    /// and long enough that nothing that has happened to it (`lastOffset`, in nanoseconds after its arrival) is in the
    /// future.
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
