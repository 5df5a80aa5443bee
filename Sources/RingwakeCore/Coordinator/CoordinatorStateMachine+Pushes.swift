// A push arrives: what it means for its call.
extension CoordinatorStateMachine {
    mutating func receive(
        _ push: VerifiedPush, _ facts: PushFacts, _ policy: AppPolicy, _ restriction: Restriction?,
        at now: BootInstant
    ) -> [Effect] {
        let key = key(of: push, facts)
        if let call = call(key), let before = call.pushes.outcome(ofRepeated: push, isCancel: facts.cancel != nil) {
            return again(push, call, before)
        }
        switch (call(key), facts.cancel) {
        case (let call?, let reason?):
            return cancel(call, reason, push, at: now)
        case (let call?, nil):
            return call.machine.hasEnded ? ignore(push, call, .duplicate) : update(call, push, facts, at: now)
        case (nil, _?) where facts.call == nil:
            // It names no call: there is nothing to take back.
            let record = PushRecord(push, call: key.id, outcome: .tooLate)
            return [.journalPush(record, payloads: [], call: nil), .pushIgnored(push, key, .tooLate)]
        case (nil, let reason?):
            return start(key, push, facts, policy, restriction, at: now, outcome: .cancelled) { machine in
                machine.abandon(reason, "it was taken back before it came")
            }
        case (nil, nil):
            if let restriction {
                return start(key, push, facts, policy, restriction, at: now, outcome: .restricted) { machine in
                    machine.abandon(restriction.endReason, restriction.detail)
                }
            }
            guard now < ringBefore(push, facts, policy) else {
                return start(key, push, facts, policy, nil, at: now, outcome: .expired) { machine in
                    machine.abandon(.expired, Self.lateness(push, facts))
                }
            }
            guard hasRoom(for: push.app) else { return [.refused(.tooManyCalls(push.app))] }
            let outcome: PushOutcome = isStruckOut(push.app) ? .withheld : .started
            return start(key, push, facts, policy, nil, at: now, outcome: outcome) { _ in [] }
        }
    }

    /// Whether one more call, and one more handler, may be. Handlers live on for a while after their calls.
    private func hasRoom(for app: AppID) -> Bool {
        let calls = active.keys.count { $0.app == app }
        guard active.count < limits.activeCalls, calls < limits.activeCallsOfAnApp else { return false }
        let handlers = lanes.values.reduce(0) { $0 + $1.handlers.count }
        return handlers < limits.activeCalls && lanes[app]?.handlers.count ?? 0 < limits.activeCallsOfAnApp
    }

    /// The call that a push is about. A sender of another team cannot mean a call of this one, whatever id it
    /// writes: else one vendor could suppress or end another's call.
    package func key(of push: VerifiedPush, _ facts: PushFacts) -> CallKey {
        // An apns-id is a UUID, the same in either case (RFC 9562 section 4).
        let id = facts.call ?? CallID(push.apnsID.lowercased())
        var key = CallKey(app: push.app, id: id)
        // More than once only when a team has guessed such a name; the length of an id bounds how often.
        while let known = call(key), known.team != push.sender.team {
            key = CallKey(app: push.app, id: CallID("\(key.id)~\(push.sender.team)"))
        }
        return key
    }

    /// From when on the call must not start to ring. Without `apns-expiration` a VoIP push is worth delivering for
    /// the time that it would ring, not for 30 days.
    private func ringBefore(_ push: VerifiedPush, _ facts: PushFacts, _ policy: AppPolicy) -> BootInstant {
        if case .at(let instant) = push.expiration { return instant }
        return (facts.sentAt ?? push.receivedAt).advanced(by: facts.ringTime ?? policy.deadlines.ring)
    }

    /// Why a push is too late, for a person.
    private static func lateness(_ push: VerifiedPush, _ facts: PushFacts) -> String {
        if case .at = push.expiration { return "its push came after its expiration" }
        let age = (facts.sentAt ?? push.receivedAt).duration(to: push.receivedAt).milliseconds / 1000
        return "its payload says that it was sent \(age) s before it came, and that is longer than it would ring"
    }

    /// A call that was not known. `ending` ends it where it is over already.
    private mutating func start(
        _ key: CallKey, _ push: VerifiedPush, _ facts: PushFacts, _ policy: AppPolicy, _ restriction: Restriction?,
        at now: BootInstant, outcome: PushOutcome, ending: (inout CallStateMachine) -> [CallStateMachine.Output]
    ) -> [Effect] {
        var deadlines = policy.deadlines
        deadlines.ring = facts.ringTime ?? deadlines.ring
        var machine = CallStateMachine(deadlines: deadlines, ringBefore: ringBefore(push, facts, policy))
        let isOver = !ending(&machine).isEmpty
        var call = Call(
            number: nextCallNumber, key: key, push: push, outcome: outcome, update: facts.update, policy: policy,
            machine: machine)
        call.restriction = restriction
        nextCallNumber += 1
        if isOver {
            call.pushes.dropAll()
            call.note(.ended, at: now)
        }
        file(call)
        var effects: [Effect] = []
        if isOver {
            effects = [.callChanged(call)]
            if let restriction { effects.append(.restricted(key, restriction)) }
            if call.isToBeToldAsMissed { effects.append(.callMissed(call)) }
        } else {
            effects = admit(key, policy, at: now)
        }
        // After the wake, which must not wait, and before anyone hears of it.
        let record = PushRecord(push, call: key.id, outcome: outcome)
        let journaled = (self.call(key) ?? call).journalRecord
        let journal = Effect.journalPush(
            record, payloads: isOver ? [] : [CallPayload(push: 0, bytes: push.payload)], call: journaled)
        let wakes = effects.prefix(while: \.isFirstWord)
        return wakes + [journal] + effects.dropFirst(wakes.count)
    }

    /// A push came again: perhaps it was answered 503, and then the repeat has to bring all that the journal needs.
    private func again(_ push: VerifiedPush, _ call: Call, _ before: PushOutcome) -> [Effect] {
        let isDurable = call.isJournaled && call.apnsID.lowercased() == push.apnsID.lowercased()
        let record = PushRecord(push, call: call.key.id, outcome: isDurable ? .duplicate : before)
        return [
            .journalPush(
                record, payloads: call.isJournaled ? [] : call.pushes.payloads,
                call: call.isJournaled ? nil : call.journalRecord),
            .pushIgnored(push, call.key, .duplicate),
        ]
    }

    /// A push that tells more about a call that runs.
    private mutating func update(
        _ known: Call, _ push: VerifiedPush, _ facts: PushFacts, at now: BootInstant
    ) -> [Effect] {
        // Not durable yet: perhaps its first push was answered 503.
        let adopts = !known.isJournaled
        let outcome: PushOutcome = adopts ? (known.pushes.wasWithheld ? .withheld : .started) : .updated
        var call = known
        call.update.merge(facts.update)
        call.pushes.keep(push, outcome)
        file(call)
        let record = PushRecord(push, call: call.key.id, outcome: outcome)
        let effects: [Effect] = [
            .journalPush(
                record, payloads: adopts ? call.pushes.payloads : call.pushes.newestPayload, call: call.journalRecord),
            .callChanged(call),
        ]
        return effects + tellHandler(of: call.key, at: now)
    }

    private mutating func cancel(
        _ known: Call, _ reason: CallEndReason, _ push: VerifiedPush, at now: BootInstant
    ) -> [Effect] {
        let effects = settle(known.key, at: now) { machine throws(CallStateMachine.Refusal) in
            try machine.cancel(reason)
        }
        guard var call = call(known.key), call.machine != known.machine else {
            return ignore(push, known, .tooLate)
        }
        call.pushes.note(push, .cancelled)
        file(call)
        let record = PushRecord(push, call: known.key.id, outcome: .cancelled)
        // Nothing has rung yet, so the handler has nothing to clean up; stop it.
        let stop = known.hasDisturbedNobody ? dismissHandlerIfIdle(known.handler, of: known.key.app, at: now) : []
        return [.journalPush(record, payloads: [], call: call.journalRecord)] + effects + stop
    }

    private func ignore(_ push: VerifiedPush, _ call: Call, _ outcome: PushOutcome) -> [Effect] {
        let record = PushRecord(push, call: call.key.id, outcome: outcome)
        return [
            .journalPush(record, payloads: [], call: call.isJournaled ? nil : call.journalRecord),
            .pushIgnored(push, call.key, outcome),
        ]
    }
}

extension Effect {
    /// Whether a handler hears of the call by it: that does not wait for the disk.
    fileprivate var isFirstWord: Bool {
        switch self {
        case .wake, .deliver: true
        default: false
        }
    }
}

extension Call {
    /// Whether it was given to a handler and nobody has noticed.
    fileprivate var hasDisturbedNobody: Bool {
        switch machine.state {
        case .woken, .reported, .confirmed: true
        case .queued, .ringing, .answering, .connected, .held, .ending, .ended: false
        }
    }
}
