import RingwakeCore

// Who does what.
extension SimulatedWorld {
    mutating func send() {
        if let again = refused.popLast() ?? (chance(0.3) ? pick(sent.suffix(12)) : nil) {
            apply(.pushReceived(copy(again.push), again.facts, policies[again.push.app] ?? AppPolicy()))
            return
        }
        pushCount += 1
        let (app, id) = (pick(SimulatedWorld.apps) ?? Scenario.app, Int.random(in: 0..<50, using: &random))
        let namesCall = chance(0.6)
        var facts = PushFacts(call: namesCall ? CallID("call-\(id)") : nil)
        if namesCall, chance(0.2) { facts.cancel = pick(CallEndReason.ofPushes.sorted { $0.rawValue < $1.rawValue }) }
        if chance(0.2) { facts.ringTime = .seconds(Int.random(in: 1..<60, using: &random)) }
        if chance(0.2) { facts.sentAt = now.advanced(by: .seconds(-Int.random(in: 0..<50, using: &random))) }
        if chance(0.3) { facts.update = CallUpdate(caller: "sip:\(pushCount)@example.org") }
        let expirations: [VerifiedPush.Expiration?] = [
            nil, nil, nil, nil, .oneAttempt, .at(now), .at(now.advanced(by: .seconds(3))),
            .at(now.advanced(by: .seconds(60))),
        ]
        let provenance = Provenance(
            sender: chance(0.85) ? "TEAM000001" : "TEAM000002", door: .apns(.production, .voip(of: app)))
        let push = VerifiedPush(
            pushID: namesCall ? "push-\(pushCount)" : "push-of-\(id)", app: app, provenance: provenance,
            priority: .immediate, expiration: pick(expirations) ?? nil,
            collapseID: chance(0.3) ? pick(["a", "b"]) : nil, payload: [123, 125], receivedAt: now, verifiedAt: now)
        sent.append(Sent(push: push, facts: facts))
        apply(.pushReceived(push, facts, policies[app] ?? AppPolicy(), restriction()))
    }

    /// The user calls somebody, or a handler does for the user.
    mutating func beginCall() {
        begunCount += 1
        let app = pick(SimulatedWorld.apps) ?? Scenario.app
        let wake = handlers.filter { $0.value.app == app && chance(0.3) }.keys.min()
        let key = CallKey(app: app, id: CallID("out-\(begunCount)-\(now.nanoseconds)"))
        let call = OutgoingCall(
            key, CallUpdate(caller: "sip:bob@example.org"), others: pick([nil, nil, .hold, .end]) ?? nil,
            wallClock: 0, isEmergency: chance(0.1))
        apply(.startRequested(call, policies[app] ?? AppPolicy(), by: wake))
    }

    /// What keeps a call out, if something does.
    private mutating func restriction() -> Restriction? {
        guard manners.restricts, chance(0.15) else { return nil }
        return Restriction(pick(Restriction.Kind.allCases) ?? .blocked, "kept out")
    }

    /// The push as it is when it comes again.
    private func copy(_ push: VerifiedPush) -> VerifiedPush {
        VerifiedPush(
            pushID: push.pushID.uppercased(), app: push.app, provenance: push.provenance, priority: push.priority,
            expiration: push.expiration, collapseID: push.collapseID,
            payload: push.payload, receivedAt: now, verifiedAt: now)
    }

    mutating func handlerActs() {
        if manners.connects, chance(0.02) {
            let app = pick(SimulatedWorld.apps) ?? Scenario.app
            return apply(.handlerConnected(app, nil, pid: 99, policies[app] ?? AppPolicy()))
        }
        guard let wake = pick(handlers.keys.sorted()), let handler = handlers[wake] else { return }
        guard handler.isRunning else {
            if chance(0.1) {
                apply(.handlerNotStarted(wake, why: "no such file"))
            } else {
                handlers[wake]?.isRunning = true
                apply(.handlerStarted(wake, pid: Int32(truncatingIfNeeded: wake.number)))
            }
            return
        }
        if handler.isToEnd, chance(0.4) { return leave(wake, handler) }
        if manners.connects, !handler.cameByItself, chance(0.05) {
            let event = Event.handlerConnected(handler.app, wake, pid: nil, policies[handler.app] ?? AppPolicy())
            return apply(handler.isConnected ? .handlerDisconnected(wake) : event)
        }
        if let asked = handler.asked.first, chance(0.7) {
            handlers[wake]?.asked.removeFirst()
            let fulfills = chance(0.8)
            apply(
                fulfills
                    ? .fulfilled(asked.key, asked.action, by: wake) : .actionFailed(asked.key, asked.action, by: wake))
            return
        }
        // What lost its handler comes first.
        if let lost = pick(handler.calls.filter { coordinator.active[$0]?.machine.claimBy != nil }), chance(0.6) {
            return apply(.claimed(lost, by: wake))
        }
        // Mostly of a call that runs: it heard of that end.
        let running = handler.calls.filter { coordinator.active[$0] != nil }
        guard let key = (chance(0.9) ? pick(running) : nil) ?? pick(handler.calls.suffix(3)) else {
            return apply(.pushesFetched(wake))
        }
        if coordinator.active[key]?.machine.isOutgoing == true, chance(0.6) {
            return apply(.progressed(key, pick(OutgoingCall.Progress.allCases) ?? .connected, by: wake))
        }
        switch Int.random(in: 0..<20, using: &random) {
        case 0..<3: apply(.pushesFetched(wake))
        case 3..<13:
            let restriction = restriction()
            var update = CallUpdate(callerName: "Al")
            update.supportsMerge = chance(0.7) ? true : nil
            apply(.reported(key, update, ring: chance(0.7), by: wake, restriction))
        case 13..<15: apply(.ringConfirmed(key, by: wake))
        case 15:
            let caller = "sip:\(Int.random(in: 0..<3, using: &random))@example.org"
            var update = CallUpdate(caller: caller, hasVideo: chance(0.5))
            update.supportsHold = pick([nil, true, false]) ?? nil
            update.supportsDTMF = pick([nil, true, false]) ?? nil
            update.supportsMerge = pick([nil, true, true, false]) ?? nil
            apply(.updated(key, update, by: wake))
        case 16:
            let reasons = CallEndReason.reportable.sorted { $0.rawValue < $1.rawValue }
            apply(.remoteEnded(key, pick(reasons) ?? .failed, by: wake))
        case 17: leave(wake, handler)
        // It hangs.
        default: break
        }
    }

    private mutating func leave(_ wake: WakeID, _ handler: Handler) {
        guard !handler.cameByItself else { return apply(.handlerDisconnected(wake)) }
        apply(.handlerExited(wake, handler.isToEnd ? .exited(0) : .signalled(9)))
    }

    mutating func userActs() {
        let calls = coordinator.active.values.sorted { $0.number < $1.number }
        let ringing = calls.filter { $0.machine.state.name == .ringing }
        let going = calls.filter { [.connecting, .connected, .held].contains($0.machine.state.name) }
        if let call = pick(going), chance(0.4) {
            // Now and then its app says so for the user.
            let wake = chance(0.3) ? call.handler : nil
            if chance(0.3), let other = pick(going.filter { $0.key.app == call.key.app }) {
                return apply(.mergeRequested(call.key, with: other.key.id, by: wake))
            }
            switch Int.random(in: 0..<8, using: &random) {
            case 0..<2: return apply(.holdRequested(call.key, true, by: wake))
            case 2..<4:
                return apply(.holdRequested(call.key, false, others: pick([nil, .hold, .end]) ?? nil, by: wake))
            case 4..<6: return apply(.muteRequested(call.key, chance(0.5), by: wake))
            default: return apply(.digitsRequested(call.key, chance(0.9) ? "12#" : "x", by: wake))
            }
        }
        guard let call = pick(ringing) ?? pick(calls) else { return }
        let (key, wake) = (call.key, chance(0.2) ? call.handler : nil)
        switch Int.random(in: 0..<10, using: &random) {
        case 0..<6: apply(.answerRequested(key, others: pick([nil, nil, .hold, .end]) ?? nil, by: wake))
        case 6..<8: apply(.declineRequested(key, by: wake))
        default: apply(.endRequested(key, by: wake))
        }
    }

    mutating func journalActs(failing probability: Double) {
        let count = chance(0.6) ? journal.waiting.count : Int.random(in: 0...journal.waiting.count, using: &random)
        guard chance(probability) else { return answer(journal.commit(count)) }
        let (events, pushes) = journal.fail(count)
        for push in pushes {
            let name = SimulatedJournal.PushName(push)
            refused += sent.filter { $0.push.app == name.app && $0.push.pushID.lowercased() == name.pushID }.suffix(1)
        }
        for event in events { apply(event) }
    }

    /// Anybody says anything of anything: handlers that do not exist, calls of others, numbers of long ago.
    mutating func strangerActs() {
        let wake = WakeID(number: UInt64.random(in: 0..<30, using: &random))
        let known =
            coordinator.finished.suffix(3).map(\.key)
            + coordinator.active.keys.sorted { $0.description < $1.description }
        let key = pick(known) ?? CallKey(app: Scenario.app, id: CallID("nobody"))
        let number = Int64.random(in: 0..<40, using: &random)
        let isNobody = handlers[wake] == nil
        switch Int.random(in: 0..<15, using: &random) {
        case 14: apply(.progressed(key, pick(OutgoingCall.Progress.allCases) ?? .dialled, by: chance(0.5) ? nil : wake))
        case 0: apply(.reported(key, CallUpdate(), ring: true, by: wake))
        case 1: apply(.ringConfirmed(key, by: wake))
        case 2: apply(.fulfilled(key, pick(CallAction.allCases) ?? .answer, by: chance(0.5) ? nil : wake))
        case 3: apply(.actionFailed(key, .end, by: wake))
        case 4: apply(.remoteEnded(key, .remoteEnded, by: chance(0.5) ? nil : wake))
        case 5: apply(.pushesFetched(wake))
        case 6: if isNobody { apply(.handlerExited(wake, .exited(1))) }
        case 7: if isNobody { apply(.handlerStarted(wake, pid: 1)) }
        case 8: apply(.deadlineReached)
        case 9: apply(.networkChanged)
        case 10: apply(.claimed(key, by: wake))
        case 11: if isNobody { apply(.handlerDisconnected(wake)) }
        case 12: if isNobody { apply(.handlerConnected(key.app, wake, pid: 1, policies[key.app] ?? AppPolicy())) }
        default: apply(.ringNotJournaled(key, number: number))
        }
    }
}
