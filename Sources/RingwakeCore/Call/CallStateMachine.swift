/// The life of one call.
///
///     start --> queued --wake--> woken --report--> reported --confirmRing--> confirmed --ringJournaled--> ringing
///                 |                |                  |                         |                           |
///                 |                +------------------+--- fallback: ring ------^            answer         |
///                 |                |                  |                         |       +-------------------+
///                 |                |                  |                         |       v                   |
///                 |                |                  |                         |   answering --fulfill--> connected <-+
///                 |                |                  |                         |       |                   |     |    |
///                 |                |                  |                         |       |                   |   hold unhold
///                 |                |                  |                         |       |                   |     v    |
///                 |                +------------------+--- end, decline, busy --+-------+-------------------+--- held -+
///                 |                                               v
///                 |                                            ending
///                 |                                               | fulfill, fail
///                 v                                               v
///               ended <--- deadline, expiry, cancel, remoteEnded, a handler's failure, from every state
///
/// | transition | function |
/// |---|---|
/// | queued -> woken | ``wake(at:)`` |
/// | queued -> confirmed, ended | ``withhold(_:_:at:)`` |
/// | woken -> reported | ``report(at:)`` |
/// | reported -> confirmed | ``confirmRing(at:)`` |
/// | woken, reported -> ending, as busy | ``reject(at:)`` |
/// | confirmed -> ringing | ``ringJournaled(at:)`` |
/// | confirmed -> confirmed, to be tried again | ``ringNotJournaled(at:)`` |
/// | ringing -> answering | ``answer(at:)`` |
/// | answering -> connected, connected <-> held | ``fulfill(_:at:)`` |
/// | any but ended -> ending | ``end(at:)`` |
/// | answering, ending -> ended | ``fulfill(_:at:)``, ``fail(_:)`` |
/// | queued ... ringing -> ended | ``cancel(_:)`` |
/// | woken -> ended | ``restrict(_:_:)`` |
/// | any but ended -> ended | ``remoteEnded(_:)``, ``handlerGone(_:_:fallback:at:)``, ``advance(to:fallback:)`` |
/// | woken, reported, confirmed -> confirmed, rung by the daemon | ``handlerGone(_:_:fallback:at:)``, ``advance(to:fallback:)`` |
/// | woken -> queued, its handler having left | ``reassign()`` |
/// | woken, reported, confirmed -> queued, after a restart | ``handlerLostAtRestart(at:)`` |
///
/// What holds in each state:
/// - *queued*: the app's handler has not been told of it yet; nobody has been disturbed.
/// - *woken*: a handler was asked to start, or has fetched it; nobody has been disturbed.
/// - *reported*: the handler vouches for the call, provisionally; nobody has been disturbed.
/// - *confirmed*: it is to ring as soon as the journal has that it rings; nobody has been disturbed.
/// - *ringing*: entered at most once, and never at or after `ringBefore`.
/// - *answering*, *ending*: the handler owes exactly one fulfill or fail.
/// - *connected*, *held*: it owes one for each of ``pending``.
/// - *ended*: final. No function leaves it.
/// - every state but *ended* has a deadline, so that each call ends by itself.
///
/// Beside its state each call has a ``Lease``: whether a handler has it.
///
///     taken --the handler ends, from ringing on--> lost --offer--> offered --claim--> taken
///       |                                           ^  +----------claim--------------> taken
///       |                                           +--that handler ends-- offered
///       +--it fails before the ring, fallback: ring--> absent --answer--> lost
package struct CallStateMachine: Hashable, Sendable {
    /// Where the call stands, with the deadline by which something has to happen.
    package enum State: Hashable, Sendable {
        case queued
        case woken(reportBy: BootInstant)
        case reported(confirmBy: BootInstant)
        /// `retryAt` is set while the journal is not being asked, because it just failed.
        case confirmed(by: BootInstant, retryAt: BootInstant?)
        case ringing(until: BootInstant)
        case answering(fulfillBy: BootInstant)
        case connected(until: BootInstant)
        case held(until: BootInstant)
        case ending(CallEndReason, fulfillBy: BootInstant)
        case ended(CallEndReason, detail: String?)
    }

    /// Whether a handler has the call.
    package enum Lease: Hashable, Sendable {
        /// One has it, or will be given it as a new call.
        case taken
        /// Its handler is gone, and none has heard of it since: by then one has to have claimed it.
        case lost(claimBy: BootInstant)
        /// A handler has been given it, and has to have claimed it by then.
        case offered(claimBy: BootInstant)
        /// Its handler failed before it rang, or is not started any more: the daemon makes it ring, and no handler hears
        /// of it until the user answers.
        case absent
    }

    /// What the driver is to do after an input.
    package enum Output: Hashable, Sendable {
        /// The call entered a state: tell who listens.
        case entered(State)
        /// Something of the call changed within its state: tell who listens.
        case changed
        /// Have the journal record that it rings, and say what came of it.
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

    package internal(set) var state: State
    /// Whether a handler has it.
    package internal(set) var lease = Lease.taken
    /// What the handler of a connected or held call was asked for besides its answer and its end, the oldest first.
    package internal(set) var pending: [PendingAction] = []
    /// Whether the handler has turned the microphone off.
    package internal(set) var isMuted = false
    /// It is to be held as soon as that is possible: a cellular call began.
    var yields = false
    /// The call must not start to ring at this instant or later.
    package let ringBefore: BootInstant
    /// How long its states may last.
    package let deadlines: CallDeadlines

    /// How long after a failure the journal is asked again to record a ring.
    static let journalRetry = Duration.milliseconds(500)
    /// The most digits that wait to be played, as the user gave them: a person types no faster.
    package static let maximumPendingDigits = 32

    /// A call that waits for its handler's attention.
    package init(deadlines: CallDeadlines, ringBefore: BootInstant) {
        self.deadlines = deadlines
        self.ringBefore = ringBefore
        state = .queued
    }

    /// When ``advance(to:fallback:)`` has something to do; nil once ended.
    package var nextDeadline: BootInstant? {
        guard var first = stateDeadline else { return nil }
        if let claimBy { first = min(first, claimBy) }
        for action in pending { first = min(first, action.by) }
        return first
    }

    /// When the state ends by itself; nil once ended.
    package var stateDeadline: BootInstant? {
        switch state {
        case .queued:
            ringBefore
        case .woken(let deadline), .reported(let deadline):
            min(deadline, ringBefore)
        case .confirmed(let deadline, let retry):
            min(deadline, ringBefore, retry ?? deadline)
        case .ringing(let deadline), .answering(let deadline), .connected(let deadline), .held(let deadline),
            .ending(_, let deadline):
            deadline
        case .ended:
            nil
        }
    }

    /// The call has lost its handler: by when another start of it has to claim it. Nil while it has one, and while it
    /// needs none.
    package var claimBy: BootInstant? {
        switch lease {
        case .lost(let deadline), .offered(let deadline): deadline
        case .taken, .absent: nil
        }
    }

    /// All that the handler was asked for and has not answered.
    package var owed: [PendingAction] { (state.pendingAction.map { [$0] } ?? []) + pending }

    /// Whether the call is over.
    package var hasEnded: Bool { state.isEnded }

    mutating func enter(_ next: State) -> [Output] {
        state = next
        switch next {
        case .connected, .held: break
        default: pending = []
        }
        // What is over, or about to be, has nothing to claim.
        if case .ended = next { lease = .taken }
        return [.entered(next)]
    }

    func refusal(_ why: Refusal.Reason = .state) -> Refusal { Refusal(state: state, why: why) }
}
