// What the journal says: that a push or a ring is durable, and which calls ended before.
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
        file(Call(record, [], AppPolicy()))
        nextCallNumber = max(nextCallNumber, record.number + 1)
    }
}
