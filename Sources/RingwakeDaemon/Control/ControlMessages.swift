internal import ControlProtocol
internal import RingwakeCore

extension CallMessage {
    /// `call` as the control API shows it at `now`.
    init(_ call: Call, at now: BootInstant) {
        self.init(
            call: call.key.id.rawValue, app: call.key.app.rawValue, state: call.machine.state.name,
            reason: call.machine.state.endReason?.rawValue, detail: call.machine.state.endDetail, apnsId: call.apnsID,
            caller: call.update.caller, callerName: call.update.callerName, video: call.update.hasVideo,
            attempt: call.attempt, pid: call.handler,
            deadlineMs: call.machine.nextDeadline.map { now.millisecondsLeft(until: $0) },
            timeline: call.timeline.map { entry in
                Hop(
                    stage: entry.stage.rawValue,
                    atUs: call.receivedAt.duration(to: entry.at).saturatingNanoseconds / 1000)
            })
    }
}

extension EventMessage {
    /// A change of `call`, or where it stands now.
    init(change call: Call, at now: BootInstant) {
        self.init(
            event: "call", app: call.key.app.rawValue, call: call.key.id.rawValue, state: call.machine.state.name,
            reason: call.machine.state.endReason?.rawValue,
            deadlineMs: call.machine.nextDeadline.map { now.millisecondsLeft(until: $0) },
            caller: call.update.caller,
            atUs: call.receivedAt.duration(to: now).saturatingNanoseconds / 1000)
    }

    /// What the handler of `key` is to do.
    init(action: CallAction, of key: CallKey, by deadline: BootInstant, at now: BootInstant) {
        self.init(
            event: "action", app: key.app.rawValue, call: key.id.rawValue, action: action.rawValue,
            deadlineMs: now.millisecondsLeft(until: deadline))
    }

    /// A push that started no call.
    init(ignored push: VerifiedPush, _ why: IgnoredPush) {
        self.init(event: "push", app: push.app.rawValue, call: push.apnsID, reason: why.rawValue)
    }
}

extension BootInstant {
    /// Never negative, although a deadline may be met a little late: whoever waits with poll(2) would wait for ever.
    fileprivate nonisolated func millisecondsLeft(until deadline: BootInstant) -> Int64 {
        max(0, duration(to: deadline).milliseconds)
    }
}

extension CallStateMachine.State {
    /// The reason of a call that has ended or is ending.
    nonisolated var endReason: CallEndReason? {
        switch self {
        case .ending(let reason, _), .ended(let reason, _): reason
        case .woken, .reported, .ringing, .answering, .connected: nil
        }
    }

    /// More on the end, for a person.
    nonisolated var endDetail: String? {
        if case .ended(_, let detail) = self { detail } else { nil }
    }

    /// What the handler owes in this state, and by when.
    nonisolated var pendingAction: (action: CallAction, by: BootInstant)? {
        switch self {
        case .answering(let deadline): (.answer, deadline)
        case .ending(_, let deadline): (.end, deadline)
        case .woken, .reported, .ringing, .connected, .ended: nil
        }
    }
}
