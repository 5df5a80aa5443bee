internal import CRingwakeLinux
internal import PushGateway

/// The wall clock, in milliseconds since 1970. Only for what is written down or compared with a peer's dates.
nonisolated func unixMilliseconds() -> Int64 { ringwake_realtime_milliseconds() }

/// Says whether the wall clock can be judged by: a board without a battery for its clock starts in the past.
final class ClockJudge {
    /// A clock that is set right may go back by this much, in milliseconds.
    private static let tolerance: Int64 = 60_000

    private var newestArrival: Int64

    /// - Parameter newestArrival: of the pushes in the journal, in ms since 1970.
    init(newestArrival: Int64?) {
        self.newestArrival = newestArrival ?? 0
    }

    /// The earliest time (ms since 1970) that can be true: the program's own, or that of the newest push. A clock that
    /// the kernel says is kept by NTP is right even when the newest push came while it was wrong.
    func earliestTime() -> Int64 {
        let own = PushGateway.earliestPlausibleTime
        let floor = newestArrival - ClockJudge.tolerance
        guard floor > own, unixMilliseconds() < floor, !ringwake_clock_is_synchronized() else { return own }
        return floor
    }

    /// A push has come.
    func noteArrival() {
        newestArrival = max(newestArrival, unixMilliseconds())
    }
}
