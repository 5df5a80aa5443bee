// An app's handlers: which call starts one, which one gets a call, and what follows from its end.
extension CoordinatorStateMachine {
    /// Finds a handler for a new call: one that keeps a connection, a new one, or the one that runs already.
    mutating func admit(_ key: CallKey, _ policy: AppPolicy, at now: BootInstant) -> [Effect] {
        if isStruckOut(key.app) { return active[key].map { withhold($0, at: now) } ?? [] }
        var lane = lanes[key.app] ?? HandlerLane(policy: policy)
        lane.adopt(policy, at: now)
        let isServed = lane.receiver != nil || lane.hasPlace
        if !isServed { lane.wait(key, at: now) }
        lanes[key.app] = lane
        guard !isServed else {
            // Others may wait still, if the configuration has just given each call a handler of its own.
            return serve(key, at: now) + startWaiting(of: key.app, at: now)
        }
        var effects: [Effect] = active[key].map { [.callChanged($0)] } ?? []
        if let wake = lane.taker {
            effects.append(.pushWaits(wake, key, .call))
        }
        return effects
    }

    /// Gives the call to the handler that keeps a connection, or to a new one.
    private mutating func serve(_ key: CallKey, at now: BootInstant) -> [Effect] {
        if active[key]?.machine.claimBy != nil { active[key]?.claimStarts += 1 }
        if let wake = lanes[key.app]?.receiver { return deliver(key, to: wake, at: now) }
        let wake = WakeID(number: nextWakeNumber)
        nextWakeNumber += 1
        lanes[key.app]?.begin(wake, with: key, at: now)
        noteChange(of: key.app)
        // One that is given nothing at its start finds what it was started for in its first fetch.
        let isBare = active[key]?.policy.wakeBringsPush == false
        let (requests, effects) = hand(key, to: wake, at: now, atMost: 1, by: isBare ? .fetch : .start)
        // The wake comes first: to tell of it can wait, the caller cannot.
        return requests.map { .wake($0) } + effects
    }

    /// How a handler is given what is unread of a call.
    enum HandOver {
        /// With its start, where it cannot be lost.
        case start
        /// It asks for all that it has not shown to have.
        case fetch
        /// By the connection that it keeps: what it has not been given by it yet.
        case delivery
    }

    /// Gives a call to a handler, with what is unread of it. What is fetched or delivered of a call that has not been
    /// reported is kept until it is: the answer may be lost, and the connection with the line.
    mutating func hand(
        _ key: CallKey, to wake: WakeID, at now: BootInstant, atMost limit: Int, by way: HandOver
    ) -> (requests: [WakeRequest], effects: [Effect]) {
        guard var call = active[key] else { return ([], []) }
        let isNew = call.handler == nil
        if isNew {
            call.handler = wake
            call.attempt += 1
        }
        // A handler that is to claim the call may know nothing of it, so it is told by which push it came.
        let claim =
            call.machine.claimBy != nil && (isNew || way == .fetch) && limit > 0
            ? call.pushes.claim(receivedAt: call.receivedAt) : nil
        let given = way == .delivery ? call.pushes.fetched : 0
        let new = call.pushes.unread.dropFirst(given).prefix(limit - (claim == nil ? 0 : 1))
        let unread = (claim.map { [$0] } ?? []) + new
        let isKept =
            switch call.machine.state {
            case .queued, .woken: way != .start
            default: false
            }
        isKept ? call.pushes.noteFetched(given + new.count) : call.pushes.drop(new.count)
        active[key] = call
        var effects: [Effect] = []
        if case .queued = call.machine.state {
            effects = settle(key, at: now) { machine throws(CallStateMachine.Refusal) in try machine.wake(at: now) }
        } else if isNew {
            effects = settle(key, at: now) { machine throws(CallStateMachine.Refusal) in machine.offer() }
        }
        let reportBy = active[key]?.machine.nextDeadline ?? now
        let requests = unread.map { push in
            WakeRequest(
                wake: wake, kind: push.kind, app: key.app, topic: call.topic, call: key.id, attempt: call.attempt,
                receivedAt: push.receivedAt, reportBy: reportBy, payload: push.payload)
        }
        return (requests, effects)
    }

    mutating func handlerStarted(_ wake: WakeID, pid: Int32?, at now: BootInstant) -> [Effect] {
        guard let app = app(of: wake) else { return [.refused(.unknownHandler(wake))] }
        lanes[app]?.started(wake, pid: pid)
        noteChange(of: app)
        return (lanes[app]?.handlers[wake]?.calls ?? []).compactMap { key in
            active[key]?.note(.woke, at: now)
            return active[key].map { .callNoted($0) }
        }
    }

    /// The most pushes of one fetch; the rest waits for the next. Their payloads have 5 KiB at most each.
    package static let maximumFetched = 64

    /// The handler fetches: the calls that wait become its own, and it gets what is unread of those that it has.
    mutating func fetch(by wake: WakeID, at now: BootInstant) -> [Effect] {
        guard let app = app(of: wake), let lane = lanes[app] else { return [.refused(.unknownHandler(wake))] }
        var requests: [WakeRequest] = []
        var effects: [Effect] = []
        for key in lane.handlers[wake]?.calls ?? [] where requests.count < Self.maximumFetched {
            let limit = Self.maximumFetched - requests.count
            requests += hand(key, to: wake, at: now, atMost: limit, by: .fetch).requests
        }
        if lane.taker == wake, !isStruckOut(app) {
            for key in lane.waiting where requests.count < Self.maximumFetched {
                let taken = take(key, by: wake, at: now, atMost: Self.maximumFetched - requests.count)
                requests += taken.requests
                effects += taken.effects
            }
        }
        return [.handOver(requests)] + effects
    }

    /// A waiting call becomes the handler's, which gets at most `limit` of what is unread of it.
    mutating func take(
        _ key: CallKey, by wake: WakeID, at now: BootInstant, atMost limit: Int
    ) -> (requests: [WakeRequest], effects: [Effect]) {
        let wasIdle = lanes[key.app]?.take(key, by: wake, at: now) ?? false
        active[key]?.note(.woke, at: now)
        let (requests, effects) = hand(key, to: wake, at: now, atMost: limit, by: .fetch)
        return (requests, (wasIdle ? [.retainHandler(wake)] : []) + effects)
    }

    /// A handler is gone, or never came: its calls end, or may be claimed by another one, and those that wait get one.
    ///
    /// - Parameter isInGoodOrder: it left by its own will. What it was given as it did it may never have seen.
    mutating func handlerGone(
        _ wake: WakeID, _ failure: HandlerFailure, _ why: String, inGoodOrder isInGoodOrder: Bool = false,
        at now: BootInstant
    ) -> [Effect] {
        guard let app = app(of: wake), var lane = lanes[app] else { return [] }
        let origin = lane.handlers[wake]?.origin
        let calls = lane.gone(wake, at: now)
        lanes[app] = lane
        noteChange(of: app)
        var effects: [Effect] = []
        var isCharged = false
        for key in calls {
            guard let call = active[key] else { continue }
            if isInGoodOrder, key != origin, lane.findsAnother, call.mayBeReassigned {
                effects += reassign(key, at: now)
                continue
            }
            let fallback = fallback(for: call)
            let outcome = settle(key, at: now, isCharged: !isCharged) { machine throws(CallStateMachine.Refusal) in
                machine.handlerGone(failure, why, fallback: fallback, at: now)
            }
            isCharged = isCharged || outcome.contains { if case .strike = $0 { true } else { false } }
            effects += outcome
        }
        return effects + startWaiting(of: app, at: now)
    }

    /// A call that its handler may never have seen waits for another one, as if it had just come.
    private mutating func reassign(_ key: CallKey, at now: BootInstant) -> [Effect] {
        let effects = settle(key, at: now) { machine throws(CallStateMachine.Refusal) in machine.reassign() }
        return requeue(key, at: now) ?? effects
    }

    /// A call that is queued again waits for a handler, which gets all of it. Nil for one that is not.
    mutating func requeue(_ key: CallKey, at now: BootInstant) -> [Effect]? {
        guard var queued = active[key], case .queued = queued.machine.state else { return nil }
        queued.handler = nil
        queued.pushes.restoreFirst()
        active[key] = queued
        return [.callChanged(queued)] + wait(queued, at: now)
    }

    /// The call waits for a handler as a new one, unless none is started.
    mutating func wait(_ call: Call, at now: BootInstant) -> [Effect] {
        if isStruckOut(call.key.app) { return withhold(call, at: now) }
        lanes[call.key.app, default: HandlerLane(policy: call.policy)].wait(call.key, at: now)
        return []
    }

    /// Finds handlers for the calls that wait, as many as there is a place for.
    mutating func startWaiting(of app: AppID, at now: BootInstant) -> [Effect] {
        var effects: [Effect] = []
        while !isStruckOut(app), let lane = lanes[app], lane.receiver != nil || lane.hasPlace,
            let key = lane.waiting.first(where: isWorthAStart)
        {
            effects += serve(key, at: now)
        }
        if lanes[app]?.isEmpty == true { lanes[app] = nil }
        return effects
    }

    /// Whether a handler is started for a waiting call, or it is delivered.
    private func isWorthAStart(_ key: CallKey) -> Bool {
        guard let call = active[key] else { return false }
        return call.machine.claimBy == nil || call.claimStarts < CoordinatorStateMachine.maximumClaimStarts
    }

    /// Stops a handler, once.
    mutating func stopHandler(_ wake: WakeID, of app: AppID, at now: BootInstant) -> [Effect] {
        guard lanes[app]?.stop(wake, at: now) == true else { return [] }
        noteChange(of: app)
        return [.stopHandler(wake)]
    }

    /// Stops the handler that a call had unless it serves others.
    mutating func stopHandlerIfIdle(_ wake: WakeID?, of app: AppID, at now: BootInstant) -> [Effect] {
        guard let wake, lanes[app]?.handlers[wake]?.calls.isEmpty == true else { return [] }
        return stopHandler(wake, of: app, at: now)
    }

    /// Has a handler leave that was woken for nothing, unless it serves other calls. One that keeps a connection is
    /// there for whatever comes.
    mutating func dismissHandlerIfIdle(_ wake: WakeID?, of app: AppID, at now: BootInstant) -> [Effect] {
        guard let wake, lanes[app]?.handlers[wake]?.isConnected == false else { return [] }
        return stopHandlerIfIdle(wake, of: app, at: now)
    }

    /// The app of a handler that has not ended.
    func app(of wake: WakeID) -> AppID? {
        lanes.first { $0.value.handlers[wake] != nil }?.key
    }
}
