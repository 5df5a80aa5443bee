internal import ControlProtocol
internal import PushJournal
internal import RingwakeCore

nonisolated extension CallMessage {
    /// A call that the coordinator knows, as it stands now.
    init(_ call: Call, pid: Int32?, _ clock: WallTimes) {
        self.init(call, pid: pid, receivedAt: clock.arrival(of: call), at: clock.now)
    }

    /// A call of the log.
    init(_ call: JournaledCall) {
        self.init(
            call.record, receivedAt: UTCTime(milliseconds: call.receivedWallClock).description, pid: nil,
            deadlineMs: nil)
    }
}
