extension CallStateMachine {
    /// The state of the call, with its deadline.
    package enum State: Hashable, Sendable {
        /// The app's handler has not received the call; nothing has rung.
        case queued
        /// A handler was asked to start, or has fetched the call; nothing has rung.
        case woken(reportBy: BootInstant)
        /// The handler has reported the call provisionally; nothing has rung.
        case reported(confirmBy: BootInstant)
        /// The call rings as soon as the journal has recorded that; nothing has rung yet. `retryAt`: when to ask the
        /// journal again, after it failed to record the ring.
        case confirmed(by: BootInstant, retryAt: BootInstant?)
        /// Entered at most once, and never at or after `ringBefore`.
        case ringing(until: BootInstant)
        /// The handler must send exactly one fulfill or fail.
        case answering(fulfillBy: BootInstant)
        /// The handler must send one fulfill or fail for each of ``CallStateMachine/pending``.
        case connected(until: BootInstant)
        /// Like *connected*.
        case held(until: BootInstant)
        /// An outgoing call: the handler must send exactly one fulfill or fail, or report how far the call is.
        case dialling(fulfillBy: BootInstant)
        /// An outgoing call: the handler calls the other side, which has not answered yet.
        case connecting(until: BootInstant)
        /// The handler must send exactly one fulfill or fail.
        case ending(CallEndReason, fulfillBy: BootInstant)
        /// Final: no function leaves this state.
        case ended(CallEndReason, detail: String?)

        /// A state without its associated values, by its name in the control API and the journal.
        package enum Name: String, Sendable, Codable, CaseIterable {
            case queued, woken, reported, confirmed, ringing, answering, connected, held, dialling, connecting, ending
            case ended
        }

        package var name: Name {
            switch self {
            case .queued: .queued
            case .woken: .woken
            case .reported: .reported
            case .confirmed: .confirmed
            case .ringing: .ringing
            case .answering: .answering
            case .connected: .connected
            case .held: .held
            case .dialling: .dialling
            case .connecting: .connecting
            case .ending: .ending
            case .ended: .ended
            }
        }

        /// The deadline in the state itself.
        var limit: BootInstant? {
            switch self {
            case .woken(let limit), .reported(let limit), .confirmed(let limit, _), .ringing(let limit),
                .answering(let limit), .connected(let limit), .held(let limit), .dialling(let limit),
                .connecting(let limit), .ending(_, let limit):
                limit
            case .queued, .ended: nil
            }
        }

        /// When the state ends by itself; nil once the call has ended.
        func deadline(ringBefore: BootInstant) -> BootInstant? {
            switch self {
            case .queued: ringBefore
            case .woken(let limit), .reported(let limit): min(limit, ringBefore)
            case .confirmed(let limit, let retry): min(limit, ringBefore, retry ?? limit)
            case .ringing, .answering, .connected, .held, .dialling, .connecting, .ending, .ended: limit
            }
        }

        /// Why a call in this state ends when the user forces the end of its app. One that hasn't rung is missed.
        var reasonOfReset: CallEndReason {
            switch self {
            case .queued, .woken, .reported, .confirmed: .handlerFailed
            case .ringing: .declined
            case .answering, .connected, .held, .dialling, .connecting: .localEnded
            case .ending(let reason, _), .ended(let reason, _): reason
            }
        }

        /// Whether the call has not rung and still may.
        var awaitsRing: Bool {
            switch self {
            case .queued, .woken, .reported, .confirmed: true
            case .ringing, .answering, .connected, .held, .dialling, .connecting, .ending, .ended: false
            }
        }

        /// Whether the handler has confirmed the call, and it hasn't ended.
        var isConfirmed: Bool {
            switch self {
            case .confirmed, .ringing, .answering, .connected, .held: true
            case .queued, .woken, .reported, .dialling, .connecting, .ending, .ended: false
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
            case .queued, .woken, .reported, .confirmed, .ringing, .answering, .connected, .held, .dialling,
                .connecting:
                nil
            }
        }

        /// Gives the handler new deadlines: `reportBy` before the ring, `actBy` for the answer, the start and the end. In
        /// *confirmed*, the journal has to be asked again for the ring.
        mutating func extend(reportBy: BootInstant, actBy: BootInstant) {
            switch self {
            case .woken: self = .woken(reportBy: reportBy)
            case .reported: self = .reported(confirmBy: reportBy)
            case .confirmed: self = .confirmed(by: reportBy, retryAt: nil)
            case .answering: self = .answering(fulfillBy: actBy)
            case .dialling: self = .dialling(fulfillBy: actBy)
            case .ending(let reason, _): self = .ending(reason, fulfillBy: actBy)
            case .queued, .ringing, .connected, .held, .connecting, .ended: break
            }
        }

        /// More about the end, for a person.
        package var endDetail: String? {
            if case .ended(_, let detail) = self { detail } else { nil }
        }

        /// The answer, start or end that the handler has to fulfill or fail in this state.
        package var pendingAction: PendingAction? {
            switch self {
            case .answering(let deadline): PendingAction(.answer, by: deadline)
            case .dialling(let deadline): PendingAction(.start, by: deadline)
            case .ending(_, let deadline): PendingAction(.end, by: deadline)
            case .queued, .woken, .reported, .confirmed, .ringing, .connected, .held, .connecting, .ended: nil
            }
        }
    }

    /// Whether a handler has the call.
    ///
    ///     taken --the handler ends, from ringing on--> lost --offer--> offered --claim--> taken
    ///       |                                           ^  +----------claim--------------> taken
    ///       |                                           +--that handler ends-- offered
    ///       +--it fails before the ring, fallback: ring--> absent --answer--> lost
    package enum Lease: Hashable, Sendable {
        /// A handler has the call, or will get it as a new call.
        case taken
        /// The handler is gone, and no other one has got the call. One has to claim it by the deadline.
        case lost(claimBy: BootInstant)
        /// A handler has got the call, and has to claim it by the deadline.
        case offered(claimBy: BootInstant)
        /// The handler failed before the call rang, or is no longer started. The daemon makes the call ring, and no
        /// handler gets it until the user answers.
        case absent

        /// The deadline for a handler to claim the call; nil while it has a handler or needs none.
        var claimBy: BootInstant? {
            switch self {
            case .lost(let deadline), .offered(let deadline): deadline
            case .taken, .absent: nil
            }
        }

        /// The handler is gone. A second loss does not extend the deadline of the first.
        ///
        /// - Returns: false if no handler had the call.
        mutating func lose(claimBy deadline: BootInstant) -> Bool {
            switch self {
            case .taken: self = .lost(claimBy: deadline)
            case .offered(let deadline): self = .lost(claimBy: deadline)
            case .lost, .absent: return false
            }
            return true
        }

        /// Moves the deadline for a claim to `deadline` if that is later.
        mutating func extend(to deadline: BootInstant) {
            switch self {
            case .lost(let claimBy): self = .lost(claimBy: max(claimBy, deadline))
            case .offered(let claimBy): self = .offered(claimBy: max(claimBy, deadline))
            case .taken, .absent: break
            }
        }
    }

    /// What the driver must do after an input.
    package enum Output: Hashable, Sendable {
        /// The call entered a state: notify observers.
        case entered(State)
        /// The call changed within its state: notify observers.
        case changed
        /// Ask the journal to record that the call rings, and report the result.
        case journalRing
        /// Request this action from the handler, which must answer by its deadline.
        case request(PendingAction)
        /// The handler failed: record a strike against it.
        case strike(HandlerFailure)
        /// The handler hangs: stop its process, unless it serves other calls.
        case stopHandler
    }

    /// An input that does not fit the state. Nothing has changed.
    package struct Refusal: Error, Hashable, Sendable {
        /// The current state of the call.
        package let state: State
        /// Why it does not fit.
        package var why = Reason.state

        package enum Reason: Hashable, Sendable {
            /// The input does not fit the state.
            case state
            /// The handler has not yet answered an earlier request for this action or its opposite.
            case alreadyAsked(CallAction)
            /// No handler has the call at present.
            case unclaimed
            /// There are no digits, or too many at once, or invalid ones.
            case badDigits
        }
    }
}

extension CallStateMachine {
    /// All unanswered requests to the handler.
    package var owed: [PendingAction] { (state.pendingAction.map { [$0] } ?? []) + pending }

    /// Whether the call is as it is when the handler has done this. A handler says a thing again if it got no answer, for
    /// example because the daemon was killed after it had recorded it.
    func isDone(_ action: CallAction) -> Bool {
        switch (state.name, action) {
        case (.connected, .answer), (.held, .answer), (.ended, .end): true
        case (.connecting, .start), (.connected, .start), (.held, .start): isOutgoing
        case (.held, .hold), (.connected, .unhold): !isAsked(action)
        case (.connected, .mute), (.held, .mute), (.connecting, .mute): isMuted && !isAsked(action)
        case (.connected, .unmute), (.held, .unmute), (.connecting, .unmute): !isMuted && !isAsked(action)
        default: false
        }
    }
}
