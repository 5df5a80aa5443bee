/// The life of one call.
///
///     start --> queued --wake--> woken --report--> reported --confirmRing--> confirmed --ringJournaled--> ringing
///                 |                |                  |                         |                           |
///                 |                |                  |                         |            answer         |
///                 |                |                  |                         |       +-------------------+
///                 |                |                  |                         |       v                   |
///                 |                |                  |                         |   answering --fulfill--> connected
///                 |                |                  |                         |       |                   |     |
///                 |                +------------------+----- end, decline ------+-------+-------------------+     |
///                 |                                               v                                               |
///                 |                                            ending <------------------- end -------------------+
///                 |                                               | fulfill, fail
///                 v                                               v
///               ended <--- deadline, expiry, cancel, remoteEnded, the handler's exit, from every state
///
/// | transition | function |
/// |---|---|
/// | queued -> woken | ``wake(at:)`` |
/// | woken -> reported | ``report(at:)`` |
/// | reported -> confirmed | ``confirmRing(at:)`` |
/// | confirmed -> ringing | ``ringJournaled(at:)`` |
/// | confirmed -> confirmed, to be tried again | ``ringNotJournaled(_:at:)`` |
/// | ringing -> answering | ``answer(at:)`` |
/// | answering -> connected | ``fulfill(_:at:)`` |
/// | any but ended -> ending | ``end(at:)`` |
/// | answering, ending -> ended | ``fulfill(_:at:)``, ``fail(_:)`` |
/// | queued ... ringing -> ended | ``cancel(_:)`` |
/// | any but ended -> ended | ``remoteEnded(_:)``, ``handlerGone(_:)``, ``advance(to:)`` |
///
/// What holds in each state:
/// - *queued*: the app's handler has not been told of it yet; nobody has been disturbed.
/// - *woken*: a handler was asked to start, or has fetched it; nobody has been disturbed.
/// - *reported*: the handler vouches for the call, provisionally; nobody has been disturbed.
/// - *confirmed*: it is to ring as soon as the journal has that it rings; nobody has been disturbed.
/// - *ringing*: entered at most once, and never at or after `ringBefore`.
/// - *answering*, *ending*: the handler owes exactly one fulfill or fail.
/// - *ended*: final. No function leaves it.
/// - every state but *ended* has a deadline, so that each call ends by itself.
package struct CallStateMachine: Hashable, Sendable, Codable {
    /// Where the call stands, with the deadline by which something has to happen.
    package enum State: Hashable, Sendable, Codable {
        case queued
        case woken(reportBy: BootInstant)
        case reported(confirmBy: BootInstant)
        /// `retryAt` is set while the journal is not being asked, because it just failed.
        case confirmed(by: BootInstant, retryAt: BootInstant?)
        case ringing(until: BootInstant)
        case answering(fulfillBy: BootInstant)
        case connected(until: BootInstant)
        case ending(CallEndReason, fulfillBy: BootInstant)
        case ended(CallEndReason, detail: String?)
    }

    /// What the driver is to do after an input.
    package enum Output: Hashable, Sendable {
        /// The call entered a state: tell who listens.
        case entered(State)
        /// Have the journal record that it rings, and say what came of it.
        case journalRing
        /// Ask the handler to do this and to answer by then.
        case request(CallAction, by: BootInstant)
        /// The handler did not do its part: a strike against it.
        case strike(HandlerFailure)
        /// The handler hangs: stop its process, unless it serves other calls.
        case stopHandler
    }

    /// An input that does not fit the state; nothing was changed.
    package struct Refusal: Error, Hashable, Sendable {
        /// The state that the call is in.
        package let state: State
    }

    package private(set) var state: State
    /// The call must not start to ring at this instant or later.
    package let ringBefore: BootInstant
    /// How long its states may last.
    package let deadlines: CallDeadlines

    /// How long after a failure the journal is asked again to record a ring.
    static let journalRetry = Duration.milliseconds(500)

    /// A call that waits for its handler's attention.
    package init(deadlines: CallDeadlines, ringBefore: BootInstant) {
        self.deadlines = deadlines
        self.ringBefore = ringBefore
        state = .queued
    }

    /// When ``advance(to:)`` has something to do; nil once ended.
    package var nextDeadline: BootInstant? {
        switch state {
        case .queued:
            ringBefore
        case .woken(let deadline), .reported(let deadline):
            min(deadline, ringBefore)
        case .confirmed(let deadline, let retry):
            min(deadline, ringBefore, retry ?? deadline)
        case .ringing(let deadline), .answering(let deadline), .connected(let deadline), .ending(_, let deadline):
            deadline
        case .ended:
            nil
        }
    }

    /// Whether the call is over.
    package var hasEnded: Bool { state.isEnded }

    private mutating func enter(_ next: State) -> [Output] {
        state = next
        return [.entered(next)]
    }
}

// MARK: - What the handler's side does

extension CallStateMachine {
    /// A handler was asked to start for the call, or has fetched it.
    package mutating func wake(at now: BootInstant) throws(Refusal) -> [Output] {
        guard case .queued = state else { throw Refusal(state: state) }
        return enter(.woken(reportBy: now.advanced(by: deadlines.report)))
    }

    /// The handler reported the call: provisional, it does not ring yet.
    package mutating func report(at now: BootInstant) throws(Refusal) -> [Output] {
        guard case .woken = state else { throw Refusal(state: state) }
        return enter(.reported(confirmBy: now.advanced(by: deadlines.report)))
    }

    /// The handler confirmed the reported call: it rings once the journal has it, unless it expired.
    package mutating func confirmRing(at now: BootInstant) throws(Refusal) -> [Output] {
        guard case .reported = state else { throw Refusal(state: state) }
        guard now < ringBefore else { return enter(.ended(.expired, detail: nil)) }
        return enter(.confirmed(by: now.advanced(by: deadlines.report), retryAt: nil)) + [.journalRing]
    }

    /// The journal has it that the call rings, so now it does, unless it expired meanwhile. What the journal says of
    /// a call that moved on meanwhile changes nothing.
    package mutating func ringJournaled(at now: BootInstant) -> [Output] {
        guard case .confirmed = state else { return [] }
        guard now < ringBefore else { return enter(.ended(.expired, detail: nil)) }
        return enter(.ringing(until: now.advanced(by: deadlines.ring)))
    }

    /// The journal failed to record the ring; it is asked again as long as there is time.
    package mutating func ringNotJournaled(at now: BootInstant) -> [Output] {
        guard case .confirmed(let deadline, _) = state else { return [] }
        state = .confirmed(by: deadline, retryAt: now.advanced(by: CallStateMachine.journalRetry))
        return []
    }

    /// The handler did what it was asked to.
    package mutating func fulfill(_ action: CallAction, at now: BootInstant) throws(Refusal) -> [Output] {
        switch (state, action) {
        case (.answering, .answer):
            return enter(.connected(until: now.advanced(by: deadlines.connected)))
        case (.ending(let reason, _), .end):
            return enter(.ended(reason, detail: nil))
        default:
            throw Refusal(state: state)
        }
    }

    /// The handler could not do what it was asked to. An answer that fails ends the call; so does an end.
    package mutating func fail(_ action: CallAction) throws(Refusal) -> [Output] {
        switch (state, action) {
        case (.answering, .answer):
            return enter(.ended(.failed, detail: "the handler could not answer"))
        case (.ending(let reason, _), .end):
            return enter(.ended(reason, detail: "the handler could not end it in good order"))
        default:
            throw Refusal(state: state)
        }
    }

    /// The handler said that the call is over, for a reason on the other side.
    package mutating func remoteEnded(_ reason: CallEndReason) throws(Refusal) -> [Output] {
        switch state {
        case .queued, .woken, .reported, .confirmed, .ringing, .answering, .connected:
            return enter(.ended(reason, detail: nil))
        case .ending(let reason, _):
            return enter(.ended(reason, detail: nil))
        case .ended:
            throw Refusal(state: state)
        }
    }

    /// The handler's process did not start or is gone. It was the lease on the call, so the call ends with it.
    package mutating func handlerGone(_ failure: HandlerFailure, _ detail: String) -> [Output] {
        switch state {
        case .woken, .reported, .confirmed, .ringing, .answering, .connected:
            return enter(.ended(.handlerFailed, detail: detail)) + [.strike(failure)]
        case .ending(let reason, _):
            return enter(.ended(reason, detail: nil))
        case .queued, .ended:
            return []
        }
    }
}

// MARK: - What the user, the sender and the time do

extension CallStateMachine {
    /// The user took the call.
    package mutating func answer(at now: BootInstant) throws(Refusal) -> [Output] {
        guard case .ringing = state else { throw Refusal(state: state) }
        let deadline = now.advanced(by: deadlines.action)
        return enter(.answering(fulfillBy: deadline)) + [.request(.answer, by: deadline)]
    }

    /// The user refused the call that rings.
    package mutating func decline(at now: BootInstant) throws(Refusal) -> [Output] {
        guard case .ringing = state else { throw Refusal(state: state) }
        return try end(at: now)
    }

    /// The user finished the call, whatever its state: before it was answered that is declining it.
    package mutating func end(at now: BootInstant) throws(Refusal) -> [Output] {
        let reason: CallEndReason
        switch state {
        case .queued:
            // No handler has heard of it, so none is asked.
            return enter(.ended(.declined, detail: nil))
        case .woken, .reported, .confirmed, .ringing: reason = .declined
        case .answering, .connected: reason = .localEnded
        case .ending, .ended: throw Refusal(state: state)
        }
        let deadline = now.advanced(by: deadlines.action)
        return enter(.ending(reason, fulfillBy: deadline)) + [.request(.end, by: deadline)]
    }

    /// The sender took the call back. Once the user answered it is too late: the two sides settle that themselves.
    package mutating func cancel(_ reason: CallEndReason) throws(Refusal) -> [Output] {
        switch state {
        case .queued, .woken, .reported, .confirmed, .ringing:
            return enter(.ended(reason, detail: nil))
        case .answering, .connected, .ending, .ended:
            throw Refusal(state: state)
        }
    }

    /// The journal knows the call from an earlier time, or its app is gone: it ends here.
    package mutating func abandon(_ reason: CallEndReason, _ detail: String?) -> [Output] {
        hasEnded ? [] : enter(.ended(reason, detail: detail))
    }

    /// Does what is due at `now`.
    package mutating func advance(to now: BootInstant) -> [Output] {
        guard let deadline = nextDeadline, deadline <= now else { return [] }
        switch state {
        case .queued:
            return enter(.ended(.expired, detail: "the app's handler was busy and did not fetch it in time"))
        case .woken(let limit), .reported(let limit):
            return giveUp(limit)
        case .confirmed(let limit, let retry):
            guard now < min(limit, ringBefore) else { return giveUp(limit) }
            state = .confirmed(by: limit, retryAt: nil)
            return retry == nil ? [] : [.journalRing]
        case .ringing:
            return enter(.ended(.unanswered, detail: nil))
        case .answering:
            return enter(.ended(.handlerFailed, detail: "the handler did not answer within \(deadlines.action)"))
                + [.strike(.didNotAct), .stopHandler]
        case .connected:
            return enter(.ended(.failed, detail: "the call lasted longer than \(deadlines.connected)"))
        case .ending(let reason, _):
            return enter(.ended(reason, detail: "the handler did not end it within \(deadlines.action)"))
                + [.strike(.didNotAct), .stopHandler]
        case .ended:
            return []
        }
    }

    /// Too late to ring: nobody was disturbed, and the handler's only purpose is gone. What came first counts: the
    /// handler's time to do its part, which ended at `limit`, or the time that the call was worth ringing for.
    private mutating func giveUp(_ limit: BootInstant) -> [Output] {
        guard limit < ringBefore else { return enter(.ended(.expired, detail: nil)) + [.stopHandler] }
        switch state {
        case .woken:
            let detail = "the handler did not report the call within \(deadlines.report)"
            return enter(.ended(.handlerFailed, detail: detail)) + [.strike(.didNotReport), .stopHandler]
        case .reported:
            let detail = "the handler did not confirm the call within \(deadlines.report)"
            return enter(.ended(.handlerFailed, detail: detail)) + [.strike(.didNotConfirm), .stopHandler]
        default:
            return enter(.ended(.failed, detail: "the journal could not record in time that it rings")) + [.stopHandler]
        }
    }
}

extension CallStateMachine.State {
    /// A state without what belongs to it, as the control API and the journal name it.
    package enum Name: String, Sendable, Codable, CaseIterable {
        case queued, woken, reported, confirmed, ringing, answering, connected, ending, ended
    }

    /// The state's name.
    package var name: Name {
        switch self {
        case .queued: .queued
        case .woken: .woken
        case .reported: .reported
        case .confirmed: .confirmed
        case .ringing: .ringing
        case .answering: .answering
        case .connected: .connected
        case .ending: .ending
        case .ended: .ended
        }
    }

    /// Whether this is the final state.
    package var isEnded: Bool {
        if case .ended = self { true } else { false }
    }

    /// The reason of a call that has ended or is ending.
    package var endReason: CallEndReason? {
        switch self {
        case .ending(let reason, _), .ended(let reason, _): reason
        case .queued, .woken, .reported, .confirmed, .ringing, .answering, .connected: nil
        }
    }

    /// More on the end, for a person.
    package var endDetail: String? {
        if case .ended(_, let detail) = self { detail } else { nil }
    }
}
