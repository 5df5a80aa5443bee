internal import CRingwakeLinux
internal import ControlProtocol
internal import FileSystem
internal import Glibc
internal import Logging
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
///
/// A clock that was ahead for a while leaves arrivals in the journal that make the right time look like the past. A
/// time service, or the user, can say that the clock is right now; then the journal is corrected.
final class ClockJudge {
    /// A correction of the clock may set it back by this much, in milliseconds.
    private static let tolerance: Int64 = 60_000

    /// What is thought of the clock.
    enum Verdict: Equatable {
        case right
        /// It is before the time that this program was made.
        case unset
        /// It is before the newest arrival in the journal. Pushes are refused until it shows this, in ms since 1970.
        case behind(until: Int64)
    }

    /// Of the newest push, in ms since 1970.
    private var newestArrival: Int64 = 0
    private let journal: PushJournal
    private let logger: Logger
    private let now: () -> Int64
    private let isSynchronized: () -> Bool
    /// Whether the log says that pushes are refused.
    private var isReported = false
    /// Whether the log says that the journal couldn't be corrected.
    private var isFailureReported = false

    /// - Parameters:
    ///   - now: the wall clock, in milliseconds since 1970.
    ///   - isSynchronized: whether a time service keeps it.
    init(
        journal: PushJournal, logger: Logger, now: @escaping () -> Int64 = unixMilliseconds,
        isSynchronized: @escaping () -> Bool = ringwake_clock_is_synchronized
    ) {
        self.journal = journal
        self.logger = logger
        self.now = now
        self.isSynchronized = isSynchronized
    }

    /// The present verdict. A change is logged once.
    func verdict() -> Verdict {
        let verdict = judge()
        guard (verdict != .right) != isReported else { return verdict }
        isReported = verdict != .right
        switch verdict {
        case .right: logger.notice("clock is right, pushes are accepted again")
        case .unset, .behind:
            logger.error(
                "clock cannot be right: pushes are refused",
                metadata: ["now": "\(UTCTime(milliseconds: now()))", "why": "\(why(verdict) ?? "")"])
        }
        return verdict
    }

    private func judge() -> Verdict {
        let now = self.now()
        guard now >= PushGateway.earliestPlausibleTime else { return .unset }
        guard ClockJudge.isBehind(now, newestArrival) else { return .right }
        // The time service is right, even if the newest push arrived while the clock was wrong.
        guard !isSynchronized() else {
            correct(to: now) { _ in }
            return .right
        }
        return .behind(until: newestArrival - ClockJudge.tolerance)
    }

    /// Whether a clock that shows this was set back since the newest push arrived; both in ms since 1970.
    static func isBehind(_ now: Int64, _ newestArrival: Int64) -> Bool {
        // An imported file may say any time.
        let (floor, isOverflow) = newestArrival.subtractingReportingOverflow(tolerance)
        return !isOverflow && now < floor
    }

    /// What is wrong and what to do, for a person; nil if nothing is.
    func why(_ verdict: Verdict) -> String? {
        switch verdict {
        case .right: nil
        case .unset: "the clock was never set; set it, or let a time service do it"
        case .behind(let until):
            "the newest push is of \(UTCTime(milliseconds: newestArrival)), so the clock is wrong now or was ahead then; "
                + "every push is answered 503 until \(UTCTime(milliseconds: until)). Let a time service keep the clock; "
                + "if it is right, run 'ringwake clock accept'"
        }
    }

    /// Earliest plausible time (ms since 1970).
    func earliestTime() -> Int64 {
        switch verdict() {
        case .right, .unset: PushGateway.earliestPlausibleTime
        case .behind(let until): until
        }
    }

    /// The user says that the clock is right.
    func accept(completion: @escaping (Result<Void, RingwakeError>) -> Void) {
        guard judge() != .unset else {
            return completion(
                .failure(
                    RingwakeError(.conflict, "the clock shows \(UTCTime(milliseconds: now())); set it")))
        }
        correct(to: now(), completion: completion)
        _ = verdict()
    }

    /// Corrects what a clock that was ahead has written. If that can't be stored, the newest arrival is what it was, so
    /// the next verdict tries again.
    private func correct(to now: Int64, completion: @escaping (Result<Void, RingwakeError>) -> Void) {
        let former = newestArrival
        newestArrival = min(newestArrival, now)
        journal.correctTimes(now) { [weak self] result in
            self?.corrected(from: former, to: now, result)
            completion(result)
        }
    }

    private func corrected(from former: Int64, to now: Int64, _ result: Result<Void, RingwakeError>) {
        switch result {
        case .success:
            isFailureReported = false
            guard former > now else { return }
            logger.notice(
                "clock was ahead when pushes arrived, and is right now: the journal is corrected",
                metadata: ["newest": "\(UTCTime(milliseconds: former))", "now": "\(UTCTime(milliseconds: now))"])
        case .failure(let error):
            newestArrival = max(newestArrival, former)
            guard !isFailureReported else { return }
            isFailureReported = true
            logger.error(
                "clock was ahead when pushes arrived, and the journal cannot be corrected yet; the next push tries again",
                metadata: ["why": "\(error.message)"])
        }
    }

    /// Records the arrival of a push, now or at a time in the journal.
    func noteArrival(at time: Int64? = nil) {
        newestArrival = max(newestArrival, time ?? now())
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
