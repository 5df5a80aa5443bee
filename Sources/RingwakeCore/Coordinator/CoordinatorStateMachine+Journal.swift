// What the journal says: that a push or a ring is durable, and what the last run left.
extension CoordinatorStateMachine {
    mutating func pushJournaled(
        _ key: CallKey, number: Int64, isKnown: Bool, at now: BootInstant
    ) -> [Effect] {
        guard var call = call(key), call.number == number else { return [] }
        guard !isKnown else { return forget(call, at: now) }
        call.note(.journaled, at: now)
        file(call)
        return []
    }

    mutating func ringJournaled(
        _ key: CallKey, number: Int64, isKnown: Bool, at now: BootInstant
    ) -> [Effect] {
        guard let call = active[key], call.number == number else { return [] }
        guard !isKnown else { return forget(call, at: now) }
        return settle(key, at: now) { machine throws(CallStateMachine.Refusal) in machine.ringJournaled(at: now) }
    }

    mutating func ringNotJournaled(_ key: CallKey, number: Int64, at now: BootInstant) -> [Effect] {
        guard let call = active[key], call.number == number else { return [] }
        return settle(key, at: now) { machine throws(CallStateMachine.Refusal) in machine.ringNotJournaled(at: now) }
    }

    /// The journal had a call of this name long before: the push was a late repeat. Its handler was woken in vain,
    /// and nobody else hears of it.
    private mutating func forget(_ call: Call, at now: BootInstant) -> [Effect] {
        guard !call.machine.hasEnded else { return [] }
        var effects = settle(call.key, at: now) { machine throws(CallStateMachine.Refusal) in
            machine.abandon(.cancelled, "it repeats a call that had ended")
        }
        effects.removeAll { if case .callMissed = $0 { true } else { false } }
        return effects + dismissHandlerIfIdle(call.handler, of: call.key.app, at: now)
    }

    /// A call that had not ended when the daemon last did. What never rang is delivered once more if it is still in
    /// time; what rang is not rung again.
    mutating func recover(_ recovered: RecoveredCall, _ policy: AppPolicy?, at now: BootInstant) -> [Effect] {
        let record = recovered.record
        guard call(record.key) == nil else { return [] }
        guard record.state != .ended else {
            remember([record])
            return []
        }
        nextCallNumber = max(nextCallNumber, record.number + 1)
        var deadlines = policy?.deadlines ?? CallDeadlines()
        deadlines.ring = record.ringTime
        let machine = CallStateMachine(deadlines: deadlines, ringBefore: record.ringBefore)
        var call = Call(record, payload: recovered.payload, policy: policy ?? AppPolicy(), machine: machine)
        // When it was journaled may not have been written down any more; that it was is sure.
        call.note(.journaled, at: now)
        file(call)
        if let (reason, detail) = end(of: recovered, hasPolicy: policy != nil, at: now) {
            return settle(call.key, at: now) { machine throws(CallStateMachine.Refusal) in
                machine.abandon(reason, detail)
            }
        }
        return policy.map { admit(call.key, $0, at: now) } ?? []
    }

    /// Why a recovered call is over; nil when it is to be delivered again.
    private func end(
        of recovered: RecoveredCall, hasPolicy: Bool, at now: BootInstant
    ) -> (CallEndReason, String)? {
        let record = recovered.record
        switch record.state {
        case .ending:
            return (record.reason ?? .localEnded, "ringwaked stopped before its handler had ended it")
        case .answering, .connected, .held:
            return (.failed, "ringwaked stopped during the call")
        case _ where record.hasRung:
            return (.unanswered, "ringwaked stopped while it rang")
        default:
            break
        }
        if record.isOneAttempt {
            return (.expired, "ringwaked stopped before it rang, and its sender allowed one attempt only")
        }
        if recovered.payload.isEmpty {
            return (.failed, "the journal has no payload to deliver again")
        }
        if !recovered.isTimeKnown {
            return (.expired, "the machine was restarted, and its clock does not show how long that took")
        }
        if record.ringBefore <= now {
            return (.expired, "ringwaked stopped before it rang, and started after its expiration")
        }
        return hasPolicy ? nil : (.handlerFailed, "its app is not configured any more")
    }

    /// Calls that had ended when the daemon last did, so that their pushes' repeats are known; the oldest first.
    package mutating func remember(_ records: [CallRecord]) {
        for record in records where call(record.key) == nil { fileEnded(record) }
    }

    /// What the journal has of a call that only a late repeat brought to mind: it takes the place of what stood for it.
    package mutating func correct(_ record: CallRecord) {
        guard active[record.key] == nil else { return }
        fileEnded(record)
    }

    private mutating func fileEnded(_ record: CallRecord) {
        guard record.state == .ended else { return }
        var machine = CallStateMachine(deadlines: CallDeadlines(), ringBefore: record.ringBefore)
        _ = machine.abandon(record.reason ?? .failed, record.detail)
        var call = Call(record, payload: [], policy: AppPolicy(), machine: machine)
        call.dropPayloads()
        file(call)
        nextCallNumber = max(nextCallNumber, record.number + 1)
    }
}
