import RingwakeCore

/// Builds pushes and drives a coordinator through a made-up time that moves only when told.
struct Scenario {
    static let app = AppID("com.example.phone") ?? { preconditionFailure("a valid bundle id") }()
    static let otherApp = AppID("com.example.intercom") ?? { preconditionFailure("a valid bundle id") }()
    static let team = "DEVTEAM001"

    var coordinator: CoordinatorStateMachine
    var policy: AppPolicy
    var now = BootInstant(nanoseconds: 1_000_000_000_000)

    /// The apps whose handlers or strikes the coordinator said to have changed, one for each time that it did.
    var changedApps: [AppID] = []

    /// By default each call has a handler of its own, as most of what is tested concerns one call.
    init(
        _ instances: HandlerInstances = .call, deadlines: CallDeadlines = CallDeadlines(),
        limits: CoordinatorStateMachine.Limits = .init()
    ) {
        coordinator = CoordinatorStateMachine(limits: limits)
        policy = AppPolicy(deadlines: deadlines, instances: instances)
        policy.unrecorded = .missed
    }

    /// A push with this id; where its payload names no call, that is the call id too.
    func push(
        _ id: String = "one", app: AppID = Scenario.app, team: String = Scenario.team,
        expiration: VerifiedPush.Expiration? = nil, collapseID: String? = nil, payload: String = "{}"
    ) -> VerifiedPush {
        VerifiedPush(
            pushID: id, app: app, provenance: Provenance(sender: team, door: .apns(.development, .voip(of: app))),
            priority: .immediate, expiration: expiration,
            collapseID: collapseID, payload: Array(payload.utf8), receivedAt: now, verifiedAt: now)
    }

    func key(_ id: String = "one", app: AppID = Scenario.app) -> CallKey {
        CallKey(app: app, id: CallID(id))
    }

    func call(_ id: String = "one") -> Call? { coordinator.call(key(id)) }

    func state(_ id: String = "one") -> CallStateMachine.State? { call(id)?.machine.state }

    func stages(_ id: String = "one") -> [String] { call(id)?.timeline.map(\.stage.rawValue) ?? [] }

    /// The handler that has the call; 0, which no handler is, when none has.
    func handler(_ id: String = "one") -> WakeID { call(id)?.handler ?? WakeID(number: 0) }

    /// The call's number; 0, which no call has, when there is none.
    func number(_ id: String = "one") -> Int64 { call(id)?.number ?? 0 }

    /// What the app's lane keeps in mind; nil when that is nothing.
    var lane: HandlerLane? { coordinator.lanes[Scenario.app] }

    mutating func wait(_ duration: Duration) {
        now = now.advanced(by: duration)
    }

    /// What the coordinator asks for. That an app's handlers or strikes changed goes to ``changedApps``: it follows
    /// from most of what handlers do, and says nothing else.
    @discardableResult
    mutating func send(_ event: Event) -> [Effect] {
        coordinator.handle(event, at: now).filter {
            guard case .appChanged(let app) = $0 else { return true }
            changedApps.append(app)
            return false
        }
    }

    /// Lets time pass as a driver does that is never late: whatever is due on the way is done when it is due.
    @discardableResult
    mutating func pass(_ duration: Duration) -> [Effect] {
        let end = now.advanced(by: duration)
        var effects: [Effect] = []
        while let deadline = coordinator.nextDeadline, deadline <= end, deadline > now {
            now = deadline
            effects += send(.deadlineReached)
        }
        now = end
        return effects
    }
}

// MARK: - What happens to a call on its way

extension Scenario {
    @discardableResult
    mutating func receive(
        _ id: String = "one", call: String? = nil, cancel: CallEndReason? = nil, update: CallUpdate = CallUpdate(),
        expiration: VerifiedPush.Expiration? = nil, team: String = Scenario.team, payload: String = "{}"
    ) -> [Effect] {
        let facts = PushFacts(call: call.map { CallID($0) }, update: update, cancel: cancel)
        return receive(push(id, team: team, expiration: expiration, payload: payload), facts)
    }

    @discardableResult
    mutating func receive(_ push: VerifiedPush, _ facts: PushFacts = PushFacts()) -> [Effect] {
        send(.pushReceived(push, facts, policy))
    }

    @discardableResult
    mutating func journal(_ id: String = "one", isKnown: Bool = false) -> [Effect] {
        send(.pushJournaled(key(id), number: number(id), isKnown: isKnown))
    }

    @discardableResult
    mutating func journalRing(_ id: String = "one", isKnown: Bool = false) -> [Effect] {
        send(.ringJournaled(key(id), number: number(id), isKnown: isKnown))
    }

    @discardableResult
    mutating func start(_ id: String = "one", pid: Int32 = 4711) -> [Effect] {
        send(.handlerStarted(handler(id), pid: pid))
    }

    @discardableResult
    mutating func report(_ id: String = "one", ring: Bool = false, update: CallUpdate = CallUpdate()) -> [Effect] {
        send(.reported(key(id), update, ring: ring, by: handler(id)))
    }

    @discardableResult
    mutating func exit(_ wake: WakeID, _ how: HandlerExit = .exited(0)) -> [Effect] {
        send(.handlerExited(wake, how))
    }

    /// Takes a call that comes in as far as `name`, from nothing; to *ended* by its handler's word. Not to *queued*.
    mutating func bring(_ id: String = "one", to name: CallStateMachine.State.Name) {
        let path: [CallStateMachine.State.Name] = [
            .woken, .reported, .confirmed, .ringing, .answering, .connected, .held, .ending, .ended,
        ]
        for step in path.prefix(through: path.firstIndex(of: name) ?? 0) {
            switch step {
            case .queued, .woken:
                receive(id)
                journal(id)
                start(id)
            case .reported: report(id, update: CallUpdate(caller: "sip:alice@example.org"))
            case .confirmed: send(.ringConfirmed(key(id), by: handler(id)))
            case .ringing: journalRing(id)
            case .answering: send(.answerRequested(key(id)))
            case .connected: send(.fulfilled(key(id), .answer, by: handler(id)))
            case .held where name == .held:
                send(.holdRequested(key(id), true))
                send(.fulfilled(key(id), .hold, by: handler(id)))
            // The shorter way goes by it; the last two are of calls that go out.
            case .held, .dialling, .connecting: break
            case .ending: send(.endRequested(key(id)))
            case .ended: send(.fulfilled(key(id), .end, by: handler(id)))
            }
        }
    }
}

// MARK: - What the coordinator asked for

extension [Effect] {
    /// The names of the states that calls entered, in order.
    var states: [String] {
        compactMap { if case .callChanged(let call) = $0 { call.machine.state.name.rawValue } else { nil } }
    }

    var wakes: [WakeRequest] {
        compactMap { if case .wake(let request) = $0 { request } else { nil } }
    }

    /// What was given to handlers that keep a connection.
    var deliveries: [WakeRequest] {
        compactMap { if case .deliver(let request) = $0 { request } else { nil } }
    }

    /// What handlers were asked for.
    var requests: [CallAction] {
        compactMap { if case .request(let action, _) = $0 { action.action } else { nil } }
    }

    /// The handler that has just connected by itself.
    var connected: WakeID? {
        compactMap { if case .connected(let wake) = $0 { wake } else { nil } }.first
    }

    /// What was handed over to a handler that fetched; nil when nothing was, not even an empty list.
    var handedOver: [WakeRequest]? {
        compactMap { if case .fetched(let requests) = $0 { requests } else { nil } }.first
    }

    var refusals: [EventRefusal] {
        compactMap { if case .refused(let refusal) = $0 { refusal } else { nil } }
    }

    var strikes: [HandlerFailure] {
        compactMap { if case .strike(_, let failure) = $0 { failure } else { nil } }
    }

    /// The calls that were missed, by id.
    var missed: [String] {
        compactMap { if case .callMissed(let call) = $0 { call.key.id.rawValue } else { nil } }
    }

    var stops: [WakeID] {
        compactMap { if case .stopHandler(let wake) = $0 { wake } else { nil } }
    }

    var releases: [WakeID] {
        compactMap { if case .releaseHandler(let wake) = $0 { wake } else { nil } }
    }

    var retains: [WakeID] {
        compactMap { if case .retainHandler(let wake) = $0 { wake } else { nil } }
    }

    /// The calls that were to be recorded as ringing.
    var ringsToJournal: [CallRecord] {
        compactMap { if case .journalRing(let record) = $0 { record } else { nil } }
    }

    /// What was to be made durable, with its payload and its call.
    var journaled: [(push: PushRecord, payload: [UInt8], call: CallRecord?)] {
        compactMap {
            guard case .journalPush(let push, let payloads, let call, _) = $0 else { return nil }
            return (push, payloads.last?.bytes ?? [], call)
        }
    }

    var outcomes: [PushOutcome] { journaled.map(\.push.outcome) }

    /// The calls whose end is to be stored with the push that took their place.
    var replaced: [CallRecord] {
        compactMap { if case .journalPush(_, _, _, let replaced) = $0 { replaced } else { nil } }
    }
}
