// A conference: calls of one handler, which mixes them, so that all hear each other. They are held, resumed and muted
// together, share one audio session (``CallAudioNeeds/Focus``), and end one by one. All have the same number in
// ``Call/conference``.

extension CallEngine {
    /// The other calls of this call's conference, the oldest first.
    func others(inConferenceOf call: Call) -> [Call] {
        guard call.conference != nil else { return [] }
        return calls.inOrder { $0.key != call.key && $0.isInConference(with: call) }
    }

    /// Asks the call's handler to mix it with another one. One of the two must be connected: no third call is held for it.
    mutating func merge(_ key: CallKey, with other: CallID, by wake: WakeID?, at now: BootInstant) -> [Effect] {
        if let refusal = refusalToMerge(key, with: CallKey(app: key.app, id: other), by: wake) {
            return [.refused(refusal)]
        }
        guard let call = calls.active[key], let partner = calls.active[CallKey(app: key.app, id: other)],
            !call.isInConference(with: partner)
        else { return [] }
        return settle(key, at: now, by: wake) { machine throws(Refusal) in try machine.merge(with: other, at: now) }
    }

    private func refusalToMerge(_ key: CallKey, with other: CallKey, by wake: WakeID?) -> EventRefusal? {
        guard let call = calls[key] else { return .unknownCall(key) }
        guard let partner = calls[other] else { return .unknownCall(other) }
        guard wake == nil || call.handler == wake else { return .notOwned(key) }
        for call in [call, partner] {
            guard [.connected, .held].contains(call.machine.state.name), key != other else {
                return .wrongState(call.key, call.machine.state)
            }
            guard call.machine.lease == .taken else { return .unclaimed(call.key) }
            guard call.update.supportsMerge == true else { return .unsupported(call.key, .merge) }
        }
        guard call.handler == partner.handler else { return .otherHandler(other) }
        guard [call, partner].contains(where: { $0.machine.state.name == .connected }) else {
            return .wrongState(key, call.machine.state)
        }
        // What waits for other calls does not know of one that comes back meanwhile.
        if let request { return .alreadyAsked(request.call, request.action) }
        if isCellularActive, call.policy.whenCellular != .keep { return .cellularCall(key) }
        for member in [call, partner] + others(inConferenceOf: call) + others(inConferenceOf: partner) {
            for asked in [CallAction.hold, .unhold] where member.machine.isAsked(asked) {
                return .alreadyAsked(member.key, asked)
            }
        }
        return wake == nil ? nil : refusalToOpenMicrophone(of: call)
    }

    /// Why the call can't be held now: its conference is held as a whole, and not while another call joins it.
    func refusalToHold(_ key: CallKey) -> Effect? {
        guard let call = calls.active[key] else { return nil }
        let members = [call] + others(inConferenceOf: call)
        for member in members where member.key == key || member.machine.state.name == .connected {
            if let refusal = unsupported(.hold, in: member.key) { return refusal }
        }
        let joining = calls.inOrder { other in
            other.key.app == key.app && other.machine.pending.contains { $0.action == .merge }
        }
        let isPart = { (other: Call) in
            members.contains { member in
                member.key == other.key || other.machine.pending.contains { $0.with == member.key.id }
            }
        }
        return joining.first(where: isPart).map { .refused(.alreadyAsked($0.key, .merge)) }
    }

    /// A call has ended that others were to be merged with.
    mutating func withdrawMerges(with key: CallKey, at now: BootInstant) -> [Effect] {
        // Of the few that are connected or held: this is asked at the end of every call.
        calls.mayNeedAudio.filter { call in
            call.key.app == key.app && call.machine.pending.contains { $0.action == .merge && $0.with == key.id }
        }.flatMap { settle($0.key, at: now) { $0.withdrawMerge() } }
    }

    /// The handler has mixed the call with the other one.
    mutating func fulfillMerge(_ key: CallKey, by wake: WakeID?, at now: BootInstant) -> [Effect] {
        guard let call = calls.active[key], wake == nil || call.handler == wake,
            let asked = call.machine.pending.first(where: { $0.action == .merge })
        else {
            // A handler says it again if it got no answer.
            if let call = calls.active[key], !others(inConferenceOf: call).isEmpty, !call.machine.actions.hasLostMerge {
                return []
            }
            return settle(key, at: now, by: wake) { machine throws(Refusal) in try machine.fulfill(.merge, at: now) }
        }
        var members = [call]
        if let partner = asked.with.flatMap({ calls.active[CallKey(app: key.app, id: $0)] }), call.canMix(partner),
            !call.isInConference(with: partner)
        {
            members += [partner] + others(inConferenceOf: partner) + others(inConferenceOf: call)
        }
        let conference = members.count == 1 ? nil : (calls.active.values.compactMap(\.conference).max() ?? 0) &+ 1
        // Those that come to be heard are stored last: after a crash in between, no two are heard outside a conference.
        let isHeld = { (call: Call) in call.machine.state.name == .held }
        return (members.filter { !isHeld($0) } + members.filter(isHeld)).flatMap { member -> [Effect] in
            let joined = conference.flatMap { number in calls.change(member.key) { $0.join(number) } }
            let heard = settle(member.key, at: now) { machine throws(Refusal) in
                member.key == key ? try machine.fulfill(.merge, at: now) : machine.merged(at: now)
            }
            return heard.isEmpty ? joined.map { [.callChanged($0)] } ?? [] : heard
        }
    }

    /// Does to the other calls of a conference what was done to one. What a call's handler can't do in it stays undone.
    mutating func doToOthers(
        inConferenceOf key: CallKey, at now: BootInstant,
        _ input: (inout CallStateMachine) throws(Refusal) -> [CallStateMachine.Output]
    ) -> [Effect] {
        guard let call = calls.active[key] else { return [] }
        return others(inConferenceOf: call).flatMap { settle($0.key, at: now, input) }.filter { !$0.isRefusal }
    }

    /// A call has left the conference: one call alone is none.
    mutating func dissolve(_ conference: Int64) -> [Effect] {
        let left = calls.inOrder { $0.conference == conference }
        guard left.count == 1, let last = left.first else { return [] }
        return calls.change(last.key) { $0.join(nil) }.map { [.callChanged($0)] } ?? []
    }

    /// A handler has claimed the call. If another one has the rest of its conference, nobody mixes them any more: the
    /// call leaves it, and is held if others are heard.
    mutating func leaveConferenceOfOthers(_ key: CallKey, at now: BootInstant) -> [Effect] {
        guard let call = calls.active[key], let conference = call.conference else { return [] }
        let others = others(inConferenceOf: call)
        guard others.contains(where: { $0.handler != call.handler && $0.machine.lease == .taken }),
            let left = calls.change(key, { $0.join(nil) })
        else { return [] }
        let isInTheWay = others.contains { $0.machine.isOnTheLine }
        return [.callChanged(left)] + (isInTheWay ? settle(key, at: now) { $0.setAside() } : []) + dissolve(conference)
    }
}

extension Call {
    func isInConference(with other: Call) -> Bool { conference != nil && conference == other.conference }

    /// Whether one handler has both, and they are there to be mixed.
    fileprivate func canMix(_ other: Call) -> Bool {
        handler == other.handler
            && [self, other].allSatisfy {
                $0.machine.lease == .taken && [.connected, .held].contains($0.machine.state.name)
            }
    }
}
