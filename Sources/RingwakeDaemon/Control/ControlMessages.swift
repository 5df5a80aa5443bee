internal import ControlProtocol
internal import PushJournal
internal import RingwakeCore

extension CallMessage {
    /// A call that the coordinator knows, as it stands now.
    nonisolated init(_ call: Call, pid: Int32?, _ clock: WallTimes) {
        self.init(
            call.record, receivedAt: clock.arrival(of: call), pid: pid,
            deadlineMs: call.machine.nextDeadline.map { clock.now.millisecondsLeft(until: $0) })
    }

    /// A call of the log.
    nonisolated init(_ call: JournaledCall) {
        self.init(
            call.record, receivedAt: UTCTime(milliseconds: call.receivedWallClock).description, pid: nil,
            deadlineMs: nil)
    }

    private nonisolated init(_ call: CallRecord, receivedAt: String, pid: Int32?, deadlineMs: Int64?) {
        self.init(
            call: call.key.id.rawValue, app: call.key.app.rawValue, topic: call.topic.rawValue,
            environment: call.environment.rawValue, team: call.team, state: call.state.rawValue,
            reason: call.reason?.rawValue, detail: call.detail, missed: call.isMissed, apnsId: call.apnsID,
            caller: call.update.caller, callerName: call.update.callerName, video: call.update.hasVideo ?? false,
            attempt: call.attempt, pid: pid, deadlineMs: deadlineMs, receivedAt: receivedAt, timeline: call.hops)
    }
}

extension EventMessage {
    /// A change of `call`, or where it stands now.
    init(change call: Call, at now: BootInstant) {
        self.init(
            event: "call", app: call.key.app.rawValue, call: call.key.id.rawValue,
            state: call.machine.state.name.rawValue, reason: call.machine.state.endReason?.rawValue,
            deadlineMs: call.machine.nextDeadline.map { now.millisecondsLeft(until: $0) },
            caller: call.update.caller,
            atUs: call.receivedAt.microseconds(until: now))
    }

    /// What the handler of `key` is to do.
    init(action: CallAction, of key: CallKey, by deadline: BootInstant, at now: BootInstant) {
        self.init(
            event: "action", app: key.app.rawValue, call: key.id.rawValue, action: action.rawValue,
            deadlineMs: now.millisecondsLeft(until: deadline))
    }

    /// A push that changed nothing.
    init(ignored push: VerifiedPush, _ key: CallKey, _ outcome: PushOutcome) {
        self.init(
            event: "push", app: key.app.rawValue, call: key.id.rawValue, reason: outcome.rawValue,
            outcome: outcome.rawValue, apnsId: push.apnsID)
    }

    /// Something waits for the app's handler to be fetched.
    init(waiting key: CallKey, _ kind: WakeRequest.Kind) {
        self.init(event: "push", app: key.app.rawValue, call: key.id.rawValue, reason: "waiting", kind: kind.rawValue)
    }

    /// A handler did not do its part.
    init(strike key: CallKey, _ failure: HandlerFailure) {
        self.init(event: "strike", app: key.app.rawValue, call: key.id.rawValue, reason: failure.rawValue)
    }

    /// What the network offers now: of the daemon, or for a call.
    init(path: PathMessage, of key: CallKey?) {
        self.init(event: "path", app: key?.app.rawValue, call: key?.id.rawValue, path: path)
    }

    /// Whether the daemon, or an app, is connected.
    init(connection: ConnectionStatus, of app: AppID?) {
        self.init(
            event: "connection", app: app?.rawValue, reason: connection.why, connection: connection.state.rawValue)
    }

    /// A call that nobody took or refused.
    init(missed call: Call) {
        self.init(
            event: "missed", app: call.key.app.rawValue, call: call.key.id.rawValue,
            reason: call.machine.state.endReason?.rawValue, caller: call.update.caller)
    }
}

extension CallStateMachine.State {
    /// What the handler owes in this state, and by when.
    nonisolated var pendingAction: (action: CallAction, by: BootInstant)? {
        switch self {
        case .answering(let deadline): (.answer, deadline)
        case .ending(_, let deadline): (.end, deadline)
        case .queued, .woken, .reported, .confirmed, .ringing, .connected, .ended: nil
        }
    }
}
