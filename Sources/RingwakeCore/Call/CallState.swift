extension CallStateMachine {
    /// Where the call stands, with the deadline by which something has to happen.
    package enum State: Hashable, Sendable {
        /// The app's handler has not been given it; nobody has been disturbed.
        case queued
        /// A handler was asked to start, or has fetched it; nobody has been disturbed.
        case woken(reportBy: BootInstant)
        /// The handler vouches for the call, provisionally; nobody has been disturbed.
        case reported(confirmBy: BootInstant)
        /// It rings as soon as the journal has recorded that; nobody has been disturbed. `retryAt`: the journal has just
        /// failed to record it, and is asked again then.
        case confirmed(by: BootInstant, retryAt: BootInstant?)
        /// Entered at most once, and never at or after `ringBefore`.
        case ringing(until: BootInstant)
        /// The handler owes exactly one fulfill or fail.
        case answering(fulfillBy: BootInstant)
        /// The handler owes one for each of ``CallStateMachine/pending``.
        case connected(until: BootInstant)
        /// As *connected*.
        case held(until: BootInstant)
        /// The handler owes exactly one fulfill or fail.
        case ending(CallEndReason, fulfillBy: BootInstant)
        /// Final: no function leaves it.
        case ended(CallEndReason, detail: String?)

        /// A state without what belongs to it, as the control API and the journal name it.
        package enum Name: String, Sendable, Codable, CaseIterable {
            case queued, woken, reported, confirmed, ringing, answering, connected, held, ending, ended
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
            case .ending: .ending
            case .ended: .ended
            }
        }

        /// The deadline that stands in the state itself.
        var limit: BootInstant? {
            switch self {
            case .woken(let limit), .reported(let limit), .confirmed(let limit, _), .ringing(let limit),
                .answering(let limit), .connected(let limit), .held(let limit), .ending(_, let limit):
                limit
            case .queued, .ended: nil
            }
        }

        /// When the state ends by itself; nil once ended.
        func deadline(ringBefore: BootInstant) -> BootInstant? {
            switch self {
            case .queued: ringBefore
            case .woken(let limit), .reported(let limit): min(limit, ringBefore)
            case .confirmed(let limit, let retry): min(limit, ringBefore, retry ?? limit)
            case .ringing, .answering, .connected, .held, .ending, .ended: limit
            }
        }

        /// Whether it has not rung and may still do so; nobody has been disturbed.
        var awaitsRing: Bool {
            switch self {
            case .queued, .woken, .reported, .confirmed: true
            case .ringing, .answering, .connected, .held, .ending, .ended: false
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
            case .queued, .woken, .reported, .confirmed, .ringing, .answering, .connected, .held: nil
            }
        }

        /// Gives the handler new deadlines: by `reportBy` before the ring, by `actBy` for the answer and the end. The journal
        /// has to be asked again for the ring.
        mutating func extend(reportBy: BootInstant, actBy: BootInstant) {
            switch self {
            case .woken: self = .woken(reportBy: reportBy)
            case .reported: self = .reported(confirmBy: reportBy)
            case .confirmed: self = .confirmed(by: reportBy, retryAt: nil)
            case .answering: self = .answering(fulfillBy: actBy)
            case .ending(let reason, _): self = .ending(reason, fulfillBy: actBy)
            case .queued, .ringing, .connected, .held, .ended: break
            }
        }

        /// More on the end, for a person.
        package var endDetail: String? {
            if case .ended(_, let detail) = self { detail } else { nil }
        }

        /// The answer or the end that the handler owes in this state.
        package var pendingAction: PendingAction? {
            switch self {
            case .answering(let deadline): PendingAction(.answer, by: deadline)
            case .ending(_, let deadline): PendingAction(.end, by: deadline)
            case .queued, .woken, .reported, .confirmed, .ringing, .connected, .held, .ended: nil
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
        /// One has it, or will be given it as a new call.
        case taken
        /// Its handler is gone, and no other one has been given it. One has to claim it by then.
        case lost(claimBy: BootInstant)
        /// A handler has been given it, and has to claim it by then.
        case offered(claimBy: BootInstant)
        /// Its handler failed before it rang, or is not started any more. The daemon makes it ring, and no handler is
        /// given it until the user answers.
        case absent

        /// By when a handler has to claim the call; nil while it has one, and while it needs none.
        var claimBy: BootInstant? {
            switch self {
            case .lost(let deadline), .offered(let deadline): deadline
            case .taken, .absent: nil
            }
        }

        /// The handler is gone. A second loss gives no more time than the first.
        ///
        /// - Returns: false when no handler had the call.
        mutating func lose(claimBy deadline: BootInstant) -> Bool {
            switch self {
            case .taken: self = .lost(claimBy: deadline)
            case .offered(let deadline): self = .lost(claimBy: deadline)
            case .lost, .absent: return false
            }
            return true
        }

        /// There is time to claim the call until `deadline` at least.
        mutating func extend(to deadline: BootInstant) {
            switch self {
            case .lost(let claimBy): self = .lost(claimBy: max(claimBy, deadline))
            case .offered(let claimBy): self = .offered(claimBy: max(claimBy, deadline))
            case .taken, .absent: break
            }
        }
    }

    /// What the driver is to do after an input.
    package enum Output: Hashable, Sendable {
        /// The call entered a state: notify observers.
        case entered(State)
        /// Something of the call changed within its state: notify observers.
        case changed
        /// Have the journal record that it rings, and report the result.
        case journalRing
        /// Ask the handler to do this and to answer by then.
        case request(PendingAction)
        /// The handler did not do its part: a strike against it.
        case strike(HandlerFailure)
        /// The handler hangs: stop its process, unless it serves other calls.
        case stopHandler
    }

    /// An input that does not fit; nothing was changed.
    package struct Refusal: Error, Hashable, Sendable {
        /// The state that the call is in.
        package let state: State
        /// What does not fit.
        package var why = Reason.state

        package enum Reason: Hashable, Sendable {
            /// The state.
            case state
            /// The handler is being asked for this already, or for its opposite.
            case alreadyAsked(CallAction)
            /// No handler has the call at present.
            case unclaimed
            /// The digits are none, or too many at a time.
            case badDigits
        }
    }
}
