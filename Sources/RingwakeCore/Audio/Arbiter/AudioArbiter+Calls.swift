// The session of the calls: active from the fulfilled answer to the end or the hold.
extension AudioArbiter {
    /// The one session that all calls of the user have: lent to the call in focus.
    ///
    ///     idle --focus--> activating --applied--> active --focus goes, another comes--> retained
    ///      ^                |  ^  \                 |                                      |
    ///      |   refused, no  |  |   +--focus goes    | focus goes                           | focus
    ///      |        server  v  |         |          v                                      v
    ///      |              failed         |     deactivating --applied--> idle          activating
    ///      +-------------------+---------+
    ///
    /// ``AudioEffect/callActivated(_:_:)`` is told on the way into *active* and nowhere else, and
    /// ``AudioEffect/callDeactivated(_:)`` once afterwards: on the way out of *active*, where the call is followed by
    /// another one or the server is lost; on the way out of *deactivating* else.
    package struct CallSession: Hashable, Sendable {
        package typealias Focus = CallAudioNeeds.Focus

        package enum State: Hashable, Sendable {
            case idle
            /// `failsAt`: when it is told as failed; nil once it was. It is activated whenever the server answers.
            case activating(Focus, failsAt: BootInstant?)
            case active(Focus)
            /// Not the call's any more; what it did to others stays for the next one.
            case retained(Focus)
            /// Its client has stopped its streams; it is told when others are heard again, or then at the latest.
            case deactivating(Focus, tellBy: BootInstant)
            /// Told as failed, and not in the plan: tried again when the server, the route or the configuration is
            /// another.
            case failed(Focus)
        }

        package internal(set) var state = State.idle
        /// Whether it is later than a session; nil while it is not in the plan.
        var order: UInt64?
        package internal(set) var isSpeakerForced = false
        /// The client of a call that has ended, whose streams ran on.
        var silenced: AudioClient?
        /// A call has been in focus, and that one or another has not ended yet.
        var hasHadFocus = false
    }

    /// The call whose audio is active.
    package var activeCall: CallKey? {
        if case .active(let focus) = call.state { focus.call } else { nil }
    }

    mutating func change(to new: CallAudioNeeds, _ turn: inout Turn) {
        guard new != needs else { return }
        needs = new
        reviveEngine(&turn)
        isRinging = new.isRinging || (isRinging && new.isFocusComing)
        if new.focus != nil || !new.isAnyCall { call.silenced = nil }
        call.hasHadFocus = new.focus != nil || (call.hasHadFocus && new.isAnyCall)
        if let focus = new.focus {
            moveFocus(to: focus, &turn)
        } else {
            dropFocus(isAnotherComing: new.isFocusComing, &turn)
        }
    }

    private mutating func moveFocus(to focus: CallSession.Focus, _ turn: inout Turn) {
        switch call.state {
        case .activating(let former, let failsAt) where former.call == focus.call:
            enter(.activating(focus, failsAt: failsAt))
        case .active(let former) where former.call == focus.call:
            enter(.active(focus))
        case .failed(let former) where former.call == focus.call:
            // Nothing that it failed for has changed.
            if engine.failure != nil || former.isSession(of: focus) { return enter(.failed(focus)) }
            beginCall(focus, &turn)
        case .active(let former), .deactivating(let former, _):
            turn.effects.append(.callDeactivated(former.call))
            beginCall(focus, &turn)
        case .idle, .activating, .retained, .failed:
            beginCall(focus, &turn)
        }
    }

    private mutating func dropFocus(isAnotherComing: Bool, _ turn: inout Turn) {
        switch call.state {
        case .idle, .deactivating: break
        case .activating(let former, _), .active(let former), .retained(let former):
            if isAnotherComing {
                if case .active = call.state { turn.effects.append(.callDeactivated(former.call)) }
                enter(.retained(former))
            } else if case .active = call.state {
                let limit = turn.now.advanced(by: max(settings.activationTime, .zero))
                enter(.deactivating(former, tellBy: limit))
            } else {
                enter(.idle)
            }
        case .failed: enter(.idle)
        }
    }

    /// A call wants to be active: now, when the server is connected, or not at all.
    mutating func beginCall(_ focus: CallSession.Focus, _ turn: inout Turn) {
        if settings.hasEngine, let failure = engine.failure { return failCall(focus, failure, &turn) }
        let limit = turn.now.advanced(by: max(settings.activationTime, .zero))
        enter(.activating(focus, failsAt: limit))
    }

    /// A call could not be activated, or is not active any more for no reason of its own; it goes on. Told once.
    mutating func failCall(_ focus: CallSession.Focus, _ error: AudioSessionError, _ turn: inout Turn) {
        let isTold = if case .activating(_, failsAt: nil) = call.state { true } else { false }
        if !isTold { turn.effects.append(.callFailed(focus.call, error)) }
        enter(.failed(focus))
    }

    /// The server, or its devices, are others: a call that failed may do now.
    mutating func retryCall(_ turn: inout Turn) {
        if case .failed(let focus) = call.state { beginCall(focus, &turn) }
    }

    /// The one place where the session of the calls changes its state.
    private mutating func enter(_ state: CallSession.State) {
        let wasInPlan = call.state.isInPlan
        call.state = state
        guard !state.isInPlan else { return }
        call.order = nil
        call.isSpeakerForced = false
        if wasInPlan { release(.session(.call), shouldResume: true) }
    }

    // MARK: - What comes of it

    /// The plan in force may be the one that the call waits for.
    ///
    /// - Parameter isFinal: nothing else will come into force by itself.
    mutating func settleCall(isFinal: Bool, _ turn: inout Turn) {
        switch call.state {
        case .activating(let focus, _):
            guard isReady, let planned = callToPlan, progress.planInForce.sessions.first == planned else { return }
            enter(.active(focus))
            turn.effects.append(.callActivated(focus.call, route))
        case .deactivating(let focus, _):
            guard isFinal || !progress.holds(.call) else { return }
            turn.effects.append(.callDeactivated(focus.call))
            enter(.idle)
        case .idle, .active, .retained, .failed: break
        }
    }

    mutating func passDeadlineOfCall(_ turn: inout Turn) {
        guard let deadline = call.state.deadline, deadline <= turn.now else { return }
        switch call.state {
        case .activating(let focus, _):
            enter(.activating(focus, failsAt: nil))
            turn.effects.append(.callFailed(focus.call, timedOut))
        case .deactivating(let focus, _):
            enter(.idle)
            turn.effects.append(.callDeactivated(focus.call))
        case .idle, .active, .retained, .failed: break
        }
    }

    /// The connection to the server is gone, and all that was done with it.
    mutating func loseCall(_ error: AudioSessionError, _ turn: inout Turn) {
        switch call.state {
        case .active(let focus):
            turn.effects.append(.callDeactivated(focus.call))
            failCall(focus, error, &turn)
        case .activating(let focus, _): failCall(focus, error, &turn)
        case .deactivating(let focus, _):
            turn.effects.append(.callDeactivated(focus.call))
            enter(.idle)
        case .retained: enter(.idle)
        case .idle, .failed: break
        }
        call.silenced = nil
    }

    /// Ringing has a session only while it does something to others.
    mutating func followRinging() {
        let isWanted = isRinging && settings.othersWhileRinging != .leave
        if isWanted, ringing == nil {
            ringing = nextOrder()
        } else if !isWanted, ringing != nil {
            ringing = nil
            release(.session(.ringing), shouldResume: true)
        }
    }
}

extension CallAudioNeeds.Focus {
    /// Whether both make the same session, muted or not.
    fileprivate func isSession(of other: CallAudioNeeds.Focus) -> Bool {
        configuration == other.configuration && client == other.client
    }
}

extension AudioArbiter.CallSession.State {
    /// The call whose it is or was.
    package var focus: CallAudioNeeds.Focus? {
        switch self {
        case .idle: nil
        case .activating(let focus, _), .active(let focus), .retained(let focus), .deactivating(let focus, _),
            .failed(let focus):
            focus
        }
    }

    /// Whether it is wanted of the server.
    package var isInPlan: Bool {
        switch self {
        case .activating, .active, .retained: true
        case .idle, .deactivating, .failed: false
        }
    }

    var deadline: BootInstant? {
        switch self {
        case .activating(_, let failsAt): failsAt
        case .deactivating(_, let tellBy): tellBy
        case .idle, .active, .retained, .failed: nil
        }
    }
}
