import RingwakeCore

/// Builds pushes and drives a coordinator through a made-up time that moves only when told.
struct Scenario {
    static let app = AppID("com.example.phone") ?? { preconditionFailure("a valid bundle id") }()

    var coordinator: CoordinatorStateMachine
    var now = BootInstant(nanoseconds: 1_000_000_000_000)

    init(deadlines: CallDeadlines = CallDeadlines(), limits: CoordinatorStateMachine.Limits = .init()) {
        coordinator = CoordinatorStateMachine(deadlines: deadlines, limits: limits)
    }

    func push(
        _ id: String = "one", app: AppID = Scenario.app, expiration: VerifiedPush.Expiration? = nil,
        payload: String = "{}"
    ) -> VerifiedPush {
        VerifiedPush(
            apnsID: id, app: app, topic: .voip(of: app), environment: .development,
            sender: .certificate(team: "DEVTEAM001", fingerprint: "00"), priority: .immediate, expiration: expiration,
            collapseID: nil, payload: Array(payload.utf8), receivedAt: now, verifiedAt: now)
    }

    func key(_ id: String = "one", app: AppID = Scenario.app) -> CallKey {
        CallKey(app: app, id: CallID(id))
    }

    mutating func wait(_ duration: Duration) {
        now = now.advanced(by: duration)
    }

    @discardableResult
    mutating func send(_ event: Event) -> [Effect] {
        coordinator.handle(event, at: now)
    }

    /// Takes a call as far as ringing.
    mutating func ring(_ id: String = "one") {
        send(.pushReceived(push(id)))
        send(.handlerStarted(key(id), pid: 4711))
        send(.reported(key(id), CallUpdate(caller: "sip:alice@example.org"), ring: true))
    }

    func state(_ id: String = "one") -> CallStateMachine.State? {
        coordinator.call(key(id))?.machine.state
    }

    func stages(_ id: String = "one") -> [String] {
        coordinator.call(key(id))?.timeline.map(\.stage.rawValue) ?? []
    }
}

extension [Effect] {
    /// The names of the states that calls entered, in order.
    var states: [String] {
        compactMap { effect in
            if case .callChanged(let call) = effect { call.machine.state.name } else { nil }
        }
    }

    var wakes: [WakeRequest] {
        compactMap { effect in
            if case .wake(let request) = effect { request } else { nil }
        }
    }

    var refusals: [EventRefusal] {
        compactMap { effect in
            if case .refused(let refusal) = effect { refusal } else { nil }
        }
    }
}
