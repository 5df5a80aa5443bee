// What time does.
extension CallStateMachine {
    /// Does what is due at `now`, the earliest first.
    ///
    /// - Parameter fallback: what becomes of a call whose handler was to act before it rings, and did not.
    package mutating func advance(to now: BootInstant, fallback: CallFallback) -> [Output] {
        var outputs: [Output] = []
        // Each turn takes a pending action away, or enters a state that comes later in the diagram.
        while let deadline = nextDeadline, deadline <= now {
            outputs += step(deadline, at: now, fallback)
        }
        return outputs
    }

    private mutating func step(_ deadline: BootInstant, at now: BootInstant, _ fallback: CallFallback) -> [Output] {
        if let late = pending.first(where: { $0.by == deadline }) { return giveUp(late) }
        if claimBy == deadline { return unclaimed() }
        switch state {
        case .queued:
            return enter(.ended(.expired, detail: "the app's handler was busy and did not fetch it in time"))
        case .woken(let limit), .reported(let limit):
            return giveUp(limit, at: now, fallback)
        case .confirmed(let limit, let retry):
            guard now < min(limit, ringBefore) else { return giveUp(limit, at: now, fallback) }
            state = .confirmed(by: limit, retryAt: nil)
            return retry == nil ? [] : [.journalRing]
        case .ringing:
            return enter(.ended(.unanswered, detail: nil))
        case .answering:
            let isCharged = lease == .taken
            return enter(.ended(.handlerFailed, detail: "the handler did not answer within \(deadlines.action)"))
                + (isCharged ? [.strike(.didNotAct), .stopHandler] : [])
        case .connected, .held:
            return enter(.ended(.failed, detail: "the call lasted longer than \(deadlines.connected)"))
        case .ending(let reason, _):
            return enter(.ended(reason, detail: "the handler did not end it within \(deadlines.action)"))
                + [.strike(.didNotAct), .stopHandler]
        case .ended:
            return []
        }
    }

    /// The handler of a call that goes on did not do this: the call goes on without. What was to be played after digits
    /// that were not is dropped with them.
    private mutating func giveUp(_ late: PendingAction) -> [Output] {
        if late.action == .dtmf {
            pending.removeAll { $0.action == .dtmf }
        } else if let index = pending.firstIndex(of: late) {
            pending.remove(at: index)
        }
        if late.action == .unhold { yields = false }
        // Without a handler there is nobody to charge.
        return [.changed] + (lease == .taken ? [.strike(.didNotAct)] : [])
    }

    /// The time to claim the call is over. A strike where a handler was given it; else nobody heard of it.
    private mutating func unclaimed() -> [Output] {
        let isOffered = if case .offered = lease { true } else { false }
        let detail =
            if case .answering(let deadline) = state, deadline == claimBy {
                "it had no handler, and none claimed it within \(deadlines.action)"
            } else {
                "its handler ended, and none claimed it within \(deadlines.claim)"
            }
        return enter(.ended(.handlerFailed, detail: detail)) + (isOffered ? [.strike(.didNotClaim), .stopHandler] : [])
    }

    /// Nobody was disturbed. What came first counts: the handler's time to do its part, which ended at `limit`, or the
    /// time that the call was worth ringing for.
    private mutating func giveUp(_ limit: BootInstant, at now: BootInstant, _ fallback: CallFallback) -> [Output] {
        guard limit < ringBefore else { return enter(.ended(.expired, detail: nil)) + [.stopHandler] }
        switch state {
        case .woken:
            let detail = "the handler did not report the call within \(deadlines.report)"
            return fallBack(fallback, detail, at: now) + [.strike(.didNotReport), .stopHandler]
        case .reported:
            let detail = "the handler did not confirm the call within \(deadlines.report)"
            return fallBack(fallback, detail, at: now) + [.strike(.didNotConfirm), .stopHandler]
        default:
            return enter(.ended(.failed, detail: "the journal could not record in time that it rings")) + [.stopHandler]
        }
    }
}
