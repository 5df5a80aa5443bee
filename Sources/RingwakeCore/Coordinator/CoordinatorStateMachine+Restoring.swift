// The daemon starts again: calls go on where they stood, are delivered once more, or are over.
extension CoordinatorStateMachine {
    /// Takes up a call that had not ended. Within the boot in which it was written it stands as it stood. After a restart of
    /// the machine what never rang is delivered again if it's still in time; what may have rung is not rung again. Either
    /// way it finds its handler, or another one, with ``restoreHandlers(_:of:alive:_:at:)``.
    mutating func restore(_ stored: StoredCall, _ policy: AppPolicy?, at now: BootInstant) -> [Effect] {
        var record = stored.record
        guard call(record.key) == nil else { return [] }
        guard record.state != .ended else {
            remember([record])
            return []
        }
        nextCallNumber = max(nextCallNumber, record.number + 1)
        if let handler = record.progress?.handler { nextWakeNumber = max(nextWakeNumber, handler.number + 1) }
        let isContinued = policy != nil && stored.origin == .thisBoot && record.progress != nil
        let rangAt = record.ringRequestedAt
        if !isContinued { record.progress = nil }
        var call = Call(record, stored.payloads, policy ?? AppPolicy())
        // When that was may not have been written any more; that it was is sure.
        call.note(.journaled, at: now)
        if isContinued {
            call.claimStarts = 0
            call.restoreAudio()
            call.machine.restored(at: now)
        }
        file(call)
        guard isContinued else {
            guard let (reason, detail) = end(of: stored, call, hasPolicy: policy != nil, at: now) else { return [] }
            return settle(call.key, at: now) { machine throws(CallStateMachine.Refusal) in
                machine.abandon(reason, detail)
            }
        }
        var effects: [Effect] = []
        if let rangAt = rangAt.map({ min($0, now) }) {
            // The ring was requested, and that is on the disk: people may have noticed it.
            effects += settle(call.key, at: rangAt) { machine throws(CallStateMachine.Refusal) in
                machine.ringJournaled(at: rangAt)
            }
        }
        // What the person waited for may be over meanwhile.
        let fallback = fallback(for: call)
        effects += settle(call.key, at: now) { machine throws(CallStateMachine.Refusal) in
            machine.advance(to: now, fallback: fallback)
        }
        return effects
    }

    /// Why a call that can't stand as it stood is over; nil when it is to be delivered again.
    private func end(
        of stored: StoredCall, _ call: Call, hasPolicy: Bool, at now: BootInstant
    ) -> (CallEndReason, String)? {
        let record = stored.record
        switch record.state {
        case .ending:
            return (record.reason ?? .localEnded, "ringwaked stopped before its handler had ended it")
        case .answering, .connected, .held:
            return (.failed, "ringwaked stopped during the call")
        case _ where record.mayHaveRung:
            return (.unanswered, "ringwaked stopped while it rang")
        default:
            break
        }
        if record.isOneAttempt {
            return (.expired, "ringwaked stopped before it rang, and its sender allowed one attempt only")
        }
        if !call.pushes.hasFirst {
            return (.failed, "the journal has no payload to deliver again")
        }
        if stored.origin == .otherBoot(isTimeKnown: false) {
            return (.expired, "the machine was restarted, and its clock does not show how long that took")
        }
        if record.ringBefore <= now {
            return (.expired, "ringwaked stopped before it rang, and started after its expiration")
        }
        return hasPolicy ? nil : (.handlerFailed, "its app is not configured any more")
    }

    /// The handlers of an app that ran when the daemon ended. Calls of those that do not run any more, and those that had
    /// none, find another one.
    mutating func restoreHandlers(
        _ handlers: [WakeID: HandlerLane.Handler], of app: AppID, alive: Set<WakeID>, _ policy: AppPolicy,
        at now: BootInstant
    ) -> [Effect] {
        let calls = active.values.filter { $0.key.app == app }.sorted { $0.number < $1.number }
        var lane = lanes[app] ?? HandlerLane(policy: policy)
        lane.adopt(policy, at: now)
        var effects: [Effect] = []
        for (wake, former) in handlers.sorted(by: { $0.key < $1.key }) {
            nextWakeNumber = max(nextWakeNumber, wake.number + 1)
            guard alive.contains(wake), lane.handlers[wake] == nil else { continue }
            var handler = former
            // One that was being stopped had no call any more, whatever a row says that was not written in time.
            handler.calls = handler.isStopping ? [] : calls.filter { $0.handler == wake }.map(\.key)
            // Connections ended with the daemon.
            handler.isConnected = false
            handler.idleSince = handler.calls.isEmpty ? now : nil
            lane.resume(wake, handler, at: now)
            if handler.isStopping {
                effects.append(.stopHandler(wake))
            } else if handler.calls.isEmpty {
                effects.append(.releaseHandler(wake))
            }
        }
        noteChange(of: app)
        lanes[app] = lane
        for call in calls {
            effects += restorePlace(of: call, at: now)
        }
        effects += startWaiting(of: app, at: now)
        if lanes[app]?.isEmpty == true { lanes[app] = nil }
        return effects
    }

    private mutating func restorePlace(of call: Call, at now: BootInstant) -> [Effect] {
        let (app, key) = (call.key.app, call.key)
        if let wake = call.handler, lanes[app]?.handlers[wake]?.calls.contains(key) != true {
            return handlerLost(call, at: now)
        }
        if call.handler == nil, call.machine.claimBy != nil {
            waitForClaim(call, at: now)
        } else if case .queued = call.machine.state, lanes[app]?.waiting.contains(key) != true {
            return wait(call, at: now)
        } else if case .confirmed = call.machine.state {
            // Only now that it keeps its handler, or needs none: the answer must not be taken for that to a later ring.
            return [.journalRing(call.journalRecord)]
        }
        return []
    }

    /// The call's handler did not outlive the daemon. The call waits for another one, or is over.
    private mutating func handlerLost(_ call: Call, at now: BootInstant) -> [Effect] {
        let key = call.key
        if call.isOneAttempt, [.woken, .reported, .confirmed].contains(call.machine.state.name) {
            return settle(key, at: now) { machine throws(CallStateMachine.Refusal) in
                machine.abandon(
                    .expired, "its handler ended with ringwaked before it rang, and its sender allowed one attempt only"
                )
            }
        }
        let effects = settle(key, at: now) { machine throws(CallStateMachine.Refusal) in
            machine.handlerLostAtRestart(at: now)
        }
        return requeue(key, at: now) ?? effects
    }
}
