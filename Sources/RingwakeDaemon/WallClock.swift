internal import CRingwakeLinux
internal import FileSystem
internal import Glibc
internal import PushGateway
internal import PushJournal
internal import RingwakeCore

/// Wall clock, in milliseconds since 1970. Only for stored times and for comparison with a peer's times.
nonisolated func unixMilliseconds() -> Int64 { ringwake_realtime_milliseconds() }

/// What keeps the wall clock right: a time service (as the kernel reports), a battery, or nothing.
nonisolated func wallClockTrust() -> WallClockTrust {
    if ringwake_clock_is_synchronized() { return .kept }
    return isClockSetFromBattery ? .battery : .none
}

/// Whether the kernel set the wall clock from a battery-backed clock at boot (`hctosys` of the kernel's rtc class,
/// Documentation/ABI/testing/sysfs-class-rtc). Constant while the machine runs.
private nonisolated let isClockSetFromBattery: Bool = {
    let folder = "/sys/class/rtc"
    // Without the folder or the file there is no battery.
    let clocks = (try? FileSystem.entries(of: folder)) ?? []
    return clocks.contains { name in
        let answer = try? FileSystem.read("\(folder)/\(name)/hctosys", maximumSize: 16)
        return answer?.first == UInt8(ascii: "1")
    }
}()

/// Decides whether the wall clock can be trusted: a board without a battery-backed clock boots with a time in the past.
final class ClockJudge {
    /// A correction of the clock may set it back by this much, in milliseconds.
    private static let tolerance: Int64 = 60_000

    private var newestArrival: Int64

    /// - Parameter newestArrival: newest arrival time in the journal, in ms since 1970.
    init(newestArrival: Int64?) {
        self.newestArrival = newestArrival ?? 0
    }

    /// Earliest plausible time (ms since 1970): the program's own minimum, or the newest push's arrival. If the kernel
    /// reports that NTP keeps the clock, the clock is right even if the newest push arrived while it was wrong.
    func earliestTime() -> Int64 {
        let own = PushGateway.earliestPlausibleTime
        let floor = newestArrival - ClockJudge.tolerance
        guard floor > own, unixMilliseconds() < floor, !ringwake_clock_is_synchronized() else { return own }
        return floor
    }

    /// Records the arrival of a push.
    func noteArrival() {
        newestArrival = max(newestArrival, unixMilliseconds())
    }
}

extension LocalMoment {
    /// The present, in the machine's time zone.
    static func now() -> LocalMoment {
        let wall = unixMilliseconds()
        var seconds = time_t(wall / 1000)
        var local = tm()
        // The time zone's file may have been replaced since, for example while travelling.
        tzset()
        localtime_r(&seconds, &local)
        return LocalMoment(
            weekday: local.tm_wday == 0 ? 7 : Int(local.tm_wday), minuteOfDay: Int(local.tm_hour * 60 + local.tm_min),
            wallMilliseconds: wall)
    }
}
