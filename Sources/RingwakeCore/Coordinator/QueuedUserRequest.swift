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
    /// Whether the call is being held for one that the user hung up meanwhile: it is resumed as soon as it is held.
    var isReturn = false

    /// Whether it gives way to what the user asks for.
    var givesWay: Bool { handler != nil || isByRule || isReturn }

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
        if isReturn {
            if others.contains(where: { calls[$0]?.machine.isAsked(.hold) == true }) { return .waiting }
            return others.contains { calls[$0]?.machine.state.name == .held } ? .ready : .obsolete
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
        for key: CallKey, _ action: CallAction, _ others: OtherCalls, by wake: WakeID? = nil, byRule: Bool = false,
        at now: BootInstant
    ) -> EventRefusal? {
        let isUser = wake == nil && !byRule
        if let request, !(isUser && request.givesWay) {
            return request.call == key ? .alreadyAsked(key, action) : .othersStay(key)
        }
        let inTheWay = inTheWay(of: key)
        // An app that takes the line again and again would leave no other one to the user.
        if wake != nil, !inTheWay.isEmpty, !pace.allows(outgoing: key.app, at: now) { return .tooManyPushes(key.app) }
        let isFree = inTheWay.allSatisfy { other in
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
        if let refusal = refusalToQueue(for: key, action, others, by: wake, byRule: byRule, at: now) {
            return [.refused(refusal)]
        }
        // The user goes before what a handler began.
        var effects = request.map { drop($0, at: now) } ?? []
        let inTheWay = inTheWay(of: key)
        // A call that a handler begins has been counted.
        if wake != nil, action != .start, !inTheWay.isEmpty { pace.note(outgoing: key.app, at: now) }
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
            refusalToQueue(for: call.key, .answer, .hold, byRule: true, at: now) == nil
        else { return [] }
        return queue(.answer, of: call, .hold, byRule: true, at: now)
    }

    /// Why the call's handler may not let the microphone be heard by itself now; nil: it may.
    func refusalToOpenMicrophone(of call: Call) -> EventRefusal? {
        if isCellularActive, call.policy.whenCellular != .keep { return .cellularCall(call.key) }
        return call.policy.maySelfAnswer ? nil : .notForApp(call.key)
    }

    /// The user's request can't be carried out. An outgoing call ends then; another one stays as it is.
    mutating func drop(_ dropped: QueuedUserRequest, at now: BootInstant) -> [Effect] {
        request = nil
        if dropped.isReturn { return [] }
        return dropped.action == .start ? fail(dropped.call, at: now) : [.othersStayed(dropped.call)]
    }

    /// The user hung up the call that others are being held for. The one that is, or the one conference, comes back.
    private func returning(from request: QueuedUserRequest) -> QueuedUserRequest? {
        guard !request.givesWay, [.localEnded, .declined].contains(calls[request.call]?.machine.state.endReason)
        else { return nil }
        let held = request.others.compactMap { calls.active[$0] }.filter {
            $0.machine.state.name == .held || $0.machine.isAsked(.hold)
        }
        guard let first = held.first, held.dropFirst().allSatisfy({ $0.isInConference(with: first) }) else {
            return nil
        }
        return QueuedUserRequest(
            call: first.key, action: .unhold, handler: nil, others: held.map(\.key), isReturn: true)
    }

    /// Whether what was asked for without the user has been forbidden meanwhile.
    private func isWithdrawn(_ request: QueuedUserRequest) -> Bool {
        guard let call = calls.active[request.call] else { return false }
        if request.isByRule { return call.policy.autoAnswer == nil }
        return request.handler != nil && request.action != .start && refusalToOpenMicrophone(of: call) != nil
    }

    /// Applies the user's request once the other calls are held or have ended. Drops it if one of them stays.
    ///
    /// - Returns: the effects, and the request, if it was applied: its call may need a handler.
    mutating func proceed(at now: BootInstant) -> (effects: [Effect], done: QueuedUserRequest?) {
        guard let request else { return ([], nil) }
        let progress = request.progress(calls.active)
        let held = request.others.first { calls.active[$0]?.machine.state.name == .held }
        let key = request.isReturn ? held ?? request.call : request.call
        if progress == .waiting { return ([], nil) }
        self.request = nil
        if progress == .obsolete {
            self.request = returning(from: request)
            return self.request == nil ? ([], nil) : proceed(at: now)
        }
        // What the user did not ask for is not done during a cellular call.
        if request.isReturn, isCellularActive { return ([], nil) }
        if progress == .blocked || isWithdrawn(request) { return (drop(request, at: now), nil) }
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
