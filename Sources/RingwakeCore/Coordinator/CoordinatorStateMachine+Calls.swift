// What happens to one call, by its handler, its user or the time.
extension CoordinatorStateMachine {
    mutating func applyToCall(_ event: Event, at now: BootInstant) -> [Effect] {
        switch event {
        case .reported(let key, let update, let ring, let wake):
            return report(key, update, ring: ring, by: wake, at: now)
        case .ringConfirmed(let key, let wake):
            return settle(key, at: now, by: wake) { machine throws(CallStateMachine.Refusal) in
                try machine.confirmRing(at: now)
            }
        case .fulfilled(let key, let action, let wake):
            return settle(key, at: now, by: wake) { machine throws(CallStateMachine.Refusal) in
                try machine.fulfill(action, at: now)
            }
        case .actionFailed(let key, let action, let wake):
            return settle(key, at: now, by: wake) { machine throws(CallStateMachine.Refusal) in
                try machine.fail(action)
            }
        case .remoteEnded(let key, let reason, let wake):
            return settle(key, at: now, by: wake) { machine throws(CallStateMachine.Refusal) in
                try machine.remoteEnded(reason)
            }
        case .answerRequested(let key):
            return settle(key, at: now, noting: .answered) { machine throws(CallStateMachine.Refusal) in
                try machine.answer(at: now)
            }
        case .declineRequested(let key):
            return settle(key, at: now, noting: .hungUp) { machine throws(CallStateMachine.Refusal) in
                try machine.decline(at: now)
            }
        case .endRequested(let key):
            return settle(key, at: now, noting: .hungUp) { machine throws(CallStateMachine.Refusal) in
                try machine.end(at: now)
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
        _ key: CallKey, _ update: CallUpdate, ring: Bool, by wake: WakeID?, at now: BootInstant
    ) -> [Effect] {
        var effects: [Effect] = []
        // A handler that learned of a waiting call by the event stream need not fetch it first, but may still.
        if let wake, lanes[key.app]?.taker == wake, lanes[key.app]?.waiting.contains(key) == true {
            effects = take(key, by: wake, at: now, atMost: 0).effects
        }
        effects += settle(key, at: now, by: wake, updating: update) { machine throws(CallStateMachine.Refusal) in
            try machine.report(at: now)
        }
        if ring, case .reported = active[key]?.machine.state, !effects.contains(where: \.isRefusal) {
            effects += settle(key, at: now, by: wake) { machine throws(CallStateMachine.Refusal) in
                try machine.confirmRing(at: now)
            }
        }
        return effects
    }

    /// Gives one input to a call's machine and turns what it asks for into effects; files the call when it ended.
    ///
    /// - Parameter wake: the handler that the input comes from, which must have the call; nil for all else.
    mutating func settle(
        _ key: CallKey, at now: BootInstant, by wake: WakeID? = nil, noting stage: TimelineEntry.Stage? = nil,
        updating update: CallUpdate? = nil,
        _ input: (inout CallStateMachine) throws(CallStateMachine.Refusal) -> [CallStateMachine.Output]
    ) -> [Effect] {
        guard var call = call(key) else { return [.refused(.unknownCall(key))] }
        guard wake == nil || call.handler == wake else { return [.refused(.notOwned(key))] }
        let before = call.machine
        let outputs: [CallStateMachine.Output]
        do {
            outputs = try input(&call.machine)
        } catch {
            return [.refused(.wrongState(key, error.state))]
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
        if case .woken = before.state { call.dropFetched() }
        if call.machine.hasEnded {
            call.unread = []
        }
        file(call)
        return effects(of: outputs, on: call, at: now)
    }

    private mutating func effects(
        of outputs: [CallStateMachine.Output], on call: Call, at now: BootInstant
    ) -> [Effect] {
        var effects: [Effect] = outputs.flatMap { output -> [Effect] in
            switch output {
            case .entered: [.callChanged(call)]
            case .journalRing: [.journalRing(call.journalRecord)]
            case .request(let action, let deadline): [.request(action, call.key, by: deadline)]
            case .strike(let failure): [.strike(call.key, failure)]
            case .stopHandler: []
            }
        }
        guard call.machine.hasEnded else { return effects }
        if call.record.isMissed {
            effects.append(.callMissed(call))
        }
        let wasItsLast = lanes[call.key.app]?.ended(call.key, of: call.handler, at: now) ?? false
        if outputs.contains(.stopHandler) {
            effects += stopHandlerIfIdle(call, at: now)
        } else if wasItsLast, let wake = call.handler {
            effects.append(.releaseHandler(wake))
        }
        if lanes[call.key.app]?.isEmpty == true { lanes[call.key.app] = nil }
        return effects
    }
}

extension Effect {
    fileprivate var isRefusal: Bool {
        if case .refused = self { true } else { false }
    }
}

extension CallStateMachine.State {
    /// Whether the handler talks with the caller's side, or is about to.
    fileprivate var hasPeerOnTheLine: Bool {
        switch self {
        case .ringing, .answering, .connected: true
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
        case .queued, .woken, .confirmed, .answering, .ending: nil
        }
    }
}
