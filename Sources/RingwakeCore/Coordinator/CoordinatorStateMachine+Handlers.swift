// An app's handlers: which call starts one, which one gets a call, and what follows from its end.
extension CoordinatorStateMachine {
    /// Finds a handler for a call that has none: a new one, or the one that runs already.
    mutating func admit(_ key: CallKey, _ policy: AppPolicy, at now: BootInstant) -> [Effect] {
        var lane = lanes[key.app] ?? HandlerLane(policy: policy)
        lane.adopt(policy, at: now)
        let hasPlace = lane.hasPlace(under: policy)
        if !hasPlace { lane.wait(key, at: now) }
        lanes[key.app] = lane
        guard !hasPlace else {
            // Others may wait still, if the configuration has just given each call a handler of its own.
            return startHandler(for: key, at: now) + startWaiting(of: key.app, at: now)
        }
        var effects: [Effect] = active[key].map { [.callChanged($0)] } ?? []
        if let wake = lane.taker {
            effects.append(.pushWaits(wake, key, .call))
        }
        return effects
    }

    /// Starts a handler with this call, which waited or has just come.
    private mutating func startHandler(for key: CallKey, at now: BootInstant) -> [Effect] {
        let wake = WakeID(number: nextWakeNumber)
        nextWakeNumber += 1
        lanes[key.app]?.begin(wake, with: key, at: now)
        let (requests, effects) = hand(key, to: wake, at: now, atMost: 1, isFetch: false)
        // The wake comes first: to tell of it can wait, the caller cannot.
        return requests.map { .wake($0) } + effects
    }

    /// Gives a call to a handler, with what is unread of it. What is fetched of a call that has not been reported is
    /// kept until it is: the answer to the fetch may be lost.
    private mutating func hand(
        _ key: CallKey, to wake: WakeID, at now: BootInstant, atMost limit: Int, isFetch: Bool
    ) -> (requests: [WakeRequest], effects: [Effect]) {
        guard var call = active[key] else { return ([], []) }
        var effects: [Effect] = []
        if call.handler == nil {
            call.handler = wake
            call.attempt += 1
        }
        let unread = call.unread.prefix(limit)
        switch call.machine.state {
        case .queued, .woken: call.noteFetched(unread.count, isKept: isFetch)
        default: call.noteFetched(unread.count, isKept: false)
        }
        active[key] = call
        if case .queued = call.machine.state {
            effects = settle(key, at: now) { machine throws(CallStateMachine.Refusal) in try machine.wake(at: now) }
        }
        let reportBy = active[key]?.machine.nextDeadline ?? now
        let requests = unread.map { push in
            WakeRequest(
                wake: wake, kind: push.kind, app: key.app, topic: call.topic, call: key.id, attempt: call.attempt,
                receivedAt: push.receivedAt, reportBy: reportBy, payload: push.payload)
        }
        return (requests, effects)
    }

    mutating func handlerStarted(_ wake: WakeID, pid: Int32, at now: BootInstant) -> [Effect] {
        guard let app = app(of: wake) else { return [.refused(.unknownHandler(wake))] }
        lanes[app]?.started(wake, pid: pid)
        for key in lanes[app]?.handlers[wake]?.calls ?? [] {
            active[key]?.note(.woke, at: now)
        }
        return []
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
            requests += hand(key, to: wake, at: now, atMost: limit, isFetch: true).requests
        }
        if lane.taker == wake {
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
        let (requests, effects) = hand(key, to: wake, at: now, atMost: limit, isFetch: true)
        return (requests, (wasIdle ? [.retainHandler(wake)] : []) + effects)
    }

    /// A handler is gone, or never came: its calls end, and those that wait get another.
    mutating func handlerGone(
        _ wake: WakeID, _ failure: HandlerFailure, _ why: String, at now: BootInstant
    ) -> [Effect] {
        guard let app = app(of: wake), var lane = lanes[app] else { return [] }
        let calls = lane.gone(wake, at: now)
        lanes[app] = lane
        var effects: [Effect] = []
        for key in calls {
            effects += settle(key, at: now) { machine throws(CallStateMachine.Refusal) in
                machine.handlerGone(failure, why)
            }
        }
        return effects + startWaiting(of: app, at: now)
    }

    /// Starts handlers for the calls that wait, as many as there is a place for.
    private mutating func startWaiting(of app: AppID, at now: BootInstant) -> [Effect] {
        var effects: [Effect] = []
        while let lane = lanes[app], let key = lane.waiting.first,
            lane.hasPlace(under: AppPolicy(instances: lane.instances))
        {
            effects += startHandler(for: key, at: now)
        }
        if lanes[app]?.isEmpty == true { lanes[app] = nil }
        return effects
    }

    /// Stops a handler, once.
    mutating func stopHandler(_ wake: WakeID, of app: AppID, at now: BootInstant) -> [Effect] {
        lanes[app]?.stop(wake, at: now) == true ? [.stopHandler(wake)] : []
    }

    /// Stops the handler of a call unless it serves others.
    mutating func stopHandlerIfIdle(_ call: Call, at now: BootInstant) -> [Effect] {
        guard let wake = call.handler, lanes[call.key.app]?.handlers[wake]?.calls.isEmpty == true else { return [] }
        return stopHandler(wake, of: call.key.app, at: now)
    }

    /// The app of a handler that has not ended.
    func app(of wake: WakeID) -> AppID? {
        lanes.first { $0.value.handlers[wake] != nil }?.key
    }
}
