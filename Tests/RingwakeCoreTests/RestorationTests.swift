import FoundationEssentials
import RingwakeCore
import Testing

@Suite("After a restart within the same boot calls go on where they stood, with their handlers or others")
struct RestorationTests {
    typealias Name = CallStateMachine.State.Name

    /// A new daemon, two seconds later, takes up what `former` had.
    static func restart(
        _ former: Scenario, isAlive: Bool, after duration: Duration = .seconds(2)
    ) throws -> (scenario: Scenario, effects: [Effect]) {
        var scenario = Scenario(.app)
        scenario.policy = former.policy
        scenario.now = former.now.advanced(by: duration)
        let handlers = former.lane?.handlers ?? [:]
        scenario.coordinator = CoordinatorStateMachine(firstWakeNumber: (handlers.keys.max()?.number ?? 0) + 1)
        var effects: [Effect] = []
        for call in former.coordinator.active.values.sorted(by: { $0.number < $1.number }) {
            let record = try SnapshotTests.written(call.journalRecord)
            effects += scenario.send(
                .restored(StoredCall(record, payloads: call.pushes.payloads, .thisBoot), scenario.policy))
        }
        let alive = isAlive ? Set(handlers.keys) : []
        effects += scenario.send(.handlersRestored(Scenario.app, handlers, alive: alive, scenario.policy))
        return (scenario, effects)
    }

    @Test(
        "A call that a repeated push has started again before the journal could be read is one call, with its number",
        arguments: [Name.woken, .ringing, .ended])
    func startedAgain(name: Name) throws {
        let former = RestorationTests.former(.woken)
        let record = try SnapshotTests.written(try #require(former.call()).journalRecord)
        var scenario = Scenario(.app)
        scenario.coordinator.skip(toCall: 1_000, toWake: 1_000)
        scenario.bring(to: name)
        #expect(scenario.number() == 1_000 && scenario.handler().number >= (name == .ended ? 0 : 1_000))
        let effects = scenario.send(.restored(StoredCall(record, payloads: [], .thisBoot), scenario.policy))
        #expect(scenario.number() == record.number && scenario.call()?.isJournaled == true)
        #expect(scenario.state()?.name == name && effects.wakes.isEmpty && effects.states.isEmpty)
        // The journal learns what has become of it.
        #expect(effects.contains { if case .callNoted(let call) = $0 { call == scenario.call() } else { false } })
        #expect(scenario.coordinator.nextCallNumber == 1_001)
    }

    static func former(_ name: Name) -> Scenario {
        var scenario = Scenario(.app)
        scenario.bring(to: name)
        return scenario
    }

    @Test(
        "With its handler alive a call stands as it stood, and nothing is started",
        arguments: [Name.woken, .reported, .confirmed, .ringing, .answering, .connected, .held, .ending])
    func alive(name: Name) throws {
        let former = RestorationTests.former(name)
        var (scenario, effects) = try RestorationTests.restart(former, isAlive: true)
        // A ring that was requested is on the disk, so it rings.
        let now = name == .confirmed ? Name.ringing : name
        #expect(effects.wakes.isEmpty && effects.strikes.isEmpty && effects.ringsToJournal.isEmpty)
        #expect(effects.states == (name == .confirmed ? ["ringing"] : []))
        #expect(scenario.state()?.name == now && scenario.handler() == former.handler())
        #expect(scenario.call().map { scenario.coordinator.process(of: $0) } == 4711)
        #expect(scenario.lane?.handlers[former.handler()]?.calls == [scenario.key()])
        #expect(scenario.coordinator.nextDeadline.map { $0 > scenario.now } == true)
        // It goes on as if nothing had been.
        switch name {
        case .woken: #expect(scenario.report().states == ["reported"])
        case .reported:
            #expect(scenario.send(.ringConfirmed(scenario.key(), by: scenario.handler())).states == ["confirmed"])
        case .confirmed, .ringing: #expect(scenario.send(.answerRequested(scenario.key())).requests == [.answer])
        case .answering:
            #expect(scenario.send(.fulfilled(scenario.key(), .answer, by: scenario.handler())).states == ["connected"])
        case .ending:
            #expect(scenario.send(.fulfilled(scenario.key(), .end, by: scenario.handler())).states == ["ended"])
        default: #expect(scenario.send(.endRequested(scenario.key())).requests == [.end])
        }
        #expect(scenario.receive("more", call: "two").wakes.isEmpty, "one handler is enough")
    }

    @Test("A ring that was requested is on the disk: it goes on, for the time that is left, and is no second one")
    func ringOnTheDisk() throws {
        let former = RestorationTests.former(.confirmed)
        let call = try #require(former.call())
        let rangAt = former.now
        for isAlive in [true, false] {
            var scenario = Scenario(.app)
            scenario.now = former.now.advanced(by: .seconds(2))
            let ring = scenario.send(.restored(StoredCall(call), former.policy))
            #expect(ring.states == ["ringing"] && scenario.call()?.record.time(of: .rang) == rangAt)
            let handlers = try #require(former.lane).handlers
            let alive = isAlive ? Set(handlers.keys) : []
            let found = scenario.send(.handlersRestored(Scenario.app, handlers, alive: alive, former.policy))
            #expect(found.ringsToJournal.isEmpty && found.wakes.map(\.kind) == (isAlive ? [] : [.claim]))
            #expect(scenario.state() == .ringing(until: rangAt.advanced(by: former.policy.deadlines.ring)))
        }
        var late = Scenario(.app)
        late.now = rangAt.advanced(by: .seconds(60))
        #expect(late.send(.restored(StoredCall(call), former.policy)).missed == ["one"], "its time is over")
        // The journal had failed to record it: it is asked again.
        var failed = RestorationTests.former(.confirmed)
        failed.send(.ringNotJournaled(failed.key(), number: failed.number()))
        var (scenario, effects) = try RestorationTests.restart(failed, isAlive: true)
        #expect(effects.states.isEmpty && effects.ringsToJournal.count == 1)
        #expect(scenario.journalRing().states == ["ringing"])
    }

    @Test(
        "Its handler is gone: what rings or goes on may be claimed, and another one is started; nobody is charged",
        arguments: [Name.ringing, .answering, .connected, .held])
    func deadInCall(name: Name) throws {
        var (scenario, effects) = try RestorationTests.restart(RestorationTests.former(name), isAlive: false)
        #expect(effects.strikes.isEmpty && effects.wakes.map(\.kind) == [.claim] && scenario.state()?.name == name)
        let claimBy = scenario.now.advanced(by: .seconds(5))
        #expect(scenario.call()?.machine.claimBy == claimBy && scenario.handler() == effects.wakes.first?.wake)
        #expect(scenario.send(.claimed(scenario.key(), by: scenario.handler())).states == [name.rawValue])
    }

    @Test(
        "Its handler is gone: what never rang is delivered again, with its payload, and nobody is charged",
        arguments: [Name.woken, .reported])
    func deadBefore(name: Name) throws {
        var (scenario, effects) = try RestorationTests.restart(RestorationTests.former(name), isAlive: false)
        let request = try #require(effects.wakes.first)
        #expect(effects.states == ["queued", "woken"] && effects.strikes.isEmpty && effects.ringsToJournal.isEmpty)
        #expect(request.kind == .call && request.attempt == 2 && request.payload == Array("{}".utf8))
        scenario.report(ring: true)
        #expect(scenario.journalRing().states == ["ringing"])
    }

    @Test("What the user was ending stays ended, for that reason")
    func deadEnding() throws {
        let (scenario, effects) = try RestorationTests.restart(RestorationTests.former(.ending), isAlive: false)
        #expect(effects.states == ["ended"] && effects.strikes.isEmpty && effects.missed.isEmpty)
        #expect(scenario.state()?.endReason == .localEnded && scenario.coordinator.lanes.isEmpty)
    }

    @Test("One attempt only is one: with its handler gone the call is not delivered again")
    func oneAttempt() throws {
        var former = Scenario(.app)
        former.receive(expiration: .oneAttempt)
        let (scenario, effects) = try RestorationTests.restart(former, isAlive: false)
        #expect(effects.wakes.isEmpty && effects.missed == ["one"] && scenario.state()?.endReason == .expired)
        let (alive, _) = try RestorationTests.restart(former, isAlive: true)
        #expect(alive.state()?.name == .woken, "its handler has it")
    }

    @Test("What the handler owes it has its full time for; what the person waits for ends when it would have")
    func deadlines() throws {
        let former = RestorationTests.former(.answering)
        var (scenario, _) = try RestorationTests.restart(former, isAlive: true, after: .seconds(60))
        #expect(scenario.coordinator.nextDeadline == scenario.now.advanced(by: .seconds(10)))
        let (ringing, _) = try RestorationTests.restart(RestorationTests.former(.ringing), isAlive: true)
        #expect(ringing.coordinator.nextDeadline == ringing.now.advanced(by: .seconds(43)))
        let late = try RestorationTests.restart(RestorationTests.former(.ringing), isAlive: true, after: .seconds(60))
        scenario = late.scenario
        #expect(late.effects.states == ["ended"] && late.effects.missed == ["one"])
        #expect(late.effects.releases.count == 1, "its handler runs still, and has nothing to do")
    }

    @Test("Queued calls get their turn, and one that the daemon rings for goes on without a handler")
    func withoutHandler() throws {
        var former = SingleFlightTests.busy()
        let (scenario, effects) = try RestorationTests.restart(former, isAlive: true)
        #expect(effects.wakes.isEmpty && scenario.lane?.waiting == [scenario.key("one")])
        let (dead, restarted) = try RestorationTests.restart(former, isAlive: false)
        #expect(restarted.wakes.map(\.kind) == [.claim] && dead.lane?.waiting == [dead.key("one")])
        former = FallbackTests.fail(.exitedWoken).scenario
        former.journalRing()
        var (ringing, ring) = try RestorationTests.restart(former, isAlive: false)
        #expect(ring.isEmpty && ringing.coordinator.ringingCalls.count == 1 && ringing.coordinator.lanes.isEmpty)
        #expect(ringing.send(.answerRequested(ringing.key())).wakes.map(\.kind) == [.claim])
    }

    @Test("Handlers without a call are released anew, and those that were to be stopped are stopped again")
    func idleHandlers() throws {
        var former = Scenario(.call)
        former.bring("idle", to: .ended)
        former.bring("hangs", to: .woken)
        former.pass(.seconds(5))
        let (idle, hanging) = (former.handler("idle"), former.handler("hangs"))
        var (scenario, effects) = try RestorationTests.restart(former, isAlive: true)
        #expect(effects.releases == [idle] && effects.stops == [hanging])
        #expect(scenario.exit(idle).isEmpty && scenario.exit(hanging).isEmpty && scenario.coordinator.lanes.isEmpty)
    }

    @Test("Numbers go on above those of the last run; a call is restored once, and its push's repeat is known")
    func numbers() throws {
        var (scenario, _) = try RestorationTests.restart(RestorationTests.former(.ringing), isAlive: true)
        let call = try #require(scenario.call())
        let before = scenario.coordinator
        #expect(scenario.send(.restored(StoredCall(call), scenario.policy)).isEmpty && scenario.coordinator == before)
        #expect(scenario.receive().outcomes == [.duplicate])
        scenario.policy.instances = .call
        #expect(scenario.receive("new").wakes.first.map { $0.wake > call.handler ?? $0.wake } == true)
        #expect(scenario.number("new") == call.number + 1)
    }

    @Test("The policy in force counts, not that of the last run")
    func policy() throws {
        var former = RestorationTests.former(.ringing)
        former.policy.whenCellular = .end
        let (scenario, _) = try RestorationTests.restart(former, isAlive: true)
        #expect(scenario.call()?.policy.whenCellular == .end)
    }

    @Test("A handler that connected keeps no connection any more until it connects again")
    func connections() throws {
        var former = RestorationTests.former(.connected)
        former.send(.handlerConnected(Scenario.app, former.handler(), pid: nil, former.policy))
        var (scenario, _) = try RestorationTests.restart(former, isAlive: true)
        #expect(scenario.lane?.handlers[former.handler()]?.isConnected == false)
        scenario.send(.handlerConnected(Scenario.app, former.handler(), pid: nil, scenario.policy))
        #expect(scenario.receive("two").deliveries.count == 1)
    }
}

extension StoredCall {
    /// The call as the journal of this boot has it.
    init(_ call: Call) { self.init(call.journalRecord, payloads: call.pushes.payloads, .thisBoot) }
}
