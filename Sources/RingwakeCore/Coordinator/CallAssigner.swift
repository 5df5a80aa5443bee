/// Assigns calls to handlers: starts handlers, delivers calls to them, and takes back the calls of handlers that are
/// gone.
struct CallAssigner: Hashable, Sendable {
    typealias Refusal = CallStateMachine.Refusal

    var engine: CallEngine

    /// The maximum number of pushes per fetch; the others wait for the next one. Each payload has at most 5 KiB.
    static let maximumFetched = 64
    /// How many handlers are started for a call that lost its own. If the call crashes its handler, it would crash each
    /// of them.
    private static let maximumClaimStarts = 2

    /// Applies all deadlines up to `now`.
    mutating func advance(to now: BootInstant) -> [Effect] {
        var effects = engine.calls.late(at: now).flatMap { engine.advance($0, at: now) }
        for app in engine.handlers.lanes.keys.sorted(by: { $0.rawValue < $1.rawValue }) {
            if let wake = engine.handlers.lanes[app]?.neglectful(at: now) {
                effects += engine.handlers.stop(wake, of: app, at: now)
            }
            guard engine.handlers.isUnattended(app, at: now) else { continue }
            // No handler connected for these calls, and none is started. That is no strike.
            effects += ringWithoutHandler(app, at: now) { call in
                "no handler of the app connected within \(call.machine.deadlines.report), and the daemon starts none: see "
                    + "'ringwake app show \(app)'"
            }
        }
        return effects
    }

    // MARK: - Finding a handler

    /// Finds a handler for a new call: a connected one, a new one, or the one that is already running.
    ///
    /// - Parameter preferred: gets the call if it is connected.
    mutating func admit(
        _ key: CallKey, _ policy: AppPolicy, preferring preferred: WakeID? = nil, at now: BootInstant
    ) -> [Effect] {
        guard let call = engine.calls.active[key] else { return [] }
        guard call.isEmergency || !engine.handlers.strikes.isStruckOut(key.app) else { return withhold(call, at: now) }
        engine.handlers.adopt(policy, of: key.app, at: now)
        guard !engine.handlers.hasPlace(key.app) else {
            // Other calls may still wait if the configuration has just given each call its own handler.
            return serve(key, preferring: preferred, at: now) + startWaiting(of: key.app, at: now)
        }
        engine.handlers.wait(key, policy, at: now)
        let kind = call.machine.isOutgoing ? WakeRequest.Kind.start : .call
        let taker = call.isEmergency ? engine.handlers.lanes[key.app]?.taker : engine.handlers.fetcher(of: key.app)
        return [.callChanged(call)] + (taker.map { [.pushWaits($0, key, kind)] } ?? [])
    }

    /// Applies changed policies to calls that have no handler: they may get another kind of handler, or one at last.
    mutating func adopt(_ policies: [AppID: AppPolicy], at now: BootInstant) -> [Effect] {
        var effects: [Effect] = []
        for key in engine.calls.active.keys {
            if let policy = policies[key.app] { engine.calls.change(key) { $0.adoptRights(policy) } }
        }
        for app in engine.handlers.lanes.keys.sorted(by: { $0.rawValue < $1.rawValue }) {
            guard let policy = policies[app] else { continue }
            engine.handlers.adopt(policy, of: app, at: now)
            for key in engine.handlers.waiting(app) { engine.calls.change(key) { $0.adopt(policy) } }
            effects += startWaiting(of: app, at: now)
        }
        return effects
    }

    /// Gives the call to a connected handler, or starts one for it.
    private mutating func serve(
        _ key: CallKey, preferring preferred: WakeID? = nil, at now: BootInstant
    ) -> [Effect] {
        engine.calls.change(key) { $0.noteClaimStart() }
        if let wake = engine.handlers.lanes[key.app]?.receiver(preferring: preferred) {
            let (requests, effects) = take(key, by: wake, .connection, at: now)
            return requests.map { .deliver($0) } + effects
        }
        let wake = engine.handlers.begin(with: key, at: now)
        // A handler that is started without a push finds its call in its first fetch.
        let isBare = engine.calls.active[key]?.policy.wakeBringsPush == false
        let (requests, effects) = give(key, to: wake, isBare ? .fetch : .start, atMost: 1, at: now)
        // The wake comes first: the caller is waiting, and the other effects are not urgent.
        return requests.map { .wake($0) } + effects
    }

    /// Gives a call and its unread pushes to a handler.
    private mutating func give(
        _ key: CallKey, to wake: WakeID, _ transfer: Call.Transfer, atMost limit: Int = maximumFetched,
        at now: BootInstant
    ) -> (requests: [WakeRequest], effects: [Effect]) {
        var (pushes, isNew): ([CallPushes.Unread], Bool) = ([], false)
        let call = engine.calls.change(key) { (pushes, isNew) = $0.takeUnread(for: wake, by: transfer, atMost: limit) }
        guard let call else { return ([], []) }
        var effects: [Effect] = []
        if case .queued = call.machine.state {
            effects = engine.settle(key, at: now) { machine throws(Refusal) in try machine.wake(at: now) }
        } else if isNew {
            effects = engine.settle(key, at: now) { $0.offer() }
        }
        let requests = engine.calls.active[key].map { call in pushes.map { call.request(of: $0, for: wake, at: now) } }
        return (requests ?? [], effects)
    }

    /// Gives a waiting call to the handler, with at most `limit` of its unread pushes.
    private mutating func take(
        _ key: CallKey, by wake: WakeID, _ transfer: Call.Transfer, atMost limit: Int = maximumFetched,
        at now: BootInstant
    ) -> (requests: [WakeRequest], effects: [Effect]) {
        let wasReleased = engine.handlers.take(key, by: wake, at: now)
        engine.calls.change(key) { $0.note(.woke, at: now) }
        let (requests, effects) = give(key, to: wake, transfer, atMost: limit, at: now)
        return (requests, (wasReleased ? [.retainHandler(wake)] : []) + effects)
    }

    /// Finds handlers for waiting calls while there is room for more handlers.
    mutating func startWaiting(of app: AppID, at now: BootInstant) -> [Effect] {
        var effects: [Effect] = []
        while engine.handlers.hasPlace(app), let key = engine.handlers.waiting(app).first(where: isWorthAStart) {
            effects += serve(key, at: now)
        }
        engine.handlers.dropIfEmpty(app)
        return effects
    }

    /// Whether a waiting call may still start a handler, or be delivered to one.
    private func isWorthAStart(_ key: CallKey) -> Bool {
        guard let call = engine.calls.active[key] else { return false }
        guard call.isEmergency || !engine.handlers.strikes.isStruckOut(key.app) else { return false }
        return call.machine.claimBy == nil || call.claimStarts < Self.maximumClaimStarts
    }

    /// Queues the call for a handler like a new one. If the app's handlers are no longer started, does without one.
    mutating func wait(_ call: Call, at now: BootInstant) -> [Effect] {
        guard call.isEmergency || !engine.handlers.strikes.isStruckOut(call.key.app) else {
            return withhold(call, at: now)
        }
        engine.handlers.wait(call.key, call.policy, at: now)
        return []
    }

    /// Queues a call that became *queued* again. Its next handler gets all of its pushes. Nil if the call is not
    /// *queued*.
    mutating func requeue(_ key: CallKey, at now: BootInstant) -> [Effect]? {
        guard case .queued = engine.calls.active[key]?.machine.state,
            let call = engine.calls.change(key, { $0.requeue() })
        else {
            return nil
        }
        return [.callChanged(call)] + wait(call, at: now)
    }

    // MARK: - Doing without a handler

    /// The waiting calls of apps that have just been struck out get no handler.
    mutating func withholdWaiting(at now: BootInstant) -> [Effect] {
        engine.handlers.takeNewlyStruckOut().flatMap { app in
            let detail = engine.handlers.strikes.detail(of: app)
            return ringWithoutHandler(app, at: now) { _ in detail }
        }
    }

    private mutating func withhold(_ call: Call, at now: BootInstant) -> [Effect] {
        doWithoutHandler(call, engine.handlers.strikes.detail(of: call.key.app), at: now)
    }

    private mutating func ringWithoutHandler(
        _ app: AppID, at now: BootInstant, _ detail: (Call) -> String
    ) -> [Effect] {
        engine.handlers.waiting(app).flatMap { key -> [Effect] in
            guard let call = engine.calls.active[key], case .queued = call.machine.state, !call.isEmergency else {
                return []
            }
            return doWithoutHandler(call, detail(call), at: now)
        }
    }

    /// No handler is started for the call: the daemon makes it ring, or it is missed.
    private mutating func doWithoutHandler(_ call: Call, _ detail: String, at now: BootInstant) -> [Effect] {
        let fallback = engine.fallback(for: call)
        // The call no longer waits for a handler in either case.
        _ = engine.handlers.ended(call.key, of: nil, at: now)
        return engine.settle(call.key, at: now) { machine throws(Refusal) in
            try machine.withhold(fallback, detail, at: now)
        }
    }

    // MARK: - Events of handlers

    mutating func handlerStarted(_ wake: WakeID, pid: Int32?, at now: BootInstant) -> [Effect] {
        guard let app = engine.handlers.app(of: wake) else { return [.refused(.unknownHandler(wake))] }
        engine.handlers.started(wake, of: app, pid: pid)
        return (engine.handlers.handler(wake, of: app)?.calls ?? []).compactMap { key in
            engine.calls.change(key) { $0.note(.woke, at: now) }.map { .callNoted($0) }
        }
    }

    /// The handler fetches: it gets the unread pushes of its calls, and the waiting calls become its own.
    mutating func fetch(by wake: WakeID, at now: BootInstant) -> [Effect] {
        guard let app = engine.handlers.app(of: wake), let handler = engine.handlers.handler(wake, of: app) else {
            return [.refused(.unknownHandler(wake))]
        }
        let isOut = engine.handlers.strikes.isStruckOut(app)
        let waiting =
            engine.handlers.lanes[app]?.taker == wake
            ? engine.handlers.waiting(app).filter { !isOut || engine.calls.active[$0]?.isEmergency == true } : []
        var requests: [WakeRequest] = []
        var effects: [Effect] = []
        for key in handler.calls where requests.count < Self.maximumFetched {
            requests += give(key, to: wake, .fetch, atMost: Self.maximumFetched - requests.count, at: now).requests
        }
        for key in waiting where requests.count < Self.maximumFetched {
            let taken = take(key, by: wake, .fetch, atMost: Self.maximumFetched - requests.count, at: now)
            requests += taken.requests
            effects += taken.effects
        }
        return [.fetched(requests)] + effects
    }

    mutating func report(
        _ key: CallKey, _ update: CallUpdate, ring: Bool, by wake: WakeID?, _ restriction: Restriction?,
        at now: BootInstant
    ) -> [Effect] {
        var effects: [Effect] = []
        // A handler may report a waiting call that it knows from the event stream without fetching it first. It may
        // still fetch it.
        if let wake, engine.handlers.fetcher(of: key.app) == wake, engine.handlers.waiting(key.app).contains(key),
            case .queued = engine.calls.active[key]?.machine.state
        {
            effects = take(key, by: wake, .fetch, atMost: 0, at: now).effects
        }
        let isBusy = engine.isBusy(for: key)
        effects += engine.settle(
            key, at: now, by: wake, noting: .reported, updating: update, restricting: restriction
        ) { machine throws(Refusal) in
            if let restriction { return try machine.restrict(restriction.endReason, restriction.detail) }
            let isRejected = isBusy && machine.state.name == .woken
            return isRejected ? try machine.reject(at: now) : try machine.report(at: now)
        }
        if ring, case .reported = engine.calls.active[key]?.machine.state, !effects.contains(where: \.isRefusal) {
            effects += confirmRing(key, by: wake, at: now)
        }
        return effects
    }

    mutating func confirmRing(_ key: CallKey, by wake: WakeID?, at now: BootInstant) -> [Effect] {
        let isBusy = engine.isBusy(for: key)
        return engine.settle(key, at: now, by: wake) { machine throws(Refusal) in
            let isRejected = isBusy && machine.state.name == .reported
            return isRejected ? try machine.reject(at: now) : try machine.confirmRing(at: now)
        }
    }

    /// A handler is gone, or did not start. Its calls end, or another handler may claim them; waiting calls get a
    /// handler.
    ///
    /// - Parameter isInGoodOrder: whether it ended normally. It may not have seen the pushes that it got last.
    mutating func handlerGone(
        _ wake: WakeID, _ failure: HandlerFailure, _ why: String, inGoodOrder isInGoodOrder: Bool = false,
        at now: BootInstant
    ) -> [Effect] {
        guard let app = engine.handlers.app(of: wake) else { return [] }
        let origin = engine.handlers.handler(wake, of: app)?.origin
        let keys = engine.handlers.gone(wake, of: app, at: now)
        let findsAnother = engine.handlers.lanes[app]?.findsAnother ?? false
        var effects: [Effect] = []
        var isCharged = false
        for key in keys {
            guard let call = engine.calls.active[key] else { continue }
            if isInGoodOrder, key != origin, findsAnother, call.mayBeReassigned {
                let outcome = engine.settle(key, at: now) { $0.reassign() }
                effects += requeue(key, at: now) ?? outcome
                continue
            }
            let fallback = engine.fallback(for: call)
            let outcome = engine.settle(key, at: now, isCharged: !isCharged) {
                $0.handlerGone(failure, why, fallback: fallback, at: now)
            }
            isCharged = isCharged || outcome.contains { if case .strike = $0 { true } else { false } }
            effects += outcome
        }
        return effects + startWaiting(of: app, at: now)
    }

    mutating func handlerConnected(
        _ app: AppID, _ known: WakeID?, pid: Int32?, _ policy: AppPolicy, at now: BootInstant
    ) -> [Effect] {
        guard let known else {
            guard let wake = engine.handlers.join(app, pid: pid, policy, at: now) else {
                return [.refused(.tooManyHandlers(app))]
            }
            return [.connected(wake)] + startWaiting(of: app, at: now)
        }
        guard let handler = engine.handlers.handler(known, of: app) else { return [.refused(.unknownHandler(known))] }
        engine.handlers.setConnected(known, of: app, true, pid: pid, at: now)
        var effects: [Effect] = handler.isReleased ? [.retainHandler(known)] : []
        for key in handler.calls {
            // Pushes that were sent on an earlier connection may have been lost with it.
            engine.calls.change(key) { $0.forgetFetched() }
            effects += give(key, to: known, .connection, at: now).requests.map { .deliver($0) }
        }
        return effects + startWaiting(of: app, at: now)
    }

    mutating func handlerDisconnected(_ wake: WakeID, at now: BootInstant) -> [Effect] {
        guard let app = engine.handlers.app(of: wake), let handler = engine.handlers.handler(wake, of: app) else {
            return []
        }
        guard !handler.cameByItself else {
            let exit = HandlerExit.left("its connection closed")
            return handlerGone(wake, .exited, "the handler \(exit)", inGoodOrder: exit.isInGoodOrder, at: now)
        }
        guard handler.isConnected else { return [] }
        engine.handlers.setConnected(wake, of: app, false, at: now)
        let isReleased = engine.handlers.handler(wake, of: app)?.isReleased ?? false
        return (isReleased ? [.releaseHandler(wake)] : []) + startWaiting(of: app, at: now)
    }

    /// A handler claims a call that lost its own. It may do so without having got the call.
    mutating func claim(_ key: CallKey, by wake: WakeID, at now: BootInstant) -> [Effect] {
        guard let app = engine.handlers.app(of: wake) else { return [.refused(.unknownHandler(wake))] }
        guard let call = engine.calls[key] else { return [.refused(.unknownCall(key))] }
        guard app == key.app, engine.handlers.handler(wake, of: app)?.isStopping == false else {
            return [.refused(.notOwned(key))]
        }
        guard call.machine.claimBy != nil else { return [.refused(.wrongState(key, call.machine.state))] }
        var effects: [Effect] = []
        if call.handler != wake {
            // Another handler may have got the call without having claimed it yet.
            let isReleased = engine.handlers.ended(key, of: call.handler, at: now)
            if engine.handlers.take(key, by: wake, at: now) { effects.append(.retainHandler(wake)) }
            if isReleased, let former = call.handler { effects.append(.releaseHandler(former)) }
            engine.calls.change(key) { $0.assign(to: wake) }
        }
        // Before it is asked again for what its former handler owed.
        effects += engine.leaveConferenceOfOthers(key, at: now)
        effects += engine.settle(key, at: now) { machine throws(Refusal) in try machine.claim(at: now) }
        return effects + notifyHandler(of: key, at: now)
    }

    /// Delivers the unread pushes of a call to its handler, or notifies the handler that has to fetch them.
    mutating func notifyHandler(of key: CallKey, at now: BootInstant) -> [Effect] {
        guard let call = engine.calls.active[key], call.pushes.hasUnfetched, let lane = engine.handlers.lanes[key.app]
        else { return [] }
        guard let wake = call.handler else {
            return notify(engine.handlers.fetcher(of: key.app), ofWaiting: key, .update)
        }
        guard lane.handlers[wake]?.isConnected == true else { return [.pushWaits(wake, key, .update)] }
        return give(key, to: wake, .connection, at: now).requests.map { .deliver($0) }
    }

    /// Finds a handler for a call that is begun, or was answered without one, or lets it wait for the running handler to
    /// fetch it.
    mutating func findHandler(for request: QueuedUserRequest, at now: BootInstant) -> [Effect] {
        let key = request.call
        if request.action == .start, let call = engine.calls.active[key] {
            return admit(key, call.policy, preferring: request.handler, at: now)
        }
        let effects = startWaiting(of: key.app, at: now)
        return effects + notify(engine.handlers.lanes[key.app]?.taker, ofWaiting: key, .claim)
    }

    private func notify(_ wake: WakeID?, ofWaiting key: CallKey, _ kind: WakeRequest.Kind) -> [Effect] {
        guard let wake, engine.handlers.waiting(key.app).contains(key) else { return [] }
        return [.pushWaits(wake, key, kind)]
    }

    /// Ends an app's calls without asking its handlers, and stops these.
    mutating func reset(_ app: AppID, at now: BootInstant) -> [Effect] {
        let calls = engine.calls.inOrder { $0.key.app == app }
        // Held calls first: else the end of one that the user has hung up would resume one of them.
        let held = calls.filter { $0.machine.state.name == .held }
        let ends = (held + calls.filter { $0.machine.state.name != .held }).flatMap { call in
            engine.settle(call.key, at: now) { $0.abandon(call.machine.state.reasonOfReset, "the user ended its app") }
        }
        // No handler is asked to exit soon: each is stopped.
        return ends.filter { if case .releaseHandler = $0 { false } else { true } }
            + engine.handlers.stopAll(of: app, at: now)
    }
}
