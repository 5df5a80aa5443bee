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
    }

    /// A process that was started for an app.
    struct Handler {
        let app: AppID
        var isRunning = false
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
    /// A second coordinator, which is to do the same.
    var twin: CoordinatorStateMachine?
    var journal = SimulatedJournal()
    var checks = CoordinatorChecks()
    private(set) var handlers: [WakeID: Handler] = [:]
    private(set) var sent: [Sent] = []
    /// Pushes that were answered with 503.
    private(set) var refused: [Sent] = []
    private var policies: [AppID: AppPolicy] = [:]
    private let manners: Manners
    let limits: CoordinatorStateMachine.Limits
    private var pushCount = 0

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
            policies[app] = AppPolicy(deadlines: CallDeadlines(connected: .seconds(90)), instances: instances)
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
        case 0..<22: send()
        case 22..<62: handlerActs()
        case 62..<75: userActs()
        case 75..<96: journalActs(failing: 0.2)
        case 96..<98 where manners.changesInstances:
            let app = pick(SimulatedWorld.apps) ?? Scenario.app
            let instances: HandlerInstances = chance(0.5) ? .app : .call
            policies[app]?.instances = instances
            checks.changedApps.insert(app)
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
        if twin != nil {
            let others = twin?.handle(event, at: now)
            checks.check(others == effects, "the restored coordinator does otherwise: \(event)")
        }
        switch event {
        case .handlerExited(let wake, _), .handlerNotStarted(let wake, _): handlers[wake] = nil
        default: break
        }
        checks.observe(event, effects, before: before, after: coordinator, at: now, journal)
        for effect in effects { carryOut(effect) }
    }

    private mutating func carryOut(_ effect: Effect) {
        switch effect {
        case .wake(let request): handlers[request.wake] = Handler(app: request.app, calls: [request.key])
        case .handOver(let requests):
            for request in requests { hears(of: request.key, request.wake) }
        case .pushWaits(let wake, let key, _): hears(of: key, wake)
        case .stopHandler(let wake), .releaseHandler(let wake): handlers[wake]?.isToEnd = true
        case .retainHandler(let wake): handlers[wake]?.isToEnd = false
        case .request(let action, let key, _):
            if let wake = coordinator.call(key)?.handler { handlers[wake]?.asked.append((action, key)) }
        case .journalPush(let push, let payload, let call): journal.take(.push(push, payload: payload, call: call))
        case .journalRing(let call): journal.take(.ring(call))
        case .callChanged(let call): journal.take(.write(call.journalRecord))
        case .pushIgnored, .strike, .tellPath, .callMissed, .refused: break
        }
    }

    private mutating func hears(of key: CallKey, _ wake: WakeID) {
        if handlers[wake]?.calls.contains(key) == false { handlers[wake]?.calls.append(key) }
    }

    /// The daemon is killed. Some of what waited may have become durable, and nobody heard of it.
    mutating func crash() {
        _ = journal.commit(Int.random(in: 0...journal.waiting.count, using: &random))
        journal.crash()
        handlers = [:]
        checks.restart()
        now = now.advanced(by: .milliseconds(Int.random(in: 0..<8_000, using: &random)))
        coordinator = CoordinatorStateMachine(firstCallNumber: journal.nextNumber, limits: limits)
        coordinator.remember(journal.recent(Int.random(in: 0..<4, using: &random)))
        for call in journal.open { apply(.recovered(call, policies[call.record.key.app])) }
    }

    /// Nothing new comes, and nobody does more than it must: all that was begun has to end by itself.
    mutating func driveToTheEnd() {
        var rounds = 0
        while !coordinator.active.isEmpty || !coordinator.lanes.isEmpty, rounds < 500 {
            rounds += 1
            for wake in handlers.filter({ $0.value.isToEnd }).keys.sorted() where handlers[wake] != nil {
                apply(.handlerExited(wake, .exited(0)))
            }
            if chance(0.3) { journalActs(failing: 0) }
            if let deadline = coordinator.nextDeadline {
                pass(now.duration(to: deadline), isPunctual: true)
            }
        }
        while !journal.waiting.isEmpty { answer(journal.commit(journal.waiting.count)) }
    }

    private mutating func answer(_ events: [Event]) {
        for event in events { apply(event) }
    }
}

// MARK: - Who does what

extension SimulatedWorld {
    private mutating func send() {
        if let again = refused.popLast() ?? (chance(0.3) ? pick(sent.suffix(12)) : nil) {
            apply(.pushReceived(copy(again.push), again.facts, policies[again.push.app] ?? AppPolicy()))
            return
        }
        pushCount += 1
        let (app, id) = (pick(SimulatedWorld.apps) ?? Scenario.app, Int.random(in: 0..<50, using: &random))
        let namesCall = chance(0.6)
        var facts = PushFacts(call: namesCall ? CallID("call-\(id)") : nil)
        if namesCall, chance(0.2) { facts.cancel = pick(PushFacts.cancelReasons.sorted { $0.rawValue < $1.rawValue }) }
        if chance(0.2) { facts.ringTime = .seconds(Int.random(in: 1..<60, using: &random)) }
        if chance(0.2) { facts.sentAt = now.advanced(by: .seconds(-Int.random(in: 0..<50, using: &random))) }
        if chance(0.3) { facts.update = CallUpdate(caller: "sip:\(pushCount)@example.org") }
        let expirations: [VerifiedPush.Expiration?] = [
            nil, nil, nil, nil, .oneAttempt, .at(now), .at(now.advanced(by: .seconds(3))),
            .at(now.advanced(by: .seconds(60))),
        ]
        let push = VerifiedPush(
            apnsID: namesCall ? "push-\(pushCount)" : "push-of-\(id)", app: app, topic: .voip(of: app),
            environment: .production,
            sender: .token(team: chance(0.85) ? "TEAM000001" : "TEAM000002", keyID: "KEY0000001"),
            priority: .immediate, expiration: pick(expirations) ?? nil, collapseID: nil, payload: [123, 125],
            receivedAt: now, verifiedAt: now)
        sent.append(Sent(push: push, facts: facts))
        apply(.pushReceived(push, facts, policies[app] ?? AppPolicy()))
    }

    /// The push as it is when it comes again.
    private func copy(_ push: VerifiedPush) -> VerifiedPush {
        VerifiedPush(
            apnsID: push.apnsID.uppercased(), app: push.app, topic: push.topic, environment: push.environment,
            sender: push.sender, priority: push.priority, expiration: push.expiration, collapseID: push.collapseID,
            payload: push.payload, receivedAt: now, verifiedAt: now)
    }

    private mutating func handlerActs() {
        guard let wake = pick(handlers.keys.sorted()), let handler = handlers[wake] else { return }
        guard handler.isRunning else {
            if chance(0.1) {
                apply(.handlerNotStarted(wake, why: "no such file"))
            } else {
                handlers[wake]?.isRunning = true
                apply(.handlerStarted(wake, pid: Int32(truncatingIfNeeded: wake.number)))
            }
            return
        }
        if handler.isToEnd, chance(0.4) { return apply(.handlerExited(wake, .exited(0))) }
        if let asked = handler.asked.last, chance(0.7) {
            handlers[wake]?.asked.removeLast()
            let fulfills = chance(0.8)
            apply(
                fulfills
                    ? .fulfilled(asked.key, asked.action, by: wake) : .actionFailed(asked.key, asked.action, by: wake))
            return
        }
        // Mostly of a call that runs: it heard of that end.
        let running = handler.calls.filter { coordinator.active[$0] != nil }
        guard let key = (chance(0.9) ? pick(running) : nil) ?? pick(handler.calls.suffix(3)) else {
            return apply(.pushesFetched(wake))
        }
        switch Int.random(in: 0..<20, using: &random) {
        case 0..<3: apply(.pushesFetched(wake))
        case 3..<13: apply(.reported(key, CallUpdate(callerName: "Al"), ring: chance(0.7), by: wake))
        case 13..<16: apply(.ringConfirmed(key, by: wake))
        case 16:
            let reasons = CallEndReason.reportable.sorted { $0.rawValue < $1.rawValue }
            apply(.remoteEnded(key, pick(reasons) ?? .failed, by: wake))
        case 17: apply(.handlerExited(wake, .signalled(9)))
        // It hangs.
        default: break
        }
    }

    private mutating func userActs() {
        let calls = coordinator.active.values.sorted { $0.number < $1.number }
        let ringing = calls.filter { $0.machine.state.name == .ringing }
        guard let key = pick(ringing)?.key ?? pick(calls)?.key else { return }
        switch Int.random(in: 0..<10, using: &random) {
        case 0..<6: apply(.answerRequested(key))
        case 6..<8: apply(.declineRequested(key))
        default: apply(.endRequested(key))
        }
    }

    private mutating func journalActs(failing probability: Double) {
        let count = chance(0.6) ? journal.waiting.count : Int.random(in: 0...journal.waiting.count, using: &random)
        guard chance(probability) else { return answer(journal.commit(count)) }
        let (events, pushes) = journal.fail(count)
        for push in pushes {
            let name = SimulatedJournal.PushName(push)
            refused += sent.filter { $0.push.app == name.app && $0.push.apnsID.lowercased() == name.apnsID }.suffix(1)
        }
        for event in events { apply(event) }
    }

    /// Anybody says anything of anything: handlers that do not exist, calls of others, numbers of long ago.
    private mutating func strangerActs() {
        let wake = WakeID(number: UInt64.random(in: 0..<30, using: &random))
        let known =
            coordinator.finished.suffix(3).map(\.key)
            + coordinator.active.keys.sorted { $0.description < $1.description }
        let key = pick(known) ?? CallKey(app: Scenario.app, id: CallID("nobody"))
        let number = Int64.random(in: 0..<40, using: &random)
        let isNobody = handlers[wake] == nil
        switch Int.random(in: 0..<11, using: &random) {
        case 0: apply(.reported(key, CallUpdate(), ring: true, by: wake))
        case 1: apply(.ringConfirmed(key, by: wake))
        case 2: apply(.fulfilled(key, .answer, by: chance(0.5) ? nil : wake))
        case 3: apply(.actionFailed(key, .end, by: wake))
        case 4: apply(.remoteEnded(key, .remoteEnded, by: chance(0.5) ? nil : wake))
        case 5: apply(.pushesFetched(wake))
        case 6: if isNobody { apply(.handlerExited(wake, .exited(1))) }
        case 7: if isNobody { apply(.handlerStarted(wake, pid: 1)) }
        case 8: apply(.deadlineReached)
        case 9: apply(.networkChanged)
        default: apply(.ringNotJournaled(key, number: number))
        }
    }
}
