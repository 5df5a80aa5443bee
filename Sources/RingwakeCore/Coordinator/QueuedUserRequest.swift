/// A call that the user answered, resumes or begins, queued until other calls are held or ended.
struct QueuedUserRequest: Hashable, Sendable {
    let call: CallKey
    /// `answer`, `unhold` or `start`.
    let action: CallAction
    /// The handler that asked for it; one that began a call gets it if it is connected. Nil: the user asked.
    let handler: WakeID?
    /// The calls that are being held or ended.
    let others: [CallKey]

    /// Whether the app's calls answer themselves, and nobody asked.
    var isByRule = false

    /// Whether it gives way to what the user asks for.
    var givesWay: Bool { handler != nil || isByRule }

    enum Progress {
        case waiting
        /// The others are held or have ended.
        case ready
        /// One of the others could not be held or ended.
        case blocked
        /// The call has changed or ended meanwhile.
        case obsolete
    }

    func progress(_ calls: [CallKey: Call]) -> Progress {
        let state: CallStateMachine.State.Name =
            switch action {
            case .answer: .ringing
            case .start: .queued
            default: .held
            }
        guard calls[call]?.machine.state.name == state else { return .obsolete }
        let others = others.compactMap { calls[$0]?.machine }
        if others.contains(where: { $0.isOnTheLine && !$0.isAsked(.hold) }) { return .blocked }
        return others.allSatisfy { !$0.isOnTheLine && $0.state.name != .ending } ? .ready : .waiting
    }
}

// MARK: - Requests that wait for other calls

extension CallEngine {
    /// Added to the deadlines of the other calls, because they may be applied a little late.
    private static let waitMargin = Duration.seconds(1)

    /// The calls on the line, but for those of the call's own conference.
    func inTheWay(of key: CallKey) -> [Call] {
        let call = calls.active[key]
        return calls.inOrder {
            $0.key != key && $0.machine.isOnTheLine && call?.isInConference(with: $0) != true
        }
    }

    func refusalToQueue(
        for key: CallKey, _ action: CallAction, _ others: OtherCalls, by wake: WakeID? = nil, byRule: Bool = false
    ) -> EventRefusal? {
        let isUser = wake == nil && !byRule
        if let request, !(isUser && request.givesWay) {
            return request.call == key ? .alreadyAsked(key, action) : .othersStay(key)
        }
        let isFree = inTheWay(of: key).allSatisfy { other in
            // What gives way to the user's request ends with it, if it has no handler yet.
            if request?.action == .start, request?.call == other.key { return true }
            // A handler has no say in calls of other apps: they are held, as for an answered call, and never ended.
            let isOthers = wake != nil && other.key.app != key.app
            if wake != nil, other.isEmergency, other.handler != wake { return false }
            return other.canBeHeld || (others == .end && !isOthers)
        }
        return isFree ? nil : .othersStay(key)
    }

    /// Holds or ends the other calls, and queues the user's request until that is done.
    mutating func queue(
        _ action: CallAction, of call: Call, _ others: OtherCalls, by wake: WakeID? = nil, byRule: Bool = false,
        at now: BootInstant
    ) -> [Effect] {
        let key = call.key
        if let refusal = refusalToQueue(for: key, action, others, by: wake, byRule: byRule) {
            return [.refused(refusal)]
        }
        // The user goes before what a handler began.
        var effects = request.map { drop($0, at: now) } ?? []
        let inTheWay = inTheWay(of: key)
        request = QueuedUserRequest(
            call: key, action: action, handler: wake, others: inTheWay.map(\.key), isByRule: byRule)
        // The deadlines of the other calls end the wait. The ring must not end before them.
        let latest = inTheWay.map { now.advanced(by: $0.machine.deadlines.action + Self.waitMargin) }.max()
        // A handler would make its call ring for ever.
        if wake == nil, let latest {
            effects += settle(key, at: now) { $0.ringOn(until: latest) }
        }
        for other in inTheWay {
            if others == .end, wake == nil || other.key.app == key.app {
                effects += end(other.key, insteadOfUser: wake == nil ? nil : .app, at: now)
            } else if !other.machine.isAsked(.hold) {
                effects += settle(other.key, at: now) { machine throws(Refusal) in try machine.hold(at: now) }
            }
        }
        return effects
    }

    /// The call answers itself, unless the device is in a call: the user decides then.
    mutating func answerByRule(_ call: Call, at now: BootInstant) -> [Effect] {
        calls.change(call.key) { $0.noteSelfAnswer() }
        // A call without a handler rings on: nothing could be heard in it.
        guard !isInCall, call.machine.lease == .taken,
            refusalToQueue(for: call.key, .answer, .hold, byRule: true) == nil
        else { return [] }
        return queue(.answer, of: call, .hold, byRule: true, at: now)
    }

    /// Why the call's handler may not let the microphone be heard by itself now; nil: it may.
    func refusalToOpenMicrophone(of call: Call) -> EventRefusal? {
        if isCellularActive, call.policy.whenCellular != .keep { return .cellularCall(call.key) }
        return call.policy.maySelfAnswer ? nil : .notForApp(call.key)
    }

    /// Applies the user's request once the other calls are held or have ended. Drops it if one of them stays.
    ///
    /// - Returns: the effects, and the request, if it was applied: its call may need a handler.
    mutating func proceed(at now: BootInstant) -> (effects: [Effect], done: QueuedUserRequest?) {
        guard let request else { return ([], nil) }
        let (key, progress) = (request.call, request.progress(calls.active))
        if progress == .waiting { return ([], nil) }
        self.request = nil
        if progress == .obsolete { return ([], nil) }
        if progress == .blocked { return (drop(request, at: now), nil) }
        if request.action == .start { return ([], request) }
        let isAnswer = request.action == .answer
        var effects = settle(
            key, at: now, by: request.handler, noting: isAnswer ? .answered : nil,
            insteadOfUser: request.isByRule ? .rule : nil
        ) { machine throws(Refusal) in
            isAnswer ? try machine.answer(at: now) : try machine.unhold(at: now)
        }
        guard !effects.contains(where: \.isRefusal) else { return ([.othersStayed(key)], nil) }
        if !isAnswer {
            effects += doToOthers(inConferenceOf: key, at: now) { machine throws(Refusal) in
                machine.state.name == .held ? try machine.unhold(at: now) : []
            }
        }
        return (effects, request)
    }
}

extension Call {
    /// Whether its handler can be asked to hold it, or already was.
    var canBeHeld: Bool {
        machine.state.name == .connected && update.supportsHold != false && !machine.isAsked(.merge)
            && (machine.lease == .taken || machine.isAsked(.hold))
    }

    /// Whether its handler is in contact with the caller's side, or is about to be.
    var hasPeerOnTheLine: Bool {
        [.ringing, .answering, .connecting, .connected, .held].contains(machine.state.name)
    }
}
