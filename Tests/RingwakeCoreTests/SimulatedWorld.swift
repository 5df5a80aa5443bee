import RingwakeCore

/// Senders, handlers, a user and a journal around a coordinator, who do what they do at random: the same for the same
/// seed. Whatever the coordinator asks for is done, sooner or later or not at all, as in the world outside.
struct SimulatedWorld {
    /// How the world behaves.
    struct Manners {
        /// How many ended calls the coordinator remembers; few, so that repeats reach the journal.
        var finishedCalls = 6
        /// Whether apps change how many handlers they have.
        var changesInstances = false
        /// Whether anybody says anything of anything.
        var hasStrangers = true
        /// After how many strikes an app's handlers are not started any more; 0: never.
        var strikeLimit = 0
        /// Whether calls are kept out, by the push or by the report.
        var restricts = false
        /// Whether handlers connect, those that were started and others.
        var connects = false
    }

    /// A process that was started for an app, or that came by itself.
    struct Handler {
        let app: AppID
        var isRunning = false
        var isConnected = false
        var cameByItself = false
        /// It was told to end, or that it is not needed any more.
        var isToEnd = false
        /// The calls that it has heard of.
        var calls: [CallKey] = []
        /// What it was asked to do and has not answered.
        var asked: [(action: CallAction, key: CallKey)] = []
    }

    /// A push as its sender keeps it, to be sent again.
    struct Sent {
        let push: VerifiedPush
        let facts: PushFacts
    }

    var random: RandomOrderTests.Generator
    var now = BootInstant(nanoseconds: 1_000_000_000_000)
    var coordinator: CoordinatorStateMachine
    var journal = SimulatedJournal()
    var checks = CoordinatorChecks()
    var handlers: [WakeID: Handler] = [:]
    var sent: [Sent] = []
    /// Pushes that were answered with 503.
    var refused: [Sent] = []
    var policies: [AppID: AppPolicy] = [:]
    let manners: Manners
    let limits: CoordinatorStateMachine.Limits
    var pushCount = 0
    var begunCount = 0

    static let apps = [Scenario.app, Scenario.otherApp]

    init(seed: Int, _ manners: Manners = Manners()) {
        random = RandomOrderTests.Generator(state: UInt64(seed))
        self.manners = manners
        var limits = CoordinatorStateMachine.Limits()
        limits.finishedCalls = manners.finishedCalls
        limits.activeCallsOfAnApp = 5
        limits.activeCalls = 8
        self.limits = limits
        coordinator = CoordinatorStateMachine(limits: limits)
        for app in SimulatedWorld.apps {
            let instances: HandlerInstances = chance(0.7) ? .app : .call
            var policy = AppPolicy(deadlines: CallDeadlines(connected: .seconds(90)), instances: instances)
            // At most one ring for a call holds across kills.
            policy.unrecorded = .missed
            policy.strikes = StrikeLimit(count: manners.strikeLimit, window: .seconds(120))
            policy.fallback = chance(0.5) ? .ring : .missed
            policy.whenBusy = chance(0.7) ? .ring : .reject
            policy.others = chance(0.7) ? .hold : .end
            policy.whenCellular = pick([.hold, .hold, .end, .keep]) ?? .hold
            policies[app] = policy
        }
    }

    mutating func chance(_ probability: Double) -> Bool { Double.random(in: 0..<1, using: &random) < probability }

    mutating func pick<Items: Collection>(_ items: Items) -> Items.Element? { items.randomElement(using: &random) }

    /// Something happens, after some time or at once.
    mutating func step() {
        if chance(0.6) {
            // Mostly little, so that calls get far; at times enough for any deadline.
            let most = chance(0.9) ? 600 : 9_000
            pass(.milliseconds(Int.random(in: 0..<most, using: &random)), isPunctual: chance(0.7))
        }
        switch Int.random(in: 0..<100, using: &random) {
        case 0..<3: beginCall()
        case 3..<22: send()
        case 22..<62: handlerActs()
        case 62..<75: userActs()
        case 75..<96: journalActs(failing: 0.2)
        case 96 where chance(0.3):
            apply(.cellularChanged(isActive: chance(0.5)))
        case 97 where manners.strikeLimit > 0 && chance(0.3):
            apply(.strikesCleared(pick(SimulatedWorld.apps) ?? Scenario.app))
        case 96..<98 where manners.changesInstances:
            let app = pick(SimulatedWorld.apps) ?? Scenario.app
            let instances: HandlerInstances = chance(0.5) ? .app : .call
            policies[app]?.instances = instances
            checks.changedApps.insert(app)
            if chance(0.5) { apply(.policiesChanged(policies)) }
        default: if manners.hasStrangers { strangerActs() }
        }
    }

    /// Time goes by; a punctual driver does what is due when it is, another one with the next event.
    mutating func pass(_ duration: Duration, isPunctual: Bool) {
        let end = now.advanced(by: duration)
        while isPunctual, checks.problems.isEmpty, let deadline = coordinator.nextDeadline, deadline <= end {
            // It lies in the past where the driver was late before.
            now = max(now, deadline)
            apply(.deadlineReached)
        }
        now = end
    }

    /// Gives the coordinator an event and does what it asks for.
    mutating func apply(_ event: Event) {
        let before = coordinator
        let effects = coordinator.handle(event, at: now)
        switch event {
        case .handlerExited(let wake, _), .handlerNotStarted(let wake, _): handlers[wake] = nil
        case .handlerDisconnected(let wake):
            handlers[wake]?.isConnected = false
            if handlers[wake]?.cameByItself == true { handlers[wake] = nil }
        case .handlerConnected(_, let wake?, _, _): handlers[wake]?.isConnected = true
        default: break
        }
        checks.observe(event, effects, before: before, after: coordinator, at: now, journal)
        for effect in effects { carryOut(effect, event) }
    }

    /// An event between two of which nothing has to be as it should.
    mutating func applyUnchecked(_ event: Event) {
        for effect in coordinator.handle(event, at: now) {
            checks.observeCall(effect, at: now, journal)
            checks.observeHandler(effect)
            carryOut(effect, event)
        }
    }

    private mutating func carryOut(_ effect: Effect, _ event: Event) {
        switch effect {
        case .wake(let request): handlers[request.wake] = Handler(app: request.app, calls: [request.key])
        case .deliver(let request): hears(of: request.key, request.wake)
        case .connected(let wake):
            guard case .handlerConnected(let app, nil, _, _) = event else { return }
            handlers[wake] = Handler(app: app, isRunning: true, isConnected: true, cameByItself: true)
        case .fetched(let requests):
            for request in requests { hears(of: request.key, request.wake) }
        case .pushWaits(let wake, let key, _): hears(of: key, wake)
        case .stopHandler(let wake), .releaseHandler(let wake): handlers[wake]?.isToEnd = true
        case .retainHandler(let wake): handlers[wake]?.isToEnd = false
        case .request(let pending, let key):
            let action = pending.action
            if let wake = coordinator.call(key)?.handler { handlers[wake]?.asked.append((action, key)) }
        case .journalPush(let push, let payloads, let call, let replaced):
            journal.take(.push(push, payloads: payloads, call: call, replaced: replaced))
        // The end of a call that was replaced is stored with the push that replaced it, and not before.
        case .callChanged(let call) where call.machine.state.endReason == .replaced: break
        case .journalRing(let call): journal.take(.ring(call))
        case .callChanged(let call), .callNoted(let call):
            journal.take(.write(call.journalRecord))
        case .pushIgnored, .strike, .reportPath, .reportAudio, .callMissed, .refused: break
        case .struckOut, .appChanged, .restricted, .othersStayed: break
        }
    }

    private mutating func hears(of key: CallKey, _ wake: WakeID) {
        if handlers[wake]?.calls.contains(key) == false { handlers[wake]?.calls.append(key) }
    }

    /// Nothing new comes, and nobody does more than it must: all that was begun has to end by itself.
    mutating func driveToTheEnd() {
        var rounds = 0
        while !coordinator.active.isEmpty || !coordinator.lanes.isEmpty, rounds < 500 {
            rounds += 1
            // Those that keep a connection leave as well: nobody tells them to.
            for wake in handlers.filter({ $0.value.isToEnd || $0.value.isConnected }).keys.sorted() {
                if handlers[wake]?.cameByItself == true || handlers[wake]?.isConnected == true {
                    apply(.handlerDisconnected(wake))
                } else if handlers[wake] != nil {
                    apply(.handlerExited(wake, .exited(0)))
                }
            }
            if chance(0.3) { journalActs(failing: 0) }
            if let deadline = coordinator.nextDeadline {
                pass(now.duration(to: deadline), isPunctual: true)
            }
        }
        while !journal.waiting.isEmpty { answer(journal.commit(journal.waiting.count)) }
    }

    mutating func answer(_ events: [Event]) {
        for event in events { apply(event) }
    }
}
