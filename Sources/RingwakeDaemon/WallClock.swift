internal import CRingwakeLinux
internal import FileSystem
internal import Glibc
internal import PushGateway
internal import PushJournal
internal import RingwakeCore

/// The wall clock, in milliseconds since 1970. Only for what is written down or compared with a peer's dates.
nonisolated func unixMilliseconds() -> Int64 { ringwake_realtime_milliseconds() }

/// Who vouches for the wall clock: a time service, by what the kernel says, or a battery.
nonisolated func wallClockTrust() -> WallClockTrust {
    if ringwake_clock_is_synchronized() { return .kept }
    return isClockSetFromBattery ? .battery : .none
}

/// Whether the kernel set the wall clock from a clock with a battery when it booted (`hctosys` of
/// the kernel's rtc class, Documentation/ABI/testing/sysfs-class-rtc). It does not change while the machine runs.
private nonisolated let isClockSetFromBattery: Bool = {
    let folder = "/sys/class/rtc"
    // No such folder, or a clock that does not say: no battery.
    let clocks = (try? FileSystem.entries(of: folder)) ?? []
    return clocks.contains { name in
        let answer = try? FileSystem.read("\(folder)/\(name)/hctosys", maximumSize: 16)
        return answer?.first == UInt8(ascii: "1")
    }
}()

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

extension LocalMoment {
    /// The present, in the time zone that the machine is set to.
    static func now() -> LocalMoment {
        let wall = unixMilliseconds()
        var seconds = time_t(wall / 1000)
        var local = tm()
        // The zone's file may have been replaced since: a traveller's device changes it.
        tzset()
        localtime_r(&seconds, &local)
        return LocalMoment(
            weekday: local.tm_wday == 0 ? 7 : Int(local.tm_wday), minuteOfDay: Int(local.tm_hour * 60 + local.tm_min),
            wallMilliseconds: wall)
    }
}
