internal import ControlProtocol
internal import RingwakeCore

/// Instants of the boot clock as times of the wall clock, as it stands now.
nonisolated struct WallTimes {
    /// The present.
    let now: BootInstant
    /// Nanoseconds since 1970 at the boot clock's zero.
    private let zero: Int64

    init(at now: BootInstant) {
        self.now = now
        zero =
            unixMilliseconds().multipliedReportingOverflow(by: 1_000_000).partialValue
            .subtractingReportingOverflow(now.nanoseconds).partialValue
    }

    /// When `call` arrived, as the control API writes times: as the wall clock stood then, if it was looked at.
    func arrival(of call: Call) -> String {
        call.receivedWallClock.map { UTCTime(milliseconds: $0).description } ?? text(of: call.receivedAt)
    }

    /// `instant` as the control API writes times.
    func text(of instant: BootInstant) -> String {
        let (sum, overflow) = zero.addingReportingOverflow(instant.nanoseconds)
        return UTCTime(milliseconds: overflow ? 0 : sum / 1_000_000).description
    }
}
