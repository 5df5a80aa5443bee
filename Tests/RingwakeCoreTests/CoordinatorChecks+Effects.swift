import RingwakeCore

// What each effect may be.
extension CoordinatorChecks {
    mutating func observeCall(_ effect: Effect, at now: BootInstant, _ journal: SimulatedJournal) {
        switch effect {
        case .callChanged(let call): observe(call, at: now, journal)
        case .strike(let key, let failure):
            let call = told.values.first { $0.key == key }
            check(call?.machine.claimBy == nil || failure != .didNotAct, "a strike for \(key), which has no handler")
        case .struckOut(let app, let isOut):
            if isOut { struckOut.insert(app) } else { struckOut.remove(app) }
        case .request(let action, let key): observe(action, of: key, at: now)
        case .reportPath(let key):
            let isOnTheLine = [.ringing, .answering, .connecting, .connected, .held].contains(
                latest(key)?.machine.state.name)
            check(isOnTheLine, "\(key) is told of the path, which has nobody on the line")
        case .journalRing(let record):
            check(record.state == .confirmed && record.mayHaveRung, "the ring that is recorded is none")
            check(record.ringBefore > now, "\(record.key) is to be recorded as ringing too late")
            check(told[record.number]?.machine.state.name == .confirmed, "\(record.key) is to ring unconfirmed")
        default:
            break
        }
    }

    private func latest(_ key: CallKey) -> Call? { told.values.filter { $0.key == key }.max { $0.number < $1.number } }

    private mutating func observe(_ call: Call, at now: BootInstant, _ journal: SimulatedJournal) {
        let state = call.machine.state.name
        let previous = told.updateValue(call, forKey: call.number)
        check(previous?.machine.hasEnded != true, "\(call.key) changed after its end")
        if state == .ringing, previous?.machine.state.name != .ringing {
            rings[call.key, default: 0] += 1
            check(rings[call.key] == 1, "\(call.key) rings again")
            let rangAt = call.record.time(of: .rang) ?? now
            check(rangAt < call.machine.ringBefore, "\(call.key) rings too late")
            check(journal.calls[call.number]?.mayHaveRung == true, "\(call.key) rings, which the journal does not have")
            check(!journal.takenBack.contains(call.key), "\(call.key) rings after it was taken back")
            check(call.restriction == nil, "\(call.key) rings, which was kept out")
        }
        let isOutgoing = call.machine.isOutgoing
        check(
            !isOutgoing || ![.woken, .reported, .confirmed, .ringing, .answering].contains(state),
            "\(call.key) goes out")
        check(isOutgoing || ![.dialling, .connecting].contains(state), "\(call.key) comes in")
        if call.handler != previous?.handler { asked[call.number] = nil }
        if call.machine.lease == .taken { claims[call.number] = nil }
        if state == .ended { ends += 1 }
        if let before = previous?.machine.state.name, [.woken, .reported, .confirmed].contains(before),
            call.machine.state.endReason == .declined
        {
            let isUsers = call.timeline.first { $0.stage == .hungUp }?.by == nil
            check(isUsers, "\(call.key) is declined by its handler, and nobody has seen it")
        }
        if state == .ended, call.machine.state.endReason == .replaced {
            check(call.attempt == 0 && call.handler == nil, "\(call.key) is replaced, which a handler had")
        }
    }

    private mutating func observe(_ action: PendingAction, of key: CallKey, at now: BootInstant) {
        guard let call = latest(key) else { return check(false, "\(action.action) is asked of \(key), which is not") }
        let states: [CallStateMachine.State.Name] =
            switch action.action {
            case .answer: [.answering]
            case .start: [.dialling]
            case .end: [.ending]
            case .unhold: [.held]
            case .hold, .dtmf: [.connected]
            case .mute, .unmute: [.connecting, .connected, .held]
            case .merge: [.connected, .held]
            }
        // What is asked again of another handler may have been asked for in another state.
        check(states.contains(call.machine.state.name), "\(action.action) is asked of \(key), \(call.machine.state)")
        check(action.by > now, "\(action.action) is asked of \(key) for a time gone by")
        check(call.machine.lease == .taken && call.handler != nil, "\(action.action) is asked of \(key), and of nobody")
        check(call.machine.owed.contains(action), "\(action.action) is asked of \(key), and not owed")
        asked[call.number, default: []].append(action)
    }

    mutating func observeHandler(_ effect: Effect) {
        switch effect {
        case .wake(let request):
            check(request.wake > newestWake, "\(request.wake) was given before")
            newestWake = max(newestWake, request.wake)
            handlers[request.wake] = Handler(app: request.app)
            note(given: request)
            check(request.kind != .update, "a handler is started for an update")
        case .connected(let wake):
            check(wake > newestWake, "\(wake) was given before")
            newestWake = max(newestWake, wake)
            handlers[wake] = Handler(app: Scenario.app, isConnected: true)
            guests.insert(wake)
        case .deliver(let request):
            let handler = handlers[request.wake]
            check(
                handler?.isConnected == true || request.wake == connecting,
                "delivered to \(request.wake), which keeps no connection")
            check(handler?.isStopped == false, "delivered to \(request.wake), which is being stopped")
            if request.kind != .update { note(given: request) }
        case .fetched(let requests):
            for request in requests where request.kind == .claim {
                check(latest(request.key)?.machine.claimBy != nil, "\(request.key) is to be claimed, and is not lost")
            }
        case .stopHandler(let wake):
            check(handlers[wake]?.isStopped == false, "\(wake) is stopped, which is gone or was stopped before")
            handlers[wake]?.isStopped = true
        case .releaseHandler(let wake):
            check(handlers[wake]?.isReleased == false, "\(wake) is released, which is gone or was released before")
            check(handlers[wake]?.isConnected == false, "\(wake) is released, which keeps a connection")
            handlers[wake]?.isReleased = true
        case .retainHandler(let wake):
            check(handlers[wake]?.isReleased == true, "\(wake) is retained, which was not released")
            check(handlers[wake]?.isStopped == false, "\(wake) is retained, which is being stopped")
            handlers[wake]?.isReleased = false
        case .pushWaits(let wake, _, _):
            check(handlers[wake]?.isStopped == false, "\(wake) is told of a push, which is gone or being stopped")
            check(handlers[wake]?.isConnected == false, "\(wake) is told of a push, which is not delivered to it")
        default:
            break
        }
    }

    /// A handler gets a call that it did not have: never one of an app that is struck out, and never without end.
    private mutating func note(given request: WakeRequest) {
        // One that has it, and connects again, may get it again.
        let call = latest(request.key)
        let isAgain = call.map { [starts[$0.number], $0.handler].contains(request.wake) } ?? false
        check(
            !struckOut.contains(request.app) || isAgain || call?.isEmergency == true,
            "\(request.key), \(request.kind) in \(call?.machine.state.name.rawValue ?? "no state"), is given to "
                + "\(request.wake) of an app that is struck out")
        given.append(request)
    }

    /// After the event's effects: a new call is told after its wake.
    ///
    /// - Parameter leaver: the handler that the event is the end of.
    mutating func checkGiven(_ request: WakeRequest, after leaver: WakeID?) {
        guard let number = latest(request.key)?.number else { return check(false, "\(request.key) is told to nobody") }
        if request.kind == .claim {
            claims[number, default: 0] += 1
            check(claims[number, default: 0] <= 2, "\(request.key) is given to a third handler to claim")
        } else {
            // One that connects may be given again what it has fetched and not reported; another one what its handler left.
            if request.kind == .start, let former = starts[number] {
                check(former == request.wake, "\(request.key) is given to a second handler, which would call again")
            }
            if let former = starts[number], former != request.wake {
                check(
                    (handlers[former] == nil || former == leaver) && request.attempt <= 3,
                    "\(request.key) is given to a second handler as new")
            }
            starts[number] = request.wake
        }
    }
}
