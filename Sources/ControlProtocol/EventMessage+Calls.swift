package import RingwakeCore

extension EventMessage {
    /// A change of `call`, or where it stands now.
    package init(change call: Call, at now: BootInstant) {
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
    package init(action: PendingAction, of key: CallKey, at now: BootInstant) {
        self.init(
            event: "action", app: key.app.rawValue, call: key.id.rawValue, action: action.action.rawValue,
            digits: action.digits, deadlineMs: now.millisecondsLeft(until: action.by))
    }

    /// What senders need to reach the app is another, or is of no use any more.
    package init(credentialsOf app: AppID, areValid: Bool) {
        self.init(event: "credentials", app: app.rawValue, active: areValid)
    }

    /// A push that changed nothing.
    package init(ignored push: VerifiedPush, _ key: CallKey, _ outcome: PushOutcome) {
        self.init(
            event: "push", app: key.app.rawValue, call: key.id.rawValue, reason: outcome.rawValue,
            outcome: outcome.rawValue, apnsId: push.apnsID)
    }

    /// Something waits for the app's handler to be fetched.
    package init(waiting key: CallKey, _ kind: WakeRequest.Kind) {
        self.init(event: "push", app: key.app.rawValue, call: key.id.rawValue, reason: "waiting", kind: kind.rawValue)
    }

    /// A handler did not do its part.
    package init(strike key: CallKey, _ failure: HandlerFailure) {
        self.init(event: "strike", app: key.app.rawValue, call: key.id.rawValue, reason: failure.rawValue)
    }

    /// An app's handler is not started any more, or is again.
    package init(struckOut app: AppID, _ isStruckOut: Bool) {
        self.init(event: "struckOut", app: app.rawValue, active: isStruckOut)
    }

    /// A call that was kept out.
    package init(restricted key: CallKey, _ restriction: Restriction) {
        self.init(
            event: "restricted", app: key.app.rawValue, call: key.id.rawValue, reason: restriction.kind.rawValue,
            detail: restriction.detail)
    }

    /// The first cellular call of the device began, or the last one ended.
    package init(cellular isActive: Bool) {
        self.init(event: "cellular", active: isActive)
    }

    /// The beginning of the stream that a handler keeps.
    package init(handler app: AppID, secret: String?, socket: String) {
        self.init(event: "handler", app: app.rawValue, secret: secret, socket: socket)
    }

    /// What the network offers now: of the daemon, or for a call.
    package init(path: PathMessage, of key: CallKey?) {
        self.init(event: "path", app: key?.app.rawValue, call: key?.id.rawValue, path: path)
    }

    /// Whether the daemon, or an app, is connected.
    package init(connection: ConnectionStatus, of app: AppID?) {
        self.init(
            event: "connection", app: app?.rawValue, reason: connection.why, connection: connection.state.rawValue)
    }

    /// A call that nobody took or refused.
    package init(missed call: Call) {
        self.init(
            event: "missed", app: call.key.app.rawValue, call: call.key.id.rawValue,
            reason: call.machine.state.endReason?.rawValue, caller: call.update.caller)
    }
}
