import RingwakeCore

// What holds after every event.
extension CoordinatorChecks {
    mutating func checkCalls(_ after: CoordinatorStateMachine, at now: BootInstant) {
        for (key, call) in after.active {
            let (machine, due) = (call.machine, call.machine.nextDeadline ?? now)
            check(key == call.key && !machine.hasEnded, "\(key) is among those that run and has ended")
            check(
                told[call.number]?.machine.state == machine.state || isSilent(call),
                "untold: \(key) is \(machine.state)")
            check(told[call.number]?.machine.lease == machine.lease, "untold: \(key) is \(machine.lease)")
            check(told[call.number]?.handler == call.handler, "untold: the handler of \(key)")
            check(due > now, "\(key) has no deadline, or one gone by: \(machine.state)")
            let last = latestEnd(of: machine, at: now)
            check(due <= last, "\(key) has a deadline too far: \(machine.state)")
            if let claimBy = machine.claimBy {
                let longest = max(machine.deadlines.claim, machine.deadlines.action)
                check(claimBy <= now.advanced(by: longest), "\(key) may be claimed for too long")
            }
            checkOwed(call)
        }
        let onTheLine = after.active.values.filter(\.isOnTheLine)
        let isOneLine = onTheLine.count <= 1 || Set(onTheLine.map(\.conference)).count == 1
        check(
            isOneLine && (onTheLine.count <= 1 || onTheLine.first?.conference != nil),
            "several calls are on the line: \(onTheLine.map(\.key))")
        for (conference, calls) in Dictionary(grouping: after.active.values, by: \.conference) where conference != nil {
            let takers = Set(calls.filter { $0.machine.lease == .taken }.map(\.handler))
            check(takers.count <= 1, "several handlers have a conference")
            check(
                calls.allSatisfy { [.connected, .held, .ending].contains($0.machine.state.name) },
                "one in a conference can't be heard")
        }
        let waiting = after.active.keys.filter { after.waitsForOthers($0) }
        check(waiting.count <= 1, "several calls wait for others")
        for key in waiting {
            check(
                [.ringing, .held, .queued].contains(after.active[key]?.machine.state.name)
                    || after.active[key]?.machine.pending.contains { $0.action == .hold } == true,
                "\(key) waits for others, and for what?")
            check(!after.ringingCalls.contains { $0.key == key }, "\(key) was answered and rings on")
            check(
                !onTheLine.isEmpty || after.active.values.contains { $0.machine.state.name == .ending }, "\(key) waits")
        }
        // What ended earlier was looked at then.
        for call in after.finished.suffix(4) {
            check(call.machine.hasEnded && after.active[call.key] == nil, "\(call.key) is finished and runs")
            check(call.pushes.unread.isEmpty, "\(call.key) is finished and keeps payloads")
        }
        checkTimer(after, at: now)
    }

    /// What changes and is told to nobody: when the journal is asked again, and, of a call that waits for others, nothing.
    private func isSilent(_ call: Call) -> Bool { call.machine.state.name == .confirmed }

    private func latestEnd(of machine: CallStateMachine, at now: BootInstant) -> BootInstant {
        let deadlines = machine.deadlines
        return switch machine.state.name {
        case .queued: machine.ringBefore
        case .woken, .reported, .confirmed: min(now.advanced(by: deadlines.report), machine.ringBefore)
        // One that was answered rings on until the others are out of the way.
        case .ringing: now.advanced(by: max(deadlines.ring, deadlines.action + .seconds(1)))
        case .answering, .dialling, .ending: now.advanced(by: deadlines.action)
        case .connecting: now.advanced(by: deadlines.dial)
        case .connected, .held: now.advanced(by: deadlines.connected)
        case .ended: now
        }
    }

    /// Whatever a call's handler owes it has been asked for.
    private mutating func checkOwed(_ call: Call) {
        let machine = call.machine
        for action in machine.owed {
            check(
                machine.lease != .taken || asked[call.number]?.contains(action) == true,
                "\(action.action) is owed of \(call.key), and was not asked for")
        }
        let names = machine.pending.map(\.action)
        check(names.count { $0 == .hold || $0 == .unhold } <= 1, "\(call.key) is to be held and not held")
        check(names.count { $0 == .merge } <= 1, "\(call.key) is to be merged twice")
        check(
            !names.contains(.merge) || machine.pending.allSatisfy { ($0.action == .merge) == ($0.with != nil) },
            "\(call.key) is to be merged, and with what?")
        check(names.count { $0 == .mute || $0 == .unmute } <= 1, "\(call.key) is to be muted and not muted")
        check(names.count { $0 == .dtmf } <= 32, "\(call.key) has too many digits")
    }

    private mutating func checkTimer(_ after: CoordinatorStateMachine, at now: BootInstant) {
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

    mutating func checkLanes(_ after: CoordinatorStateMachine, at now: BootInstant) {
        var places: [CallKey: Int] = [:]
        var alive: Set<WakeID> = []
        for (app, lane) in after.lanes {
            checkWaiting(app, lane, after, at: now)
            for key in lane.waiting { places[key, default: 0] += 1 }
            for (wake, handler) in lane.handlers {
                alive.insert(wake)
                for key in handler.calls {
                    places[key, default: 0] += 1
                    let call = after.active[key]
                    let isIts = key.app == app && call?.handler == wake && call?.machine.state != .queued
                    check(isIts, "\(key) is not its")
                }
                check(handler, wake)
            }
        }
        check(alive == Set(handlers.keys), "the handlers that run are not those that were started")
        let begun = after.active.values.filter { $0.machine.state == .queued && after.waitsForOthers($0.key) }
        check(begun.allSatisfy { $0.machine.isOutgoing && places[$0.key] == nil }, "one waits for others and a handler")
        let alone = after.active.values.filter { $0.machine.lease == .absent }
        check(alone.allSatisfy { $0.handler == nil && $0.ringer == .daemon }, "a call without a handler has one")
        check(alone.allSatisfy { places[$0.key] == nil }, "a call that is to have no handler waits for one")
        let placed = after.active.count - alone.count - begun.count
        let isPlaced = places.count == placed && places.values.allSatisfy { $0 == 1 }
        let lost = after.active.values.filter { $0.machine.lease != .absent && places[$0.key] != 1 }
        check(isPlaced, "not in one place: \(lost.map { "\($0.key) \($0.machine.state) \($0.machine.lease)" })")
    }

    private mutating func check(_ handler: HandlerLane.Handler, _ wake: WakeID) {
        let known = handlers[wake]
        check(known?.isStopped == handler.isStopping, "\(wake) is stopping, and nobody was told")
        check(known?.isConnected == handler.isConnected, "\(wake) keeps a connection, or not")
        guard handler.calls.isEmpty else {
            return check(known?.isReleased == false && known?.isStopped == false, "\(wake) has calls, and is to end")
        }
        let isTold = known?.isReleased == true || known?.isStopped == true || handler.isConnected
        check(isTold, "\(wake) is idle, and was not told")
    }

    private mutating func checkWaiting(
        _ app: AppID, _ lane: HandlerLane, _ after: CoordinatorStateMachine, at now: BootInstant
    ) {
        let isOut = after.isStruckOut(app)
        let started = lane.handlers.values.filter { !$0.cameByItself }
        let new = lane.waiting.filter { after.active[$0]?.machine.claimBy == nil }
        check(!lane.handlers.isEmpty || new.isEmpty, "calls of \(app) wait, and no handler runs")
        let ordinary = new.filter { after.active[$0]?.isEmergency != true }
        check(!isOut || ordinary.isEmpty, "new calls wait for \(app), which is struck out")
        for key in lane.waiting {
            let call = after.active[key]
            let isLost = if case .lost = call?.machine.lease { true } else { false }
            check(key.app == app && call?.handler == nil, "\(key) waits, and has a handler")
            check(call?.machine.state == .queued || isLost, "\(key) waits wrongly")
            let mayStart = lane.handlers.isEmpty || lane.instances == .call || lane.receiver != nil
            if isLost, mayStart, !isOut {
                check(claims[call?.number ?? 0, default: 0] >= 2, "\(key) could be given to a handler")
            }
        }
        if lane.instances == .app, !changedApps.contains(app) {
            check(started.count <= 1, "\(app) has \(started.count) handlers")
        }
        check(lane.handlers.count - started.count <= 8, "too many handlers of \(app) came by themselves")
        if lane.instances == .call || lane.receiver != nil { check(new.isEmpty, "calls of \(app) wait for no reason") }
        let taker = lane.handlers.filter { !$0.value.isStopping }.min { $0.key < $1.key }
        if lane.instances == .app, lane.receiver == nil, !lane.waiting.isEmpty, taker?.value.calls.isEmpty == true {
            let last = now.advanced(by: CallDeadlines().report)
            check(after.nextDeadline.map { $0 <= last } == true, "an idle handler of \(app) may neglect calls")
        }
    }
}

extension Call {
    /// Whether the person talks in it, or is about to.
    fileprivate var isOnTheLine: Bool {
        switch machine.state.name {
        case .answering, .dialling, .connecting, .connected: true
        case .held: machine.pending.contains { $0.action == .unhold }
        default: false
        }
    }
}
