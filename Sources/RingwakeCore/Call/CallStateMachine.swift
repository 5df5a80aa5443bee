/// The life of one call.
///
///     start --> woken --report--> reported --confirmRing--> ringing --answer--> answering --fulfill--> connected
///                 |                   |                        |                    |                      |
///                 |                   |          decline, end  |    end, fail       |            end       |
///                 |                   |                        v                    v                      v
///                 |                   +-------- end -------> ending <--------------------------------------+
///                 |                   |                        | fulfill, fail, deadline, handler's exit
///                 v                   v                        v
///               ended <------------ deadline, expiry, remoteEnded, handler's exit, from every state
///
/// | transition | function |
/// |---|---|
/// | woken -> reported | ``report(at:)`` |
/// | reported -> ringing | ``confirmRing(at:)`` |
/// | ringing -> answering | ``answer(at:)`` |
/// | answering -> connected | ``fulfill(_:at:)`` |
/// | any but ended -> ending | ``end(at:)`` |
/// | answering, ending -> ended | ``fulfill(_:at:)``, ``fail(_:)`` |
/// | any but ended -> ended | ``remoteEnded(_:)``, ``handlerGone(_:)``, ``advance(to:)`` |
///
/// What holds in each state:
/// - *woken*: a handler was asked to start; nobody has been disturbed.
/// - *reported*: the handler vouches for the call, provisionally; nobody has been disturbed.
/// - *ringing*: entered at most once, and never at or after the push's expiration.
/// - *answering*, *ending*: the handler owes exactly one fulfill or fail.
/// - *ended*: final. No function leaves it.
/// - every state but *ended* has a deadline, so that each call ends by itself.
package struct CallStateMachine: Hashable, Sendable {
    /// Where the call stands, with the deadline by which something has to happen.
    package enum State: Hashable, Sendable {
        case woken(reportBy: BootInstant)
        case reported(confirmBy: BootInstant)
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
        /// Ask the handler to do this and to answer by then.
        case request(CallAction, by: BootInstant)
        /// The handler has nothing left to do, or does not do it: stop its process.
        case stopHandler
    }

    /// An input that does not fit the state; nothing was changed.
    package struct Refusal: Error, Hashable, Sendable {
        /// The state that the call is in.
        package let state: State
    }

    package private(set) var state: State
    private let deadlines: CallDeadlines
    private let expiration: BootInstant?

    /// A call whose handler is being started now.
    ///
    /// - Parameter expiration: from when on it must not start to ring.
    package init(wokenAt now: BootInstant, deadlines: CallDeadlines, expiration: BootInstant?) {
        self.deadlines = deadlines
        self.expiration = expiration
        state = .woken(reportBy: now.advanced(by: deadlines.report))
    }

    /// When ``advance(to:)`` has something to do; nil once ended.
    package var nextDeadline: BootInstant? {
        switch state {
        case .woken(let deadline), .reported(let deadline):
            min(deadline, expiration ?? deadline)
        case .ringing(let deadline), .answering(let deadline), .connected(let deadline), .ending(_, let deadline):
            deadline
        case .ended:
            nil
        }
    }

    /// Whether the call is over.
    package var hasEnded: Bool { state.isEnded }

    /// The handler reported the call: provisional, it does not ring yet.
    package mutating func report(at now: BootInstant) throws(Refusal) -> [Output] {
        switch state {
        case .woken:
            return enter(.reported(confirmBy: now.advanced(by: deadlines.report)))
        case .reported, .ringing, .answering, .connected, .ending, .ended:
            throw Refusal(state: state)
        }
    }

    /// The handler confirmed the reported call: it rings, unless it expired.
    package mutating func confirmRing(at now: BootInstant) throws(Refusal) -> [Output] {
        switch state {
        case .reported:
            if let expiration, expiration <= now {
                return enter(.ended(.expired, detail: nil))
            }
            return enter(.ringing(until: now.advanced(by: deadlines.ring)))
        case .woken, .ringing, .answering, .connected, .ending, .ended:
            throw Refusal(state: state)
        }
    }

    /// The user took the call.
    package mutating func answer(at now: BootInstant) throws(Refusal) -> [Output] {
        switch state {
        case .ringing:
            let deadline = now.advanced(by: deadlines.action)
            return enter(.answering(fulfillBy: deadline)) + [.request(.answer, by: deadline)]
        case .woken, .reported, .answering, .connected, .ending, .ended:
            throw Refusal(state: state)
        }
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
        case .woken, .reported, .ringing: reason = .declined
        case .answering, .connected: reason = .localEnded
        case .ending, .ended: throw Refusal(state: state)
        }
        let deadline = now.advanced(by: deadlines.action)
        return enter(.ending(reason, fulfillBy: deadline)) + [.request(.end, by: deadline)]
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
        case .woken, .reported, .ringing, .answering, .connected:
            return enter(.ended(reason, detail: nil))
        case .ending(let reason, _):
            return enter(.ended(reason, detail: nil))
        case .ended:
            throw Refusal(state: state)
        }
    }

    /// The handler's process did not start or is gone. It was the lease on the call, so the call ends with it.
    package mutating func handlerGone(_ detail: String) -> [Output] {
        switch state {
        case .woken, .reported, .ringing, .answering, .connected:
            return enter(.ended(.handlerFailed, detail: detail))
        case .ending(let reason, _):
            return enter(.ended(reason, detail: nil))
        case .ended:
            return []
        }
    }

    /// Does what is due at `now`.
    package mutating func advance(to now: BootInstant) -> [Output] {
        guard let deadline = nextDeadline, deadline <= now else { return [] }
        switch state {
        case .woken, .reported:
            // Whoever is late: nobody was disturbed, and the handler's only purpose is gone.
            return enter(endBeforeRinging(at: now)) + [.stopHandler]
        case .ringing:
            return enter(.ended(.unanswered, detail: nil))
        case .answering:
            return enter(.ended(.handlerFailed, detail: "the handler did not answer within \(deadlines.action)"))
                + [.stopHandler]
        case .connected:
            return enter(.ended(.failed, detail: "the call lasted longer than \(deadlines.connected)"))
        case .ending(let reason, _):
            return enter(.ended(reason, detail: "the handler did not end it within \(deadlines.action)"))
                + [.stopHandler]
        case .ended:
            return []
        }
    }

    private func endBeforeRinging(at now: BootInstant) -> State {
        if let expiration, expiration <= now {
            return .ended(.expired, detail: nil)
        }
        if case .woken = state {
            return .ended(.handlerFailed, detail: "the handler did not report the call within \(deadlines.report)")
        }
        return .ended(.handlerFailed, detail: "the handler did not confirm the call within \(deadlines.report)")
    }

    private mutating func enter(_ next: State) -> [Output] {
        state = next
        return [.entered(next)]
    }
}

extension CallStateMachine.State {
    /// The state's name in the control API.
    package var name: String {
        switch self {
        case .woken: "woken"
        case .reported: "reported"
        case .ringing: "ringing"
        case .answering: "answering"
        case .connected: "connected"
        case .ending: "ending"
        case .ended: "ended"
        }
    }

    /// Whether this is the final state.
    package var isEnded: Bool {
        if case .ended = self { true } else { false }
    }
}
