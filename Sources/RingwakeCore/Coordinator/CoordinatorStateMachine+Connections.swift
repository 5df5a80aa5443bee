// Handlers that keep a connection, and calls that outlive their handler.
extension CoordinatorStateMachine {
    /// The most handlers of an app that may have come by themselves: each costs a connection.
    package static let maximumGuests = 8
    /// How many handlers are started for a call that lost its own: one that dies of the call dies again.
    static let maximumClaimStarts = 2

    mutating func handlerConnected(
        _ app: AppID, _ known: WakeID?, pid: Int32?, _ policy: AppPolicy, at now: BootInstant
    ) -> [Effect] {
        guard let known else { return guestConnected(app, pid: pid, policy, at: now) }
        guard let handler = lanes[app]?.handlers[known] else { return [.refused(.unknownHandler(known))] }
        lanes[app]?.setConnected(known, true, pid: pid, at: now)
        noteChange(of: app)
        var effects: [Effect] = handler.isReleased ? [.retainHandler(known)] : []
        for key in handler.calls {
            // What went by another connection may have been lost with it.
            active[key]?.pushes.forgetFetched()
            effects += deliverUnread(of: key, to: known, at: now)
        }
        return effects + startWaiting(of: app, at: now)
    }

    private mutating func guestConnected(
        _ app: AppID, pid: Int32?, _ policy: AppPolicy, at now: BootInstant
    ) -> [Effect] {
        var lane = lanes[app] ?? HandlerLane(policy: policy)
        guard lane.guests < CoordinatorStateMachine.maximumGuests else { return [.refused(.tooManyHandlers(app))] }
        let wake = WakeID(number: nextWakeNumber)
        nextWakeNumber += 1
        lane.adopt(policy, at: now)
        lane.join(wake, pid: pid, at: now)
        lanes[app] = lane
        noteChange(of: app)
        return [.connected(wake)] + startWaiting(of: app, at: now)
    }

    mutating func handlerDisconnected(_ wake: WakeID, at now: BootInstant) -> [Effect] {
        guard let app = app(of: wake), let handler = lanes[app]?.handlers[wake] else { return [] }
        guard !handler.cameByItself else {
            let exit = HandlerExit.left("its connection closed")
            return handlerGone(wake, .exited, "the handler \(exit)", inGoodOrder: exit.isInGoodOrder, at: now)
        }
        guard handler.isConnected else { return [] }
        lanes[app]?.setConnected(wake, false, at: now)
        noteChange(of: app)
        let isReleased = lanes[app]?.handlers[wake]?.isReleased ?? false
        return (isReleased ? [.releaseHandler(wake)] : []) + startWaiting(of: app, at: now)
    }

    /// A handler takes over a call that lost its own; it need not have been given it.
    mutating func claim(_ key: CallKey, by wake: WakeID, at now: BootInstant) -> [Effect] {
        guard let app = app(of: wake) else { return [.refused(.unknownHandler(wake))] }
        guard let call = call(key) else { return [.refused(.unknownCall(key))] }
        guard app == key.app, lanes[app]?.handlers[wake]?.isStopping == false else { return [.refused(.notOwned(key))] }
        guard call.machine.claimBy != nil else { return [.refused(.wrongState(key, call.machine.state))] }
        var effects: [Effect] = []
        if call.handler != wake {
            // Another one may have been given it, and has not claimed it yet.
            let former = call.handler
            let isReleased = lanes[app]?.ended(key, of: former, at: now) ?? false
            if lanes[app]?.take(key, by: wake, at: now) == true { effects.append(.retainHandler(wake)) }
            if isReleased, let former { effects.append(.releaseHandler(former)) }
            active[key]?.handler = wake
            active[key]?.attempt += 1
        }
        effects += settle(key, at: now) { machine throws(CallStateMachine.Refusal) in try machine.claim(at: now) }
        return effects + tellHandler(of: key, at: now)
    }

    /// What is unread of a call goes to its handler if that keeps a connection; else that is told of it. So is the one
    /// that will get a waiting call.
    mutating func tellHandler(of key: CallKey, at now: BootInstant) -> [Effect] {
        guard let call = active[key], call.pushes.hasUnfetched, let lane = lanes[key.app] else { return [] }
        guard let wake = call.handler else {
            guard lane.waiting.contains(key), let taker = lane.taker, !isStruckOut(key.app) else { return [] }
            return [.pushWaits(taker, key, .update)]
        }
        guard lane.handlers[wake]?.isConnected == true else { return [.pushWaits(wake, key, .update)] }
        return deliverUnread(of: key, to: wake, at: now)
    }

    /// Gives a waiting call to the handler that keeps a connection.
    mutating func deliver(_ key: CallKey, to wake: WakeID, at now: BootInstant) -> [Effect] {
        let isRetained = lanes[key.app]?.take(key, by: wake, at: now) ?? false
        active[key]?.note(.woke, at: now)
        let (requests, effects) = hand(
            key, to: wake, at: now, atMost: CoordinatorStateMachine.maximumFetched, by: .delivery)
        return requests.map { .deliver($0) } + (isRetained ? [.retainHandler(wake)] : []) + effects
    }

    private mutating func deliverUnread(of key: CallKey, to wake: WakeID, at now: BootInstant) -> [Effect] {
        let limit = CoordinatorStateMachine.maximumFetched
        return hand(key, to: wake, at: now, atMost: limit, by: .delivery).requests.map { .deliver($0) }
    }

    /// The call waits for a handler that claims it: before those that are new, after those that have waited longer.
    mutating func waitForClaim(_ call: Call, at now: BootInstant) {
        let app = call.key.app
        var lane = lanes[app] ?? HandlerLane(policy: call.policy)
        guard !lane.waiting.contains(call.key) else { return }
        let position = lane.waiting.prefix { active[$0]?.machine.claimBy != nil }.count
        lane.wait(call.key, position: position, at: now)
        lanes[app] = lane
    }
}
