// Several calls at a time: what is answered or gone on with waits until the others are held or ended, and a cellular call
// holds all of ours.
extension CoordinatorStateMachine {
    /// What the user asked of a call, which is done when the others are out of the way.
    struct Waiter: Hashable, Sendable {
        let key: CallKey
        /// `answer` or `unhold`.
        let action: CallAction
        /// The calls that are being held or ended.
        let others: [CallKey]
    }

    /// Deadlines that lie together may be met together, a little late.
    private static let waitMargin = Duration.seconds(1)

    mutating func answer(_ key: CallKey, others: OtherCalls?, at now: BootInstant) -> [Effect] {
        guard let call = call(key) else { return [.refused(.unknownCall(key))] }
        guard case .ringing = call.machine.state else { return [.refused(.wrongState(key, call.machine.state))] }
        guard call.machine.lease == .taken || !isStruckOut(key.app) else { return [.refused(.struckOut(key.app))] }
        return clearTheWay(for: call, .answer, others ?? call.policy.others, at: now)
    }

    mutating func hold(_ key: CallKey, at now: BootInstant) -> [Effect] {
        if let waiter, waiter.key == key { return [.refused(.alreadyAsked(key, waiter.action))] }
        return settle(key, at: now) { machine throws(CallStateMachine.Refusal) in try machine.hold(at: now) }
    }

    mutating func unhold(_ key: CallKey, others: OtherCalls?, at now: BootInstant) -> [Effect] {
        guard let call = call(key) else { return [.refused(.unknownCall(key))] }
        // Whether it can be done at all is seen before any other call is disturbed.
        var trial = call.machine
        do {
            if try trial.unhold(at: now).isEmpty { return [] }
        } catch {
            return [.refused(EventRefusal(error, key))]
        }
        return clearTheWay(for: call, .unhold, others ?? call.policy.others, at: now)
    }

    /// Has the others held or ended, and makes the call wait for that; with none in the way it goes on at once.
    private mutating func clearTheWay(
        for call: Call, _ action: CallAction, _ others: OtherCalls, at now: BootInstant
    ) -> [Effect] {
        if let waiter {
            return [.refused(waiter.key == call.key ? .alreadyAsked(call.key, action) : .othersStay(call.key))]
        }
        let inTheWay = active.values.filter { $0.key != call.key && $0.machine.isOnTheLine }
            .sorted { $0.number < $1.number }
        guard others == .end || inTheWay.allSatisfy(\.machine.canBeHeld) else {
            return [.refused(.othersStay(call.key))]
        }
        waiter = Waiter(key: call.key, action: action, others: inTheWay.map(\.key))
        // The others' own deadlines end the waiting; the ring's is not to come before.
        let latest = inTheWay.map { now.advanced(by: $0.machine.deadlines.action + Self.waitMargin) }.max()
        let ringsOn = latest.map { latest in
            settle(call.key, at: now) { machine throws(CallStateMachine.Refusal) in machine.ringOn(until: latest) }
        }
        return (ringsOn ?? [])
            + inTheWay.flatMap { other -> [Effect] in
                guard others == .hold else {
                    return settle(other.key, at: now, noting: .hungUp) { machine throws(CallStateMachine.Refusal) in
                        try machine.end(at: now)
                    }
                }
                guard !other.machine.isAsked(.hold) else { return [] }
                return settle(other.key, at: now) { machine throws(CallStateMachine.Refusal) in
                    try machine.hold(at: now)
                }
            }
    }

    /// The call that waits goes on once the others are held or over. When one of them stays, nothing comes of it.
    mutating func proceed(at now: BootInstant) -> [Effect] {
        guard let waiter else { return [] }
        guard let call = active[waiter.key], call.machine.state.name == (waiter.action == .answer ? .ringing : .held)
        else {
            // It is over.
            self.waiter = nil
            return []
        }
        let others = waiter.others.compactMap { active[$0]?.machine }
        if others.contains(where: { $0.isOnTheLine && !$0.isAsked(.hold) }) {
            self.waiter = nil
            return [.othersStayed(call.key)]
        }
        let isDone = others.allSatisfy { !$0.isOnTheLine && $0.state.name != .ending }
        guard isDone else { return [] }
        self.waiter = nil
        let effects: [Effect]
        if waiter.action == .answer {
            effects = settle(call.key, at: now, noting: .answered) { machine throws(CallStateMachine.Refusal) in
                try machine.answer(at: now)
            }
        } else {
            effects = settle(call.key, at: now) { machine throws(CallStateMachine.Refusal) in
                try machine.unhold(at: now)
            }
        }
        guard !effects.contains(where: { if case .refused = $0 { true } else { false } }) else {
            return [.othersStayed(call.key)]
        }
        return effects + startWaiting(of: call.key.app, at: now) + tellTaker(of: call.key)
    }

    /// A call that was answered without a handler waits for the one that runs: that is to fetch it.
    private func tellTaker(of key: CallKey) -> [Effect] {
        guard let lane = lanes[key.app], lane.waiting.contains(key), let taker = lane.taker else { return [] }
        return [.pushWaits(taker, key, .claim)]
    }

    mutating func cellularChanged(_ isActive: Bool, at now: BootInstant) -> [Effect] {
        guard isActive != isCellularActive else { return [] }
        isCellularActive = isActive
        return active.values.sorted { $0.number < $1.number }.flatMap { call -> [Effect] in
            guard isActive else {
                return settle(call.key, at: now) { machine throws(CallStateMachine.Refusal) in machine.yieldNoMore() }
            }
            switch call.policy.whenCellular {
            case .keep: return []
            case .hold:
                return settle(call.key, at: now) { machine throws(CallStateMachine.Refusal) in machine.yield(at: now) }
            case .end:
                guard call.machine.isOnTheLine else { return [] }
                return settle(call.key, at: now) { machine throws(CallStateMachine.Refusal) in
                    try machine.end(at: now)
                }
            }
        }
    }
}

extension CallStateMachine {
    /// Whether the person talks in it, or is about to.
    var isOnTheLine: Bool {
        switch state {
        case .answering, .connected: true
        case .held: isAsked(.unhold)
        case .queued, .woken, .reported, .confirmed, .ringing, .ending, .ended: false
        }
    }

    /// Whether its handler can be asked to hold it, or has been.
    fileprivate var canBeHeld: Bool {
        guard case .connected = state else { return false }
        return lease == .taken || isAsked(.hold)
    }
}
