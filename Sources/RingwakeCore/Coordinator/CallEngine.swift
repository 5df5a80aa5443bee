/// All calls, their handlers and the user's line. Applies inputs to calls, and updates lanes, strikes and other calls.
///
/// What holds after every event: each call in progress waits in its app's lane, belongs to one of the lane's handlers,
/// rings without a handler, or is an outgoing one that waits until others are held or ended for it.
struct CallEngine: Hashable, Sendable {
    typealias Refusal = CallStateMachine.Refusal

    var calls: CallTable
    var handlers: AppHandlers
    var pace: CallPace
    let limits: CoordinatorStateMachine.Limits
    /// The user's request that waits until other calls are held or ended.
    var request: QueuedUserRequest?
    /// Whether the device has a cellular call.
    private(set) var isCellularActive = false

    /// Applies one input to a call, and converts its outputs to effects.
    ///
    /// - Parameters:
    ///   - wake: the handler that sent the input, which must have the call; nil for other inputs.
    ///   - standIn: who sent the input instead of the user, if it is not a handler.
    ///   - isCharged: whether a strike counts. One failure of a handler with several calls is one strike.
    mutating func settle(
        _ key: CallKey, at now: BootInstant, by wake: WakeID? = nil, noting stage: TimelineEntry.Stage? = nil,
        insteadOfUser standIn: TimelineEntry.StandIn? = nil, updating update: CallUpdate? = nil,
        restricting restriction: Restriction? = nil, isCharged: Bool = true,
        _ input: (inout CallStateMachine) throws(Refusal) -> [CallStateMachine.Output]
    ) -> [Effect] {
        guard let call = calls[key] else { return [.refused(.unknownCall(key))] }
        guard wake == nil || call.handler == wake else { return [.refused(.notOwned(key))] }
        return settle(
            call, at: now, noting: stage, by: standIn ?? (wake == nil ? nil : .app), updating: update,
            restricting: restriction, isCharged: isCharged, input)
    }

    /// The same for a call that is at hand, and perhaps not stored yet.
    mutating func settle(
        _ call: Call, at now: BootInstant, noting stage: TimelineEntry.Stage? = nil,
        by standIn: TimelineEntry.StandIn? = nil, updating update: CallUpdate? = nil,
        restricting restriction: Restriction? = nil, isCharged: Bool = true,
        _ input: (inout CallStateMachine) throws(Refusal) -> [CallStateMachine.Output]
    ) -> [Effect] {
        var call = call
        let former = call
        do {
            let outputs = try call.apply(
                at: now, noting: stage, by: standIn, updating: update, restricting: restriction, input)
            guard let outputs else { return [] }
            calls.file(call)
            return follow(outputs, of: call, former, isCharged: isCharged, at: now)
        } catch {
            return [.refused(EventRefusal(error, call.key))]
        }
    }

    private mutating func follow(
        _ outputs: [CallStateMachine.Output], of call: Call, _ before: Call, isCharged: Bool, at now: BootInstant
    ) -> [Effect] {
        let former = before.handler
        var effects: [Effect] = []
        var isReported = false
        for output in outputs {
            switch output {
            case .entered, .changed:
                // The effect contains the final state of the call, so one is enough.
                if !isReported { effects.append(.callChanged(call)) }
                isReported = true
            case .journalRing: effects.append(.journalRing(call.journalRecord))
            case .request(let action): effects.append(.request(action, call.key))
            case .strike(let failure): if isCharged { effects += handlers.strike(failure, in: call, at: now) }
            case .stopHandler: break
            }
        }
        let hasEnded = call.machine.hasEnded
        if hasEnded, let restriction = call.restriction { effects.append(.restricted(call.key, restriction)) }
        if call.isToBeToldAsMissed { effects.append(.callMissed(call)) }
        if hasEnded || (former != nil && call.handler == nil) {
            let isReleased = handlers.ended(call.key, of: former, at: now)
            let isHanging = outputs.contains(.stopHandler)
            let stop = isHanging ? handlers.stopIfIdle(former, of: call.key.app, at: now) : []
            effects += stop
            if stop.isEmpty, isReleased, let former { effects.append(.releaseHandler(former)) }
        }
        if case .lost = call.machine.lease { waitForClaim(call, at: now) }
        if hasEnded { effects += withdrawMerges(with: call.key, at: now) }
        if hasEnded, let conference = before.conference { effects += dissolve(conference) }
        if hasEnded, call.wasEndedInFocus { effects += resumeHeld(at: now) }
        return effects
    }

    /// Resumes the one held call, or the one held conference, after the user hung up. Not after the other side hung up,
    /// because the user might be overheard, nor if several are held, because either could be meant.
    private mutating func resumeHeld(at now: BootInstant) -> [Effect] {
        guard request == nil, !isCellularActive, !calls.active.values.contains(where: { $0.machine.isOnTheLine }) else {
            return []
        }
        let held = calls.inOrder { $0.machine.state.name == .held }
        guard let first = held.first, held.allSatisfy({ $0.machine.lease == .taken }),
            held.dropFirst().allSatisfy({ $0.isInConference(with: first) })
        else { return [] }
        return held.flatMap { call in
            settle(call.key, at: now) { machine throws(Refusal) in try machine.unhold(at: now) }
        }
    }

    /// Whether a call is in progress, including a cellular one. A further ringing call is then a waiting call.
    var isInCall: Bool {
        isCellularActive
            || calls.containsReported { $0.machine.isOnTheLine || $0.machine.state.name == .held }
    }

    /// Whether to reject the call because another one is in progress.
    func isBusy(for key: CallKey) -> Bool { calls.active[key]?.policy.whenBusy == .reject && isInCall }

    /// What happens if the call's handler fails before the ring. If the policy rejects calls while another is in
    /// progress, the call does not ring.
    func fallback(for call: Call) -> CallFallback {
        call.policy.fallback == .ring && !isBusy(for: call.key) ? .ring : .missed
    }

    /// Applies the call's deadlines up to `now`.
    mutating func advance(_ call: Call, at now: BootInstant) -> [Effect] {
        let fallback = fallback(for: call)
        if let due = call.answersItselfAt, due <= now, let deadline = call.machine.nextDeadline, deadline > now {
            return answerByRule(call, at: now)
        }
        return settle(call.key, at: now) { machine in
            // The journal doesn't answer: the call rings from memory.
            if call.policy.unrecorded == .ring, machine.state.name == .confirmed,
                machine.stateDeadline.map({ $0 <= now }) == true
            {
                return machine.ringJournaled(at: now)
            }
            return machine.advance(to: now, fallback: fallback)
        }
    }

    /// Queues the call for a handler that claims it: before new calls, after earlier calls to be claimed.
    mutating func waitForClaim(_ call: Call, at now: BootInstant) {
        let waiting = handlers.waiting(call.key.app)
        guard !waiting.contains(call.key) else { return }
        let position = waiting.prefix { calls.active[$0]?.machine.claimBy != nil }.count
        handlers.wait(call.key, call.policy, position: position, at: now)
    }

    // MARK: - A new call, and the one that it replaces

    /// Why a push may not start a call now; nil if it may. There has to be room for another call and another handler:
    /// handlers outlive their calls for a while.
    ///
    /// - Parameter former: the call that makes room for the new one.
    func refusal(of push: VerifiedPush, replacing former: Call?, at now: BootInstant) -> EventRefusal? {
        guard hasRoom(push.app, leaving: former == nil ? 0 : 1) else { return .tooManyCalls(push.app) }
        return pace.allows(push, at: now) ? nil : .tooManyPushes(push.app)
    }

    private func hasRoom(_ app: AppID, leaving: Int = 0) -> Bool {
        calls.active.count - leaving < limits.activeCalls
            && calls.activeCount(of: app) - leaving < limits.activeCallsOfAnApp
            && handlers.count < limits.activeCalls
            && handlers.lanes[app]?.handlers.count ?? 0 < limits.activeCallsOfAnApp
    }

    /// The call whose place a push that starts a call takes: it waits in the lane of the same app, came from the same
    /// sender by the same door and with the same collapse id, and no handler has ever had it. A call that was given to
    /// a handler is never replaced, even if it waits for another one: it may have been shown to a person.
    func waiting(replacedBy push: VerifiedPush) -> Call? {
        guard let collapseID = push.collapseID else { return nil }
        return handlers.waiting(push.app).lazy.compactMap { calls.active[$0] }.first { call in
            call.collapseID == collapseID && call.provenance == push.provenance && call.attempt == 0
                && call.machine.state == .queued
        }
    }

    /// Ends a waiting call, because a push has taken its place.
    mutating func replace(_ call: Call, at now: BootInstant) -> [Effect] {
        settle(call.key, at: now) { $0.abandon(.replaced, "a later push with the same collapse id took its place") }
    }

    // MARK: - Events of one call, and of the user's line

    mutating func apply(_ event: Event, at now: BootInstant) -> [Effect] {
        switch event {
        case .fulfilled(let key, .merge, let wake, _): return fulfillMerge(key, by: wake, at: now)
        case .fulfilled(let key, let action, let wake, let audio):
            let effects = settle(key, at: now, by: wake) { machine throws(Refusal) in
                try machine.fulfill(action, at: now)
            }
            if let audio, !effects.contains(where: \.isRefusal) { calls.change(key) { $0.configureAudio(audio) } }
            return effects
        case .actionFailed(let key, let action, let wake):
            return settle(key, at: now, by: wake) { machine throws(Refusal) in try machine.fail(action) }
        case .remoteEnded(let key, let reason, let wake):
            return settle(key, at: now, by: wake) { $0.remoteEnded(reason) }
        case .audioConfigured(let key, let configuration, let wake):
            guard let call = calls[key] else { return [.refused(.unknownCall(key))] }
            guard wake == nil || call.handler == wake else { return [.refused(.notOwned(key))] }
            guard !call.machine.hasEnded else { return [.refused(.wrongState(key, call.machine.state))] }
            guard call.audioConfiguration != configuration else { return [] }
            return calls.change(key) { $0.configureAudio(configuration) }.map { [.callNoted($0)] } ?? []
        case .updated(let key, let update, let wake): return self.update(key, update, by: wake, at: now)
        case .audioChanged(let key, let change):
            guard var call = calls[key], call.apply(change, at: now) else { return [] }
            calls.file(call)
            return [.callNoted(call), .reportAudio(call, change)]
        case .startRequested(let call, let policy, let wake): return start(call, policy, by: wake, at: now)
        case .progressed(let key, let progress, let wake):
            return settle(key, at: now, by: wake) { machine throws(Refusal) in try machine.report(progress, at: now) }
                + note(progress.stage, of: key, by: wake, at: now)
        case .answerRequested(let key, let others, let wake): return answer(key, others: others, by: wake, at: now)
        case .holdRequested(let key, true, _, let wake): return hold(key, by: wake, at: now)
        case .holdRequested(let key, false, let others, let wake): return unhold(key, others: others, by: wake, at: now)
        case .declineRequested(let key, let wake):
            return settle(key, at: now, by: wake, noting: .hungUp) { machine throws(Refusal) in
                try machine.decline(at: now)
            }
        case .endRequested(let key, let wake):
            // An app that ends a call may do so at any time: a held call is resumed only when the user hangs up.
            if wake == nil { calls.change(key) { $0.noteHangUp() } }
            return end(key, by: wake, at: now)
        case .muteRequested(let key, let isMuted, let wake):
            if wake != nil, !isMuted, let call = calls[key], call.handler == wake, !call.policy.maySelfAnswer {
                return [.refused(.notForApp(key))]
            }
            let effects = settle(key, at: now, by: wake) { machine throws(Refusal) in
                try machine.mute(isMuted, at: now)
            }
            guard !effects.contains(where: \.isRefusal) else { return effects }
            return effects
                + doToOthers(inConferenceOf: key, at: now) { machine throws(Refusal) in
                    try machine.mute(isMuted, at: now)
                }
        case .digitsRequested(let key, let digits, let wake):
            if let refusal = unsupported(.dtmf, in: key) { return [refusal] }
            return settle(key, at: now, by: wake) { machine throws(Refusal) in try machine.play(digits, at: now) }
        case .mergeRequested(let key, let other, let wake): return merge(key, with: other, by: wake, at: now)
        case .cellularChanged(let isActive): return cellularChanged(isActive, at: now)
        case .networkChanged: return calls.inOrder(\.hasPeerOnTheLine).map { .reportPath($0.key) }
        default:
            // `deadlineReached`: all deadlines have already been applied.
            return []
        }
    }

    mutating func end(
        _ key: CallKey, by wake: WakeID? = nil, insteadOfUser standIn: TimelineEntry.StandIn? = nil,
        at now: BootInstant
    ) -> [Effect] {
        settle(key, at: now, by: wake, noting: .hungUp, insteadOfUser: standIn) { machine throws(Refusal) in
            try machine.end(at: now, isByHandler: wake != nil)
        }
    }

    private mutating func answer(
        _ key: CallKey, others: OtherCalls?, by wake: WakeID?, at now: BootInstant
    ) -> [Effect] {
        guard let call = calls[key] else { return [.refused(.unknownCall(key))] }
        guard wake == nil || call.handler == wake else { return [.refused(.notOwned(key))] }
        if wake != nil, let refusal = refusalToOpenMicrophone(of: call) { return [.refused(refusal)] }
        guard case .ringing = call.machine.state else { return [.refused(.wrongState(key, call.machine.state))] }
        guard call.machine.lease == .taken || !handlers.strikes.isStruckOut(key.app) else {
            return [.refused(.struckOut(key.app))]
        }
        return queue(.answer, of: call, others ?? call.policy.others, by: wake, at: now)
    }

    private mutating func hold(_ key: CallKey, by wake: WakeID?, at now: BootInstant) -> [Effect] {
        var effects: [Effect] = []
        if let request, request.call == key {
            // An app that resumes its call gives way to the user who holds it.
            guard wake == nil, request.givesWay, request.action == .unhold else {
                return [.refused(.alreadyAsked(key, request.action))]
            }
            effects = drop(request, at: now)
        }
        if let refusal = refusalToHold(key) { return [refusal] }
        effects += settle(key, at: now, by: wake) { machine throws(Refusal) in try machine.hold(at: now) }
        guard !effects.contains(where: \.isRefusal) else { return effects }
        return effects
            + doToOthers(inConferenceOf: key, at: now) { machine throws(Refusal) in
                machine.state.name == .connected ? try machine.hold(at: now) : []
            }
    }

    private mutating func unhold(
        _ key: CallKey, others: OtherCalls?, by wake: WakeID?, at now: BootInstant
    ) -> [Effect] {
        guard let call = calls[key] else { return [.refused(.unknownCall(key))] }
        guard wake == nil || call.handler == wake else { return [.refused(.notOwned(key))] }
        if wake != nil, let refusal = refusalToOpenMicrophone(of: call) { return [.refused(refusal)] }
        // Check that the call can be resumed before other calls are held or ended for it.
        var trial = call.machine
        do {
            if try trial.unhold(at: now).isEmpty { return [] }
        } catch {
            return [.refused(EventRefusal(error, key))]
        }
        return queue(.unhold, of: call, others ?? call.policy.others, by: wake, at: now)
    }

    // MARK: - Outgoing calls

    /// Begins a call: a handler gets it when other calls are held or have ended. Nothing keeps a call to an emergency
    /// number from being tried.
    private mutating func start(
        _ outgoing: OutgoingCall, _ policy: AppPolicy, by wake: WakeID?, at now: BootInstant
    ) -> [Effect] {
        let (key, app) = (outgoing.key, outgoing.key.app)
        guard calls[key] == nil else { return [.refused(.knownCall(key))] }
        let others = outgoing.others ?? policy.others
        if let refusal = refusal(of: outgoing, others, policy, by: wake, at: now) { return [.refused(refusal)] }
        if wake != nil { pace.note(outgoing: app, at: now) }
        let call = Call(number: calls.nextNumber, outgoing, policy, at: now)
        calls.file(call)
        guard outgoing.isEmergency else {
            return [.callChanged(call)] + queue(.start, of: call, others, by: wake, at: now)
        }
        let effects = wake == nil ? handlers.clearStrikes(of: app) ?? [] : []
        return effects + [.callChanged(call)] + startAtOnce(call, by: wake, at: now)
    }

    /// The others end meanwhile: their handlers can't keep this one waiting.
    private mutating func startAtOnce(_ call: Call, by wake: WakeID? = nil, at now: BootInstant) -> [Effect] {
        let effects = request.map { drop($0, at: now) } ?? []
        request = QueuedUserRequest(call: call.key, action: .start, handler: wake, others: [])
        return effects
            + inTheWay(of: call.key).flatMap { end($0.key, insteadOfUser: wake == nil ? nil : .app, at: now) }
    }

    /// What only a handler begins is bounded, emergency calls too: nobody can tell whether a person asked for it.
    private func refusal(
        of outgoing: OutgoingCall, _ others: OtherCalls, _ policy: AppPolicy, by wake: WakeID?, at now: BootInstant
    ) -> EventRefusal? {
        let key = outgoing.key
        if wake != nil {
            guard hasRoom(key.app), pace.allows(outgoing: key.app, at: now) else { return .tooManyPushes(key.app) }
        }
        if outgoing.isEmergency {
            // One that another handler has goes on.
            let isFree = wake == nil || inTheWay(of: key).allSatisfy { !$0.isEmergency || $0.handler == wake }
            return isFree ? nil : .othersStay(key)
        }
        if wake != nil, !policy.maySelfAnswer { return .notForApp(key) }
        if isCellularActive { return .cellularCall(key) }
        if handlers.strikes.isStruckOut(key.app) { return .struckOut(key.app) }
        guard hasRoom(key.app) else { return .tooManyCalls(key.app) }
        return refusalToQueue(for: key, .start, others, by: wake, at: now)
    }

    /// An outgoing call of the last run that no handler has got yet.
    mutating func startAgain(_ call: Call, at now: BootInstant) -> [Effect] {
        guard call.update.lockedBy == nil else {
            let detail = "ringwaked was restarted, and whom to call can't be read until the device is unlocked"
            return settle(call.key, at: now) { $0.abandon(.failed, detail) }
        }
        if call.isEmergency { return startAtOnce(call, at: now) }
        let effects = queue(.start, of: call, call.policy.others, at: now)
        return effects.contains(where: \.isRefusal) ? fail(call.key, at: now) : effects
    }

    mutating func fail(_ key: CallKey, at now: BootInstant) -> [Effect] {
        settle(key, at: now) { $0.abandon(.failed, "another call could not be held or ended for it") }
    }

    /// The handler reported a stage in which the state did not change.
    private mutating func note(
        _ stage: TimelineEntry.Stage, of key: CallKey, by wake: WakeID?, at now: BootInstant
    ) -> [Effect] {
        guard let call = calls.active[key], call.machine.isOutgoing, wake == nil || call.handler == wake,
            !call.timeline.contains(where: { $0.stage == stage })
        else { return [] }
        return calls.change(key) { $0.note(stage, at: now) }.map { [.callNoted($0)] } ?? []
    }

    private mutating func cellularChanged(_ isActive: Bool, at now: BootInstant) -> [Effect] {
        guard isActive != isCellularActive else { return [] }
        isCellularActive = isActive
        // A held call can't be heard again now.
        let withdrawn =
            isActive ? calls.inOrder { _ in true }.flatMap { settle($0.key, at: now) { $0.withdrawMerge() } } : []
        let changed = calls.inOrder { _ in true }.flatMap { call -> [Effect] in
            let key = call.key
            guard isActive, !call.isEmergency else { return settle(key, at: now) { $0.yieldNoMore() } }
            switch call.policy.whenCellular {
            case .keep: return []
            case .hold where call.update.supportsHold != false: return settle(key, at: now) { $0.yield(at: now) }
            // What can't be held has to make way all the same.
            case .hold, .end:
                guard call.machine.isOnTheLine else { return [] }
                return settle(key, at: now) { machine throws(Refusal) in try machine.end(at: now) }
            }
        }
        return withdrawn + changed
    }
}
