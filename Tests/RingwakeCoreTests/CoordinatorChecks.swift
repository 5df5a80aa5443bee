import RingwakeCore

/// Watches a coordinator from outside and notes whatever it must never do.
struct CoordinatorChecks {
    /// What was found, at most a few: the first one tells.
    private(set) var problems: [String] = []
    /// How often each call rang, over all restarts.
    var rings: [CallKey: Int] = [:]
    /// How many calls ended, over all restarts.
    var ends = 0
    /// How many strikes were given, over all restarts.
    var strikes = 0
    /// Apps whose `instances` has changed meanwhile: they may have several handlers for a time.
    var changedApps: Set<AppID> = []

    /// The calls that were begun since the last start, as they were told last.
    var told: [Int64: Call] = [:]
    /// What the present handler of each call was asked for.
    var asked: [Int64: [PendingAction]] = [:]
    /// How many handlers were started for a call, or had it delivered, since it lost its own.
    var claims: [Int64: Int] = [:]
    /// Which handler was given a call as a new one, since the last start.
    var starts: [Int64: WakeID] = [:]
    var struckOut: Set<AppID> = []
    var handlers: [WakeID: Handler] = [:]
    var newestWake = WakeID(number: 0)

    struct Handler {
        var app: AppID
        var isStopped = false
        var isReleased = false
        var isConnected = false
    }

    /// The calls that were begun since the last start and have not ended.
    var open: [Int64] { told.filter { !$0.value.machine.hasEnded }.keys.sorted() }

    /// The daemon starts again: its handlers are nobody's any more.
    mutating func restart() {
        (told, asked, claims, starts, handlers) = ([:], [:], [:], [:], [:])
        newestWake = WakeID(number: 0)
        (struckOut, guests) = ([], [])
    }

    /// A handler of the last run runs still.
    mutating func resume(_ wake: WakeID, of app: AppID, isGuest: Bool) {
        if isGuest { guests.insert(wake) }
        handlers[wake] = Handler(app: app)
        newestWake = max(newestWake, wake)
    }

    /// A call is taken up as it stood. One that rang goes on ringing, though the row may say that it was about to.
    mutating func resume(_ call: Call) {
        told[call.number] = call
        asked[call.number] = call.machine.owed
        if [.queued, .woken, .reported, .confirmed].contains(call.machine.state.name) { rings[call.key] = nil }
    }

    mutating func check(_ condition: Bool, _ what: @autoclosure () -> String) {
        if !condition, problems.count < 3 { problems.append(what()) }
    }

    /// One event, and what the coordinator made of it.
    mutating func observe(
        _ event: Event, _ effects: [Effect], before: CoordinatorStateMachine, after: CoordinatorStateMachine,
        at now: BootInstant, _ journal: SimulatedJournal
    ) {
        let isDue = before.nextDeadline.map { $0 <= now } ?? false
        let gone = wake(goneWith: event)
        // What was due before the event is done first, as if the handler were there still.
        if let gone, !isDue { handlers[gone] = nil }
        if case .handlerDisconnected(let wake) = event, !isDue { handlers[wake]?.isConnected = false }
        if case .handlerConnected(_, let wake?, _, _) = event {
            connecting = wake
            if !isDue { handlers[wake]?.isConnected = true }
        }
        for effect in effects {
            observeCall(effect, at: now, journal)
            observeHandler(effect)
        }
        for request in given { checkGiven(request, after: gone) }
        given = []
        if let gone { handlers[gone] = nil }
        if case .handlerDisconnected(let wake) = event { handlers[wake]?.isConnected = false }
        if let connecting { handlers[connecting]?.isConnected = true }
        connecting = nil
        checkPush(event, effects, before, isDue: isDue)
        checkMissed(event, effects)
        checkOwner(event, effects, after)
        if effects.count == 1, effects.refusals.count == 1, !isDue {
            check(after == before, "a refused event changed something: \(event)")
        }
        if !isDue { check(effects.refusals.count <= 1, "refused more than once: \(event)") }
        checkStrikes(event, effects, after)
        checkChanges(event, effects, before, after)
        checkCalls(after, at: now)
        checkLanes(after, at: now)
    }

    private func wake(goneWith event: Event) -> WakeID? {
        switch event {
        case .handlerExited(let wake, _), .handlerNotStarted(let wake, _): wake
        case .handlerDisconnected(let wake): guests.contains(wake) ? wake : nil
        default: nil
        }
    }

    /// What the event at hand gave to handlers that did not have it.
    var given: [WakeRequest] = []
    /// The handler that connects with the event at hand.
    var connecting: WakeID?
    /// The handlers that came by themselves.
    var guests: Set<WakeID> = []
}

// MARK: - What an event may bring about

extension CoordinatorChecks {
    private mutating func checkPush(
        _ event: Event, _ effects: [Effect], _ before: CoordinatorStateMachine, isDue: Bool
    ) {
        guard case .pushReceived(let push, let facts, _, let restriction) = event else {
            check(effects.journaled.isEmpty, "a push is journaled that did not come")
            return
        }
        guard effects.refusals != [.tooManyCalls(push.app)], effects.refusals != [.tooManyPushes(push.app)] else {
            return check(effects.journaled.isEmpty, "a refused push is journaled")
        }
        check(
            effects.journaled.map(\.push.pushID) == [push.pushID] && effects.refusals.isEmpty,
            "a push is not journaled exactly once")
        let outcome = effects.outcomes.first
        if outcome == .started, !isDue {
            check(!before.isStruckOut(push.app) || isKnown(push, facts, before), "started")
        }
        if outcome == .restricted { check(restriction != nil || isKnown(push, facts, before), "restricted by nothing") }
        if restriction != nil {
            let isWoken =
                effects.wakes.contains { $0.call == facts.call } || effects.deliveries.contains { $0.kind == .call }
            check(!isWoken || isDue, "a handler is woken for a restricted call")
        }
    }

    private func isKnown(_ push: VerifiedPush, _ facts: PushFacts, _ before: CoordinatorStateMachine) -> Bool {
        let id = facts.call ?? CallID(push.pushID.lowercased())
        let names = [id, CallID("\(id)~TEAM000001"), CallID("\(id)~TEAM000002")]
        return names.contains { before.call(CallKey(app: push.app, id: $0)) != nil }
    }

    /// What ended now and was missed is told exactly once, unless the journal knew the call or it was kept out.
    private mutating func checkMissed(_ event: Event, _ effects: [Effect]) {
        let isRepeat =
            switch event {
            case .pushJournaled(_, _, let isKnown), .ringJournaled(_, _, let isKnown): isKnown
            default: false
            }
        let ended = effects.compactMap { effect -> Call? in
            guard case .callChanged(let call) = effect, call.machine.hasEnded else { return nil }
            return call
        }
        let told = effects.compactMap { if case .callMissed(let call) = $0 { call.number } else { nil } }
        // The late repeat of a known call is nobody's missed call; what was due before may be.
        let missed = ended.filter {
            $0.record.isMissed && $0.restriction == nil
                && !(isRepeat && $0.record.detail == CoordinatorChecks.repeatDetail)
        }
        check(told == missed.map(\.number), "missed are \(missed.map(\.key)), and told was \(told)")
        let kept = effects.compactMap { if case .restricted(let key, _) = $0 { key } else { nil } }
        check(kept == ended.filter { $0.restriction != nil }.map(\.key), "kept out were \(kept)")
    }

    /// A handler has a say in its own calls only.
    private mutating func checkOwner(_ event: Event, _ effects: [Effect], _ after: CoordinatorStateMachine) {
        switch event {
        case .reported(let key, _, _, let wake?, _), .ringConfirmed(let key, let wake?),
            .fulfilled(let key, _, let wake?, _),
            .actionFailed(let key, _, let wake?), .remoteEnded(let key, _, let wake?), .claimed(let key, let wake),
            .progressed(let key, _, let wake?):
            guard effects.refusals.isEmpty, let call = after.call(key) else { return }
            check(call.handler == wake, "\(wake) has a say in \(key), which is not its")
        default:
            break
        }
    }

    private mutating func checkStrikes(_ event: Event, _ effects: [Effect], _ after: CoordinatorStateMachine) {
        let given = effects.strikes
        strikes += given.count
        check(given.count { $0 == .exited || $0 == .didNotStart } <= 1, "one exit, several strikes")
        for app in SimulatedWorld.apps {
            check(after.strikes(of: app).count <= 64, "strikes of \(app) are not bounded")
            check(
                struckOut.contains(app) == after.isStruckOut(app), "nobody was told that \(app) is struck out, or not")
        }
    }

    /// Whoever writes handlers and strikes down hears of each change of them, once, and at the end.
    private mutating func checkChanges(
        _ event: Event, _ effects: [Effect], _ before: CoordinatorStateMachine, _ after: CoordinatorStateMachine
    ) {
        let changed = effects.compactMap { if case .appChanged(let app) = $0 { app } else { nil } }
        check(Set(changed).count == changed.count, "a change is told twice")
        for case .appChanged in effects.dropLast(changed.count) { check(false, "a change is told before the end") }
        if case .strikesRestored = event { return }
        for app in SimulatedWorld.apps {
            let handlers = [before, after].map { coordinator in
                (coordinator.lanes[app]?.handlers ?? [:]).mapValues {
                    "\($0.pid ?? 0) \($0.isConnected) \($0.isStopping)"
                }
            }
            let isSame = handlers[0] == handlers[1] && before.strikes(of: app) == after.strikes(of: app)
            check(isSame || changed.contains(app), "nobody was told that \(app) changed: \(event)")
        }
    }

    static let repeatDetail = "it repeats a call that had ended"
}
