internal import ControlProtocol
internal import PushJournal
internal import RingwakeCore

extension CallMessage {
    /// A call that the coordinator knows, as it stands now.
    nonisolated init(_ call: Call, pid: Int32?, _ clock: WallTimes) {
        self.init(
            call.record, receivedAt: clock.arrival(of: call), pid: pid,
            deadlineMs: call.machine.stateDeadline.map { clock.now.millisecondsLeft(until: $0) })
        muted = call.machine.isMuted
        ringer = call.ringer.rawValue
        pending = call.machine.owed.map { action in
            PendingActionMessage(
                action: action.action.rawValue, digits: action.digits,
                deadlineMs: clock.now.millisecondsLeft(until: action.by))
        }
        claimMs = call.machine.claimBy.map { clock.now.millisecondsLeft(until: $0) }
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
            caller: call.update.caller, callerName: call.update.callerName, identifiedAs: call.update.identifiedAs,
            video: call.update.hasVideo ?? false, restriction: call.restrictionMessage,
            attempt: call.attempt, pid: pid, deadlineMs: deadlineMs, receivedAt: receivedAt, timeline: call.hops)
    }
}

extension EventMessage {
    /// A change of `call`, or where it stands now.
    init(change call: Call, at now: BootInstant) {
        self.init(
            event: "call", app: call.key.app.rawValue, call: call.key.id.rawValue, number: call.number,
            state: call.machine.state.name.rawValue, reason: call.machine.state.endReason?.rawValue,
            deadlineMs: call.machine.stateDeadline.map { now.millisecondsLeft(until: $0) },
            claimMs: call.machine.claimBy.map { now.millisecondsLeft(until: $0) },
            muted: call.machine.isMuted ? true : nil, caller: call.update.caller,
            identifiedAs: call.update.identifiedAs,
            atUs: call.receivedAt.microseconds(until: now))
    }

    /// What the handler of `key` is to do.
    init(action: PendingAction, of key: CallKey, at now: BootInstant) {
        self.init(
            event: "action", app: key.app.rawValue, call: key.id.rawValue, action: action.action.rawValue,
            digits: action.digits, deadlineMs: now.millisecondsLeft(until: action.by))
    }

    /// What senders need to reach the app is another, or is of no use any more.
    init(credentialsOf app: AppID, areValid: Bool) {
        self.init(event: "credentials", app: app.rawValue, active: areValid)
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

    /// An app's handler is not started any more, or is again.
    init(struckOut app: AppID, _ isStruckOut: Bool) {
        self.init(event: "struckOut", app: app.rawValue, active: isStruckOut)
    }

    /// A call that was kept out.
    init(restricted key: CallKey, _ restriction: Restriction) {
        self.init(
            event: "restricted", app: key.app.rawValue, call: key.id.rawValue, reason: restriction.kind.rawValue,
            detail: restriction.detail)
    }

    /// The first cellular call of the device began, or the last one ended.
    init(cellular isActive: Bool) {
        self.init(event: "cellular", active: isActive)
    }

    /// The beginning of the stream that a handler keeps.
    init(handler app: AppID, secret: String?, socket: String) {
        self.init(event: "handler", app: app.rawValue, secret: secret, socket: socket)
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
