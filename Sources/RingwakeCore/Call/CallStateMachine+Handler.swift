// What the handler's side does.
extension CallStateMachine {
    /// A handler was asked to start for the call, or has fetched it.
    package mutating func wake(at now: BootInstant) throws(Refusal) -> [Output] {
        guard case .queued = state else { throw refusal() }
        return enter(.woken(reportBy: now.advanced(by: deadlines.report)))
    }

    /// The handler reported the call: provisional, it does not ring yet.
    package mutating func report(at now: BootInstant) throws(Refusal) -> [Output] {
        guard case .woken = state else { throw refusal() }
        return enter(.reported(confirmBy: now.advanced(by: deadlines.report)))
    }

    /// The handler reported the call, and now that more is known of it, it is kept out.
    package mutating func restrict(_ reason: CallEndReason, _ detail: String) throws(Refusal) -> [Output] {
        guard case .woken = state else { throw refusal() }
        return enter(.ended(reason, detail: detail))
    }

    /// The handler reported or confirmed the call while another one goes on: it is to tell the caller that the line is
    /// busy.
    package mutating func reject(at now: BootInstant) throws(Refusal) -> [Output] {
        switch state {
        case .woken, .reported: return askToEnd(.busy, at: now)
        default: throw refusal()
        }
    }

    /// The handler confirmed the reported call: it rings once the journal has it, unless it expired.
    package mutating func confirmRing(at now: BootInstant) throws(Refusal) -> [Output] {
        guard case .reported = state else { throw refusal() }
        guard now < ringBefore else { return enter(.ended(.expired, detail: nil)) }
        return enter(.confirmed(by: now.advanced(by: deadlines.report), retryAt: nil)) + [.journalRing]
    }

    /// The journal has it that the call rings, so now it does, unless it expired meanwhile. What the journal says of
    /// a call that moved on meanwhile changes nothing.
    package mutating func ringJournaled(at now: BootInstant) -> [Output] {
        guard case .confirmed = state else { return [] }
        guard now < ringBefore else { return enter(.ended(.expired, detail: nil)) }
        return enter(.ringing(until: now.advanced(by: deadlines.ring)))
    }

    /// The journal failed to record the ring; it is asked again as long as there is time.
    package mutating func ringNotJournaled(at now: BootInstant) -> [Output] {
        guard case .confirmed(let deadline, _) = state else { return [] }
        state = .confirmed(by: deadline, retryAt: now.advanced(by: CallStateMachine.journalRetry))
        return []
    }

    /// The handler did what it was asked to.
    package mutating func fulfill(_ action: CallAction, at now: BootInstant) throws(Refusal) -> [Output] {
        switch (state, action) {
        case (.answering, .answer):
            try checkClaimed()
            return enter(.connected(until: now.advanced(by: deadlines.connected))) + yieldIfDue(at: now)
        case (.ending(let reason, _), .end):
            return enter(.ended(reason, detail: nil))
        case (.connected(let until), .hold):
            try drop(action)
            return enter(.held(until: until))
        case (.held(let until), .unhold):
            try drop(action)
            return enter(.connected(until: until)) + yieldIfDue(at: now)
        case (.connected, .mute), (.held, .mute), (.connected, .unmute), (.held, .unmute):
            try drop(action)
            isMuted = action == .mute
            return [.changed]
        case (.connected, .dtmf), (.held, .dtmf):
            try drop(action)
            return [.changed]
        default:
            throw refusal()
        }
    }

    /// The handler could not do what it was asked to. An answer that fails ends the call; so does an end. After any
    /// other action the call goes on as it was.
    package mutating func fail(_ action: CallAction) throws(Refusal) -> [Output] {
        switch (state, action) {
        case (.answering, .answer):
            try checkClaimed()
            return enter(.ended(.failed, detail: "the handler could not answer"))
        case (.ending(let reason, _), .end):
            return enter(.ended(reason, detail: "the handler could not end it in good order"))
        case (.connected, _), (.held, _):
            try drop(action)
            // A call that could not go on stays held, so there is nothing to hold.
            if action == .unhold { yields = false }
            return [.changed]
        default:
            throw refusal()
        }
    }

    /// The handler said that the call is over, for a reason on the other side.
    package mutating func remoteEnded(_ reason: CallEndReason) throws(Refusal) -> [Output] {
        switch state {
        case .queued, .woken, .reported, .confirmed, .ringing, .answering, .connected, .held:
            return enter(.ended(reason, detail: nil))
        case .ending(let reason, _):
            return enter(.ended(reason, detail: nil))
        case .ended:
            throw refusal()
        }
    }

    /// Takes the oldest action of this kind from those that are owed.
    private mutating func drop(_ action: CallAction) throws(Refusal) {
        guard let index = pending.firstIndex(where: { $0.action == action }) else { throw refusal() }
        try checkClaimed()
        pending.remove(at: index)
    }

    private func checkClaimed() throws(Refusal) {
        guard case .taken = lease else { throw refusal(.unclaimed) }
    }

    mutating func askToEnd(_ reason: CallEndReason, at now: BootInstant) -> [Output] {
        let deadline = now.advanced(by: deadlines.action)
        return enter(.ending(reason, fulfillBy: deadline)) + [.request(PendingAction(.end, by: deadline))]
    }
}

// MARK: - Losing and finding a handler

extension CallStateMachine {
    /// The handler's process did not start or is gone: it was the lease on the call. What rings or goes on may be claimed
    /// by another one for a while; what has not rung is missed, or rings by itself, as `fallback` says.
    package mutating func handlerGone(
        _ failure: HandlerFailure, _ detail: String, fallback: CallFallback, at now: BootInstant
    ) -> [Output] {
        switch state {
        case .woken, .reported, .confirmed:
            guard lease == .taken else { return [] }
            return fallBack(fallback, detail, at: now) + [.strike(failure)]
        case .ringing, .answering, .connected, .held:
            guard loseLease(at: now) else { return [] }
            return [.changed, .strike(failure)]
        case .ending(let reason, _):
            return enter(.ended(reason, detail: nil))
        case .queued, .ended:
            return []
        }
    }

    /// Its handler left, and may never have seen it: it waits for another one.
    package mutating func reassign() -> [Output] {
        guard case .woken = state, lease == .taken else { return [] }
        return enter(.queued)
    }

    /// False when no handler had it. A second loss gives no more time than the first.
    private mutating func loseLease(at now: BootInstant) -> Bool {
        switch lease {
        case .taken: lease = .lost(claimBy: now.advanced(by: deadlines.claim))
        case .offered(let deadline): lease = .lost(claimBy: deadline)
        case .lost, .absent: return false
        }
        return true
    }

    /// The handler failed before the call rang: it is over, or the daemon makes it ring if there is time.
    mutating func fallBack(_ fallback: CallFallback, _ detail: String, at now: BootInstant) -> [Output] {
        guard fallback == .ring, now < ringBefore else { return enter(.ended(.handlerFailed, detail: detail)) }
        lease = .absent
        // The journal has been asked already, or will be again.
        if case .confirmed = state { return [.changed] }
        return enter(.confirmed(by: now.advanced(by: deadlines.report), retryAt: nil)) + [.journalRing]
    }

    /// No handler is started for the call.
    package mutating func withhold(
        _ fallback: CallFallback, _ detail: String, at now: BootInstant
    ) throws(Refusal) -> [Output] {
        guard case .queued = state else { throw refusal() }
        return fallBack(fallback, detail, at: now)
    }

    /// A handler has been given the call to claim. Changes nothing of a call that has one.
    package mutating func offer() -> [Output] {
        guard case .lost(let deadline) = lease else { return [] }
        lease = .offered(claimBy: deadline)
        return [.changed]
    }

    /// A handler takes over the call that lost its own, and with it all that was owed.
    package mutating func claim(at now: BootInstant) throws(Refusal) -> [Output] {
        guard claimBy != nil else { throw refusal() }
        lease = .taken
        let requests = owed.map { Output.request($0) }
        return [.changed] + requests + yieldIfDue(at: now)
    }

    /// The daemon starts again within the same boot. Whatever the handler owes it owes from now on anew: nobody listened
    /// to it meanwhile. What the person waits for goes on as it was. One that is to ring does when the journal has been
    /// asked again.
    package mutating func restored(at now: BootInstant) {
        let actBy = now.advanced(by: deadlines.action)
        pending = pending.map { PendingAction($0.action, digits: $0.digits, by: max($0.by, actBy)) }
        let claimBy = now.advanced(by: deadlines.claim)
        switch lease {
        case .lost(let deadline): lease = .lost(claimBy: max(deadline, claimBy))
        case .offered(let deadline): lease = .offered(claimBy: max(deadline, claimBy))
        case .taken, .absent: break
        }
        switch state {
        case .woken: state = .woken(reportBy: now.advanced(by: deadlines.report))
        case .reported: state = .reported(confirmBy: now.advanced(by: deadlines.report))
        case .answering: state = .answering(fulfillBy: actBy)
        case .ending(let reason, _): state = .ending(reason, fulfillBy: actBy)
        case .confirmed: state = .confirmed(by: now.advanced(by: deadlines.report), retryAt: nil)
        case .queued, .ringing, .connected, .held, .ended: break
        }
    }

    /// After a restart its handler is not found any more. Nobody knows why, so it is no strike: what never rang waits for
    /// another handler, what rings or goes on may be claimed, what was ending has ended.
    package mutating func handlerLostAtRestart(at now: BootInstant) -> [Output] {
        switch state {
        case .woken, .reported, .confirmed:
            return lease == .taken ? enter(.queued) : []
        case .ringing, .answering, .connected, .held:
            return loseLease(at: now) ? [.changed] : []
        case .ending(let reason, _):
            return enter(.ended(reason, detail: nil))
        case .queued, .ended:
            return []
        }
    }
}
