/// The life of one call. An outgoing one goes another way until it is *connected* (``OutgoingCall``).
///
///     start --> queued --wake--> woken --report--> reported --confirmRing--> confirmed --ringJournaled--> ringing
///                 |                |                  |                         |                         |
///                 |                +------------------+--- fallback: ring ------^            answer       |
///                 |                |                  |                         |       +-----------------+
///                 |                |                  |                         |       v                 |
///                 |                |                  |                         |   answering -fulfill-> connected <-+
///                 |                |                  |                         |       |                 |   |      |
///                 |                |                  |                         |       |                 |  hold    |
///                 |                |                  |                         |       |                 |   v unhold
///                 |                +------------------+--- end, decline, busy --+-------+-----------------+-- held --+
///                 |                                               v
///                 |                                            ending
///                 |                                               | fulfill, fail
///                 v                                               v
///               ended <--- deadline, expiry, cancel, remoteEnded, a handler's failure, from every state
///
/// The labels of the arrows are functions. Also: *woken* becomes *queued* again with ``reassign()``, and *woken*,
/// *reported* and *confirmed* with ``handlerLostAtRestart(at:)``. If `fallback` is `ring`,
/// ``handlerGone(_:_:fallback:at:)`` and ``advance(to:fallback:)`` lead from these three to *confirmed*, and the daemon
/// makes the call ring.
///
/// Every state except *ended* has a deadline, so each call ends by itself. Each call also has a ``Lease``: whether a
/// handler has it.
package struct CallStateMachine: Hashable, Sendable {
    package private(set) var state: State
    /// Whether a handler has the call.
    package private(set) var lease: Lease
    /// The user's requests to a connected or held call.
    var actions: InCallActions
    /// The call must not start to ring at this instant or later. An outgoing one must have a handler before.
    package let ringBefore: BootInstant
    /// The maximum durations of its states.
    package let deadlines: CallDeadlines
    /// Whether the user of this device began it.
    package let isOutgoing: Bool

    /// The delay before the journal is asked again after it failed to record a ring.
    private static let journalRetry = Duration.milliseconds(500)

    /// A new call in state *queued*.
    package init(deadlines: CallDeadlines, ringBefore: BootInstant, isOutgoing: Bool = false) {
        self.init(deadlines: deadlines, ringBefore: ringBefore, state: .queued, isOutgoing: isOutgoing)
    }

    /// A call restored to a given state.
    init(
        deadlines: CallDeadlines, ringBefore: BootInstant, state: State, lease: Lease = .taken,
        actions: InCallActions = InCallActions(), isOutgoing: Bool = false
    ) {
        self.deadlines = deadlines
        self.ringBefore = ringBefore
        self.state = state
        self.lease = lease
        self.actions = actions
        self.isOutgoing = isOutgoing
    }

    /// When ``advance(to:fallback:)`` has something to do; nil once the call has ended.
    package var nextDeadline: BootInstant? {
        guard let first = stateDeadline else { return nil }
        return min(first, claimBy ?? first, actions.nextDeadline ?? first)
    }

    /// When the state ends by itself; nil once the call has ended.
    package var stateDeadline: BootInstant? { state.deadline(ringBefore: ringBefore) }

    /// The deadline for a handler to claim a call that lost its own; nil while it has a handler or needs none.
    package var claimBy: BootInstant? { lease.claimBy }

    /// The unanswered requests to the handler of a connected or held call, the oldest first. The answer and the end of
    /// the call are not among them.
    package var pending: [PendingAction] { actions.pending }

    /// Whether the handler has muted the microphone.
    package var isMuted: Bool { actions.isMuted }

    /// Whether this request to the handler is unanswered.
    package func isAsked(_ action: CallAction) -> Bool { actions.contains(action) }
    package var hasEnded: Bool { state.isEnded }

    /// Whether the user talks in the call, or is about to.
    var isOnTheLine: Bool {
        switch state.name {
        case .queued: isOutgoing
        case .answering, .dialling, .connecting, .connected: true
        default: isAsked(.unhold) || isAsked(.merge)
        }
    }

    mutating func enter(_ next: State) -> [Output] {
        state = next
        if ![.connecting, .connected, .held].contains(next.name) { actions.removeAll() }
        // A call that has ended need not be claimed.
        if case .ended = next { lease = .taken }
        return [.entered(next)]
    }

    mutating func finish(_ reason: CallEndReason, _ detail: String? = nil) -> [Output] {
        enter(.ended(reason, detail: detail))
    }

    // MARK: - Until it rings

    /// A handler was asked to start for the call, or has fetched it.
    package mutating func wake(at now: BootInstant) throws(Refusal) -> [Output] {
        guard case .queued = state else { throw Refusal(state: state) }
        return isOutgoing ? dial(by: actBy(now)) : enter(.woken(reportBy: now.advanced(by: deadlines.report)))
    }

    /// The handler reported the call: provisional, it does not ring yet. Changes nothing if the call is reported already.
    package mutating func report(at now: BootInstant) throws(Refusal) -> [Output] {
        if state.name == .reported || state.isConfirmed { return [] }
        guard case .woken = state else { throw Refusal(state: state) }
        return enter(.reported(confirmBy: now.advanced(by: deadlines.report)))
    }

    /// The handler reported the call, and the new information keeps it from ringing.
    package mutating func restrict(_ reason: CallEndReason, _ detail: String) throws(Refusal) -> [Output] {
        guard case .woken = state else { throw Refusal(state: state) }
        return finish(reason, detail)
    }

    /// The handler reported or confirmed the call during another one, and must signal busy to the caller.
    package mutating func reject(at now: BootInstant) throws(Refusal) -> [Output] {
        guard state.name == .woken || state.name == .reported else { throw Refusal(state: state) }
        return askToEnd(.busy, at: now)
    }

    /// The handler confirmed the reported call. It rings once the journal has recorded that, unless it has expired.
    /// Changes nothing if the call is confirmed already.
    package mutating func confirmRing(at now: BootInstant) throws(Refusal) -> [Output] {
        if state.isConfirmed { return [] }
        guard case .reported = state else { throw Refusal(state: state) }
        guard now < ringBefore else { return finish(.expired) }
        return enter(.confirmed(by: now.advanced(by: deadlines.report), retryAt: nil)) + [.journalRing]
    }

    /// The journal has recorded the ring: the call rings, unless it has expired. Changes nothing in other states.
    package mutating func ringJournaled(at now: BootInstant) -> [Output] {
        guard case .confirmed = state else { return [] }
        guard now < ringBefore else { return finish(.expired) }
        return enter(.ringing(until: now.advanced(by: deadlines.ring)))
    }

    /// The journal failed to record the ring. The call rings from memory, or the journal is asked again in time.
    package mutating func ringNotJournaled(_ then: UnrecordedCall, at now: BootInstant) -> [Output] {
        guard then == .missed else { return ringJournaled(at: now) }
        guard case .confirmed(let deadline, _) = state else { return [] }
        state = .confirmed(by: deadline, retryAt: now.advanced(by: Self.journalRetry))
        return []
    }

    /// No handler is started for the call.
    package mutating func withhold(
        _ fallback: CallFallback, _ detail: String, at now: BootInstant
    ) throws(Refusal) -> [Output] {
        guard case .queued = state else { throw Refusal(state: state) }
        return fallBack(fallback, detail, at: now)
    }

    /// The handler failed before the call rang. The call ends, or the daemon makes it ring if there is time.
    private mutating func fallBack(_ fallback: CallFallback, _ detail: String?, at now: BootInstant) -> [Output] {
        guard fallback == .ring, !isOutgoing, now < ringBefore else { return finish(.handlerFailed, detail) }
        lease = .absent
        // The journal has already been asked, or will be asked again.
        if case .confirmed = state { return [.changed] }
        return enter(.confirmed(by: now.advanced(by: deadlines.report), retryAt: nil)) + [.journalRing]
    }

    /// The sender cancelled the call. After the user has answered, the two sides settle it between them.
    package mutating func cancel(_ reason: CallEndReason) throws(Refusal) -> [Output] {
        guard state.awaitsRing || state.name == .ringing else { throw Refusal(state: state) }
        return finish(reason)
    }

    /// Ends a call in any state without asking its handler.
    package mutating func abandon(_ reason: CallEndReason, _ detail: String?) -> [Output] {
        hasEnded ? [] : finish(reason, detail)
    }

    // MARK: - Requests of the user

    /// The user answered. A call without a handler waits for one only as long as for the answer itself.
    package mutating func answer(at now: BootInstant) throws(Refusal) -> [Output] {
        guard case .ringing = state else { throw Refusal(state: state) }
        let deadline = actBy(now)
        if lease == .absent { lease = .lost(claimBy: deadline) }
        // The handler that claims the call gets the request then.
        let requests = lease == .taken ? [Output.request(PendingAction(.answer, by: deadline))] : []
        return enter(.answering(fulfillBy: deadline)) + requests
    }

    /// The user answered, and other calls must be held or ended first. Until `deadline` the call does not end as
    /// unanswered.
    package mutating func ringOn(until deadline: BootInstant) -> [Output] {
        guard case .ringing(let until) = state, until < deadline else { return [] }
        state = .ringing(until: deadline)
        return [.changed]
    }

    /// The user declined the ringing call.
    package mutating func decline(at now: BootInstant) throws(Refusal) -> [Output] {
        guard case .ringing = state else { throw Refusal(state: state) }
        return try end(at: now)
    }

    /// The user ended the call, in any state. Before the answer this declines it.
    ///
    /// - Parameter isByHandler: its handler did. It declines nothing that nobody has seen: the user misses the call.
    package mutating func end(at now: BootInstant, isByHandler: Bool = false) throws(Refusal) -> [Output] {
        let reason: CallEndReason
        switch state {
        // No handler knows the call, so none is asked.
        case .queued: return finish(isOutgoing ? .localEnded : .declined)
        case .woken, .reported, .confirmed: reason = isByHandler ? .handlerFailed : .declined
        case .ringing: reason = .declined
        case .answering, .connected, .held, .dialling, .connecting: reason = .localEnded
        case .ending, .ended: throw Refusal(state: state)
        }
        return lease == .taken ? askToEnd(reason, at: now) : finish(reason)
    }

    private mutating func askToEnd(_ reason: CallEndReason, at now: BootInstant) -> [Output] {
        let deadline = actBy(now)
        return enter(.ending(reason, fulfillBy: deadline)) + [.request(PendingAction(.end, by: deadline))]
    }

    func actBy(_ now: BootInstant) -> BootInstant { now.advanced(by: deadlines.action) }

    // MARK: - Answers of the handler

    /// The handler did what was requested. Changes nothing if it is done already.
    package mutating func fulfill(_ action: CallAction, at now: BootInstant) throws(Refusal) -> [Output] {
        if isDone(action) { return [] }
        switch (state, action) {
        case (.answering, .answer):
            try checkTaken()
            return enter(.connected(until: now.advanced(by: deadlines.connected))) + holdIfDue(at: now)
        case (.dialling, .start):
            return try report(.dialled, at: now)
        case (.ending(let reason, _), .end):
            return finish(reason, reason == .handlerFailed ? "the handler ended it before it rang" : nil)
        case (.connected(let until), .hold):
            try actions.answered(action, isFulfilled: true, in: state, lease)
            return enter(.held(until: until))
        case (.held(let until), .unhold), (.held(let until), .merge):
            try actions.answered(action, isFulfilled: true, in: state, lease)
            return enter(.connected(until: until)) + holdIfDue(at: now)
        case (.connected, .mute), (.held, .mute), (.connecting, .mute), (.connected, .unmute), (.held, .unmute),
            (.connecting, .unmute), (.connected, .dtmf), (.held, .dtmf), (.connected, .merge):
            try actions.answered(action, isFulfilled: true, in: state, lease)
            return [.changed]
        default:
            throw Refusal(state: state)
        }
    }

    /// The handler could not do what was requested. A failed answer or end ends the call. Any other failed action
    /// leaves the call as it was. Changes nothing if the call has ended.
    package mutating func fail(_ action: CallAction) throws(Refusal) -> [Output] {
        switch (state, action) {
        case (.ended, .answer), (.ended, .start), (.ended, .end): return []
        case (.answering, .answer):
            try checkTaken()
            return finish(.failed, "the handler could not answer")
        case (.dialling, .start):
            return finish(.failed, "the handler could not call the other side")
        case (.ending(let reason, _), .end):
            return finish(reason, "the handler could not end it in good order")
        case (.connected, _), (.held, _), (.connecting, _):
            try actions.answered(action, isFulfilled: false, in: state, lease)
            return [.changed]
        default:
            throw Refusal(state: state)
        }
    }

    private func checkTaken() throws(Refusal) {
        if lease != .taken { throw Refusal(state: state, why: .unclaimed) }
    }

    /// The handler reports that the call has ended on the other side. Changes nothing if it has ended already.
    package mutating func remoteEnded(_ reason: CallEndReason) -> [Output] {
        hasEnded ? [] : finish(state.endReason ?? reason)
    }

    // MARK: - Losing and getting a handler

    /// The handler did not start, or is gone. Another one may claim a ringing or active call until a deadline. A call
    /// that has not rung is missed, or rings without a handler if `fallback` says so.
    package mutating func handlerGone(
        _ failure: HandlerFailure, _ detail: String, fallback: CallFallback, at now: BootInstant
    ) -> [Output] {
        switch state {
        case .woken, .reported, .confirmed:
            lease == .taken ? fallBack(fallback, detail, at: now) + [.strike(failure)] : []
        case .ringing, .answering, .connected, .held, .connecting:
            loseHandler(at: now) ? [.changed, .strike(failure)] : []
        // It may have reached the other side, so no other handler calls there again.
        case .dialling: finish(.handlerFailed, detail) + [.strike(failure)]
        case .ending(let reason, _): finish(reason)
        case .queued, .ended: []
        }
    }

    private mutating func loseHandler(at now: BootInstant) -> Bool {
        // Another handler may not have the call that it was to be merged with.
        actions.withdraw(.merge)
        return lease.lose(claimBy: now.advanced(by: deadlines.claim))
    }

    /// The handler left, and may never have seen the call. The call is queued for another one.
    package mutating func reassign() -> [Output] {
        guard case .woken = state, lease == .taken else { return [] }
        return enter(.queued)
    }

    /// A handler has got the call to claim. Changes nothing if the call has a handler.
    package mutating func offer() -> [Output] {
        guard case .lost(let deadline) = lease else { return [] }
        lease = .offered(claimBy: deadline)
        return [.changed]
    }

    /// Another handler has the call now. It gets all unanswered requests of the former one.
    package mutating func claim(at now: BootInstant) throws(Refusal) -> [Output] {
        guard claimBy != nil else { throw Refusal(state: state) }
        lease = .taken
        return [.changed] + owed.map { .request($0) } + holdIfDue(at: now)
    }

    /// The daemon restarts within the same boot. It could not receive the handler's answers meanwhile, so unanswered
    /// requests get a new deadline. Deadlines that the user waits for stay.
    package mutating func restored(at now: BootInstant) {
        actions.extend(to: actBy(now))
        lease.extend(to: now.advanced(by: deadlines.claim))
        state.extend(reportBy: now.advanced(by: deadlines.report), actBy: actBy(now))
    }

    /// The handler is gone after a restart. The reason is unknown, so this is no strike. A call that never rang is
    /// queued for another handler, a ringing or active one may be claimed, and one that was ending has ended.
    package mutating func handlerLostAtRestart(at now: BootInstant) -> [Output] {
        switch state {
        case .woken, .reported, .confirmed: lease == .taken ? enter(.queued) : []
        case .ringing, .answering, .connected, .held, .connecting:
            loseHandler(at: now) ? [.changed] : []
        case .dialling: finish(.handlerFailed, "its handler ended with ringwaked while it called the other side")
        case .ending(let reason, _): finish(reason)
        case .queued, .ended: []
        }
    }

    // MARK: - Deadlines

    /// Applies all deadlines up to `now`, the earliest first.
    ///
    /// - Parameter fallback: what to do with a call whose handler missed a deadline before the ring.
    package mutating func advance(to now: BootInstant, fallback: CallFallback) -> [Output] {
        var outputs: [Output] = []
        // Each step removes a pending action, or enters a state that comes later in the diagram.
        while let deadline = nextDeadline, deadline <= now {
            outputs += step(deadline, at: now, fallback)
        }
        return outputs
    }

    private mutating func step(_ deadline: BootInstant, at now: BootInstant, _ fallback: CallFallback) -> [Output] {
        if actions.removeLate(deadline) {
            // Without a handler, no strike is due.
            return [.changed] + (lease == .taken ? [.strike(.didNotAct)] : [])
        }
        if case .confirmed(let limit, .some) = state, now < min(limit, ringBefore) {
            state = .confirmed(by: limit, retryAt: nil)
            return [.journalRing]
        }
        guard let timeout = CallTimeout(of: self, deadline) else { return [] }
        return
            (timeout.mayFallBack
            ? fallBack(fallback, timeout.detail, at: now) : finish(timeout.reason, timeout.detail))
            + (timeout.strike.map { [.strike($0)] } ?? []) + (timeout.stopsHandler ? [.stopHandler] : [])
    }
}
