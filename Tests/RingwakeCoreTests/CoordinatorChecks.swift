import RingwakeCore

/// Watches a coordinator from outside and notes whatever it must never do.
struct CoordinatorChecks {
    /// What was found, at most a few: the first one tells.
    private(set) var problems: [String] = []
    /// How often each call rang, over all restarts.
    private(set) var rings: [CallKey: Int] = [:]
    /// How many calls ended, over all restarts.
    private(set) var ends = 0
    /// Apps whose `instances` has changed meanwhile: they may have several handlers for a time.
    var changedApps: Set<AppID> = []

    private var states: [Int64: CallStateMachine.State.Name] = [:]
    private var strikes: Set<Int64> = []
    private var endedLast: Call?
    private var handlers: [WakeID: Handler] = [:]
    private var newestWake = WakeID(number: 0)

    private struct Handler {
        var isStopped = false
        var isReleased = false
    }

    /// The calls that were begun since the last start and have not ended.
    var open: [Int64] { states.filter { $0.value != .ended }.keys.sorted() }

    /// The daemon starts again: its handlers are nobody's any more.
    mutating func restart() {
        states = [:]
        strikes = []
        handlers = [:]
        newestWake = WakeID(number: 0)
    }

    mutating func check(_ condition: Bool, _ what: @autoclosure () -> String) {
        if !condition, problems.count < 3 { problems.append(what()) }
    }

    /// One event, and what the coordinator made of it.
    mutating func observe(
        _ event: Event, _ effects: [Effect], before: CoordinatorStateMachine, after: CoordinatorStateMachine,
        at now: BootInstant, _ journal: SimulatedJournal
    ) {
        let gone: WakeID? =
            switch event {
            case .handlerExited(let wake, _), .handlerNotStarted(let wake, _): wake
            default: nil
            }
        // What was due before the event is done first, as if the handler were there still.
        let isDue = before.nextDeadline.map { $0 <= now } ?? false
        if let gone, !isDue { handlers[gone] = nil }
        for effect in effects {
            observeCall(effect, after, at: now, journal)
            observeHandler(effect)
        }
        if let gone { handlers[gone] = nil }
        checkPush(event, effects)
        checkMissed(event, effects)
        checkOwner(event, effects, after)
        if effects.count == 1, effects.refusals.count == 1, before.nextDeadline.map({ $0 > now }) ?? true {
            check(after == before, "a refused event changed something: \(event)")
        }
        checkCalls(after, at: now)
        checkLanes(after, at: now)
    }
}

// MARK: - What each effect may be

extension CoordinatorChecks {
    private mutating func observeCall(
        _ effect: Effect, _ after: CoordinatorStateMachine, at now: BootInstant, _ journal: SimulatedJournal
    ) {
        switch effect {
        case .callChanged(let call):
            let state = call.machine.state.name
            let previous = states.updateValue(state, forKey: call.number)
            check(previous != .ended, "\(call.key) changed after its end")
            if state == .ringing, previous != .ringing {
                rings[call.key, default: 0] += 1
                check(rings[call.key] == 1, "\(call.key) rings again")
                check(now < call.machine.ringBefore, "\(call.key) rings too late")
                check(journal.calls[call.number]?.hasRung == true, "\(call.key) rings, which the journal does not have")
                check(!journal.takenBack.contains(call.key), "\(call.key) rings after it was taken back")
            }
            if state == .ended {
                ends += 1
                endedLast = call
            }
        case .strike(let key, _):
            check(endedLast?.key == key, "a strike for \(key), which did not end just now")
            check(strikes.insert(endedLast?.number ?? 0).inserted, "two strikes for \(key)")
        case .request(let action, let key, let deadline):
            let state: CallStateMachine.State.Name = action == .answer ? .answering : .ending
            check(states[after.call(key)?.number ?? 0] == state, "\(action) is asked of \(key)")
            check(deadline > now, "\(action) is asked of \(key) for a time gone by")
        case .tellPath(let key):
            let isOnTheLine = [.ringing, .answering, .connected].contains(states[after.call(key)?.number ?? 0])
            check(isOnTheLine, "\(key) is told of the path, which has nobody on the line")
        case .journalRing(let record):
            check(record.state == .ringing && record.hasRung, "the ring that is recorded is none")
            check(record.ringBefore > now, "\(record.key) is to be recorded as ringing too late")
            check(states[record.number] == .confirmed, "\(record.key) is to ring unconfirmed")
        default:
            break
        }
    }

    private mutating func observeHandler(_ effect: Effect) {
        switch effect {
        case .wake(let request):
            check(request.wake > newestWake, "\(request.wake) was given before")
            newestWake = max(newestWake, request.wake)
            handlers[request.wake] = Handler()
        case .stopHandler(let wake):
            check(handlers[wake]?.isStopped == false, "\(wake) is stopped, which is gone or was stopped before")
            handlers[wake]?.isStopped = true
        case .releaseHandler(let wake):
            check(handlers[wake]?.isReleased == false, "\(wake) is released, which is gone or was released before")
            handlers[wake]?.isReleased = true
        case .retainHandler(let wake):
            check(handlers[wake]?.isReleased == true, "\(wake) is retained, which was not released")
            check(handlers[wake]?.isStopped == false, "\(wake) is retained, which is being stopped")
            handlers[wake]?.isReleased = false
        case .pushWaits(let wake, _, _):
            check(handlers[wake]?.isStopped == false, "\(wake) is told of a push, which is gone or being stopped")
        default:
            break
        }
    }

    private mutating func checkPush(_ event: Event, _ effects: [Effect]) {
        guard case .pushReceived(let push, _, _) = event else {
            check(effects.journaled.isEmpty, "a push is journaled that did not come")
            return
        }
        if effects.refusals == [.tooManyCalls(push.app)] {
            check(effects.journaled.isEmpty, "a refused push is journaled")
        } else {
            check(
                effects.journaled.map(\.push.apnsID) == [push.apnsID] && effects.refusals.isEmpty,
                "a push is not journaled exactly once")
        }
    }

    /// What ended now and was missed is told exactly once, unless the journal knew the call.
    private mutating func checkMissed(_ event: Event, _ effects: [Effect]) {
        let isRepeat =
            switch event {
            case .pushJournaled(_, _, let isKnown), .ringJournaled(_, _, let isKnown): isKnown
            default: false
            }
        let ended = effects.compactMap { effect -> CallRecord? in
            guard case .callChanged(let call) = effect, call.machine.hasEnded else { return nil }
            return call.record
        }
        let told = effects.compactMap { if case .callMissed(let call) = $0 { call.number } else { nil } }
        // The late repeat of a known call is nobody's missed call; what was due before may be.
        let missed = ended.filter { $0.isMissed && !(isRepeat && $0.detail == CoordinatorChecks.repeatDetail) }
        check(told == missed.map(\.number), "missed are \(missed.map(\.key)), and told was \(told)")
    }

    /// A handler has a say in its own calls only.
    private mutating func checkOwner(_ event: Event, _ effects: [Effect], _ after: CoordinatorStateMachine) {
        switch event {
        case .reported(let key, _, _, let wake?), .ringConfirmed(let key, let wake?), .fulfilled(let key, _, let wake?),
            .actionFailed(let key, _, let wake?), .remoteEnded(let key, _, let wake?):
            guard effects.refusals.isEmpty, let call = after.call(key) else { return }
            check(call.handler == wake, "\(wake) has a say in \(key), which is not its")
        default:
            break
        }
    }

    static let repeatDetail = "it repeats a call that had ended"
}

// MARK: - What holds after every event

extension CoordinatorChecks {
    private mutating func checkCalls(_ after: CoordinatorStateMachine, at now: BootInstant) {
        for (key, call) in after.active {
            let (deadlines, due) = (call.machine.deadlines, call.machine.nextDeadline ?? now)
            check(key == call.key && !call.machine.hasEnded, "\(key) is among those that run and has ended")
            check(
                states[call.number] == call.machine.state.name, "nobody was told that \(key) is \(call.machine.state)")
            check(due > now, "\(key) has no deadline, or one gone by: \(call.machine.state)")
            let last =
                switch call.machine.state.name {
                case .queued: call.machine.ringBefore
                case .woken, .reported, .confirmed: min(now.advanced(by: deadlines.report), call.machine.ringBefore)
                case .ringing: now.advanced(by: deadlines.ring)
                case .answering, .ending: now.advanced(by: deadlines.action)
                case .connected: now.advanced(by: deadlines.connected)
                case .ended: now
                }
            check(due <= last, "\(key) has a deadline too far: \(call.machine.state)")
        }
        // What ended earlier was looked at then.
        for call in after.finished.suffix(4) {
            check(call.machine.hasEnded && after.active[call.key] == nil, "\(call.key) is finished and runs")
            check(call.unread.isEmpty, "\(call.key) is finished and keeps payloads")
        }
        let calls = after.active.values.compactMap(\.machine.nextDeadline).min()
        check(after.nextDeadline.map { $0 > now } ?? calls.map { _ in false } ?? true, "the timer would never rest")
        check(
            calls == nil || after.nextDeadline.map { deadline in calls.map { deadline <= $0 } ?? true } == true, "late")
        if after.nextDeadline != calls {
            let idle = after.lanes.values.contains { lane in
                !lane.waiting.isEmpty && lane.handlers.values.contains { $0.calls.isEmpty && !$0.isStopping }
            }
            check(idle, "the timer is set, and nothing is due then")
        }
    }

    private mutating func checkLanes(_ after: CoordinatorStateMachine, at now: BootInstant) {
        var places: [CallKey: Int] = [:]
        var alive: Set<WakeID> = []
        for (app, lane) in after.lanes {
            check(!lane.handlers.isEmpty, "calls of \(app) wait, and no handler runs")
            if lane.instances == .app, !changedApps.contains(app) {
                check(lane.handlers.count == 1, "\(app) has \(lane.handlers.count) handlers")
            }
            if lane.instances == .call { check(lane.waiting.isEmpty, "calls of \(app) wait for no reason") }
            let taker = lane.handlers.filter { !$0.value.isStopping }.min { $0.key < $1.key }
            if lane.instances == .app, !lane.waiting.isEmpty, taker?.value.calls.isEmpty == true {
                let last = now.advanced(by: CallDeadlines().report)
                check(after.nextDeadline.map { $0 <= last } == true, "an idle handler of \(app) may neglect calls")
            }
            for key in lane.waiting {
                places[key, default: 0] += 1
                let call = after.active[key]
                check(key.app == app && call?.handler == nil && call?.machine.state == .queued, "\(key) waits wrongly")
            }
            for (wake, handler) in lane.handlers {
                alive.insert(wake)
                for key in handler.calls {
                    places[key, default: 0] += 1
                    let call = after.active[key]
                    check(
                        key.app == app && call?.handler == wake && call?.machine.state != .queued, "\(key) is not its")
                }
                let known = handlers[wake]
                check(known?.isStopped == handler.isStopping, "\(wake) is stopping, and nobody was told")
                if handler.calls.isEmpty {
                    check(known?.isReleased == true || known?.isStopped == true, "\(wake) is idle, and was not told")
                } else {
                    check(known?.isReleased == false && known?.isStopped == false, "\(wake) has calls, and is to end")
                }
            }
        }
        check(alive == Set(handlers.keys), "the handlers that run are not those that were started")
        check(places.count == after.active.count && places.values.allSatisfy { $0 == 1 }, "a call has not one place")
    }
}
