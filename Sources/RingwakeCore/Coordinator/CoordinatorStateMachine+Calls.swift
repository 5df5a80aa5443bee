// What happens to one call, by its handler, its user or the time.
extension CoordinatorStateMachine {
    mutating func applyToCall(_ event: Event, at now: BootInstant) -> [Effect] {
        switch event {
        case .reported(let key, let update, let ring, let wake, let restriction):
            return report(key, update, ring: ring, by: wake, restriction, at: now)
        case .ringConfirmed(let key, let wake):
            return confirmRing(key, by: wake, at: now)
        case .fulfilled(let key, let action, let wake, let audio):
            let effects = settle(key, at: now, by: wake) { machine throws(CallStateMachine.Refusal) in
                try machine.fulfill(action, at: now)
            }
            if let audio, !effects.contains(where: \.isRefusal) { active[key]?.audioConfiguration = audio }
            return effects
        case .actionFailed(let key, let action, let wake):
            return settle(key, at: now, by: wake) { machine throws(CallStateMachine.Refusal) in
                try machine.fail(action)
            }
        case .remoteEnded(let key, let reason, let wake):
            return settle(key, at: now, by: wake) { machine throws(CallStateMachine.Refusal) in
                try machine.remoteEnded(reason)
            }
        case .audioConfigured, .audioChanged: return applyToAudio(event, at: now)
        case .answerRequested(let key, let others):
            return answer(key, others: others, at: now)
        case .holdRequested(let key, let isOnHold, let others):
            return isOnHold ? hold(key, at: now) : unhold(key, others: others, at: now)
        case .declineRequested(let key):
            return settle(key, at: now, noting: .hungUp) { machine throws(CallStateMachine.Refusal) in
                try machine.decline(at: now)
            }
        case .endRequested(let key):
            noteEndInFocus(of: key)
            return settle(key, at: now, noting: .hungUp) { machine throws(CallStateMachine.Refusal) in
                try machine.end(at: now)
            }
        case .muteRequested(let key, let isMuted):
            return settle(key, at: now) { machine throws(CallStateMachine.Refusal) in
                try machine.mute(isMuted, at: now)
            }
        case .digitsRequested(let key, let digits):
            return settle(key, at: now) { machine throws(CallStateMachine.Refusal) in
                try machine.play(digits, at: now)
            }
        default:
            // `deadlineReached`: what was due has been done before.
            return []
        }
    }

    /// Tells the handlers of the calls that have a peer on the line, the oldest call first. No call changes.
    func networkChanged() -> [Effect] {
        let concerned = active.values.filter { $0.machine.state.hasPeerOnTheLine }
        return concerned.sorted { $0.number < $1.number }.map { .tellPath($0.key) }
    }

    private mutating func report(
        _ key: CallKey, _ update: CallUpdate, ring: Bool, by wake: WakeID?, _ restriction: Restriction?,
        at now: BootInstant
    ) -> [Effect] {
        var effects: [Effect] = []
        // A handler that learned of a waiting call by the event stream need not fetch it first, but may still.
        if let wake, !isStruckOut(key.app), lanes[key.app]?.taker == wake,
            lanes[key.app]?.waiting.contains(key) == true,
            case .queued = active[key]?.machine.state
        {
            effects = take(key, by: wake, at: now, atMost: 0).effects
        }
        if let restriction {
            return effects
                + settle(key, at: now, by: wake, noting: .reported, updating: update, restricting: restriction) {
                    machine throws(CallStateMachine.Refusal) in
                    try machine.restrict(restriction.endReason, restriction.detail)
                }
        }
        if isBusy(for: key) {
            return effects
                + settle(key, at: now, by: wake, noting: .reported, updating: update) {
                    machine throws(CallStateMachine.Refusal) in
                    guard case .woken = machine.state else { throw machine.refusal() }
                    return try machine.reject(at: now)
                }
        }
        effects += settle(key, at: now, by: wake, updating: update) { machine throws(CallStateMachine.Refusal) in
            try machine.report(at: now)
        }
        if ring, case .reported = active[key]?.machine.state, !effects.contains(where: \.isRefusal) {
            effects += confirmRing(key, by: wake, at: now)
        }
        return effects
    }

    private mutating func confirmRing(_ key: CallKey, by wake: WakeID?, at now: BootInstant) -> [Effect] {
        let isBusy = isBusy(for: key)
        return settle(key, at: now, by: wake) { machine throws(CallStateMachine.Refusal) in
            guard isBusy, case .reported = machine.state else { return try machine.confirmRing(at: now) }
            return try machine.reject(at: now)
        }
    }

    /// Whether the call is to be refused because another one goes on.
    private func isBusy(for key: CallKey) -> Bool { active[key]?.policy.whenBusy == .reject && isInCall }

    /// What becomes of the call if its handler fails before it rings. Where a busy line refuses calls, none rings.
    func fallback(for call: Call) -> CallFallback {
        call.policy.fallback == .ring && !isBusy(for: call.key) ? .ring : .missed
    }

    /// Gives one input to a call's machine and turns what it asks for into effects; files the call when it ended.
    ///
    /// - Parameters:
    ///   - wake: the handler that the input comes from, which must have the call; nil for all else.
    ///   - isCharged: whether a strike that follows counts: one failure of a handler with several calls is one strike.
    mutating func settle(
        _ key: CallKey, at now: BootInstant, by wake: WakeID? = nil, noting stage: TimelineEntry.Stage? = nil,
        updating update: CallUpdate? = nil, restricting restriction: Restriction? = nil, isCharged: Bool = true,
        _ input: (inout CallStateMachine) throws(CallStateMachine.Refusal) -> [CallStateMachine.Output]
    ) -> [Effect] {
        guard var call = call(key) else { return [.refused(.unknownCall(key))] }
        guard wake == nil || call.handler == wake else { return [.refused(.notOwned(key))] }
        let before = call.machine
        let outputs: [CallStateMachine.Output]
        do {
            outputs = try input(&call.machine)
        } catch {
            return [.refused(EventRefusal(error, key))]
        }
        guard call.machine != before else { return [] }
        if let update {
            call.update.merge(update)
        }
        if let stage {
            call.note(stage, at: now)
        }
        if let stage = call.machine.state.timelineStage {
            call.note(stage, at: now)
        }
        call.restriction = restriction ?? call.restriction
        if case .woken = before.state { call.pushes.dropFetched() }
        if call.machine.hasEnded { call.pushes.dropAll() }
        let former = call.handler
        switch call.machine.lease {
        case .taken, .offered: break
        case .absent:
            call.handler = nil
            call.ringer = .daemon
            call.pushes.keepForClaim()
        case .lost(let deadline):
            call.handler = nil
            if before.claimBy != deadline { call.claimStarts = 0 }
            call.pushes.keepForClaim()
        }
        file(call)
        return effects(of: outputs, on: call, former: former, isCharged: isCharged, at: now)
    }

    private mutating func effects(
        of outputs: [CallStateMachine.Output], on call: Call, former: WakeID?, isCharged: Bool, at now: BootInstant
    ) -> [Effect] {
        var effects: [Effect] = []
        var isTold = false
        for output in outputs {
            switch output {
            case .entered, .changed:
                // The call is told as it is in the end, so once is enough.
                if !isTold { effects.append(.callChanged(call)) }
                isTold = true
            case .journalRing: effects.append(.journalRing(call.journalRecord))
            case .request(let action): effects.append(.request(action, call.key))
            case .strike(let failure): if isCharged { effects += strike(failure, in: call, at: now) }
            case .stopHandler: break
            }
        }
        let hasEnded = call.machine.hasEnded
        if hasEnded, let restriction = call.restriction { effects.append(.restricted(call.key, restriction)) }
        if call.isToBeToldAsMissed { effects.append(.callMissed(call)) }
        if hasEnded || (former != nil && call.handler == nil) {
            effects += leave(call, former, isHanging: outputs.contains(.stopHandler), at: now)
        }
        if case .lost = call.machine.lease { waitForClaim(call, at: now) }
        if hasEnded, call.wasEndedInFocus { effects += resumeHeld(at: now) }
        return effects
    }

    /// The call is over, or lost to the handler that it had, which is stopped or released if that was its last.
    private mutating func leave(
        _ call: Call, _ former: WakeID?, isHanging: Bool, at now: BootInstant
    ) -> [Effect] {
        let app = call.key.app
        let isReleased = lanes[app]?.ended(call.key, of: former, at: now) ?? false
        var effects: [Effect] = []
        if isHanging { effects = stopHandlerIfIdle(former, of: app, at: now) }
        if effects.isEmpty, isReleased, let former { effects = [.releaseHandler(former)] }
        if lanes[app]?.isEmpty == true { lanes[app] = nil }
        return effects
    }
}

extension Effect {
    fileprivate var isRefusal: Bool {
        if case .refused = self { true } else { false }
    }
}

extension EventRefusal {
    init(_ refusal: CallStateMachine.Refusal, _ key: CallKey) {
        self =
            switch refusal.why {
            case .state: .wrongState(key, refusal.state)
            case .alreadyAsked(let action): .alreadyAsked(key, action)
            case .unclaimed: .unclaimed(key)
            case .badDigits: .badDigits(key)
            }
    }
}

extension Call {
    /// Whether the user is to hear that it was missed: not of what was kept out.
    var isToBeToldAsMissed: Bool { machine.hasEnded && restriction == nil && record.isMissed }
}

extension CallStateMachine.State {
    /// Whether the handler talks with the caller's side, or is about to.
    fileprivate var hasPeerOnTheLine: Bool {
        switch self {
        case .ringing, .answering, .connected, .held: true
        case .queued, .woken, .reported, .confirmed, .ending, .ended: false
        }
    }

    /// What entering this state adds to the timeline; the rest is noted by the event that brings it about.
    fileprivate var timelineStage: TimelineEntry.Stage? {
        switch self {
        case .reported: .reported
        case .ringing: .rang
        case .connected: .connected
        case .ended: .ended
        case .queued, .woken, .confirmed, .answering, .held, .ending: nil
        }
    }
}
