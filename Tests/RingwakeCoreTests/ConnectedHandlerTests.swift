import RingwakeCore
import Testing

@Suite("A handler that keeps a connection gets whatever comes there, and nothing is started")
struct ConnectedHandlerTests {
    /// An app whose handler connected by itself.
    static func connected(_ instances: HandlerInstances = .app) -> (scenario: Scenario, wake: WakeID) {
        var scenario = Scenario(instances)
        let wake = scenario.send(.handlerConnected(Scenario.app, nil, pid: 77, scenario.policy)).connected
        return (scenario, wake ?? WakeID(number: 0))
    }

    @Test("A call is delivered to it, and its updates; its end releases nobody", arguments: HandlerInstances.allCases)
    func delivered(instances: HandlerInstances) throws {
        var (scenario, wake) = ConnectedHandlerTests.connected(instances)
        let effects = scenario.receive("one", payload: "{1}")
        let request = try #require(effects.deliveries.first)
        #expect(effects.wakes.isEmpty && effects.first == .deliver(request) && effects.states == ["woken"])
        #expect(
            request.wake == wake && request.kind == .call && request.attempt == 1
                && request.payload == Array("{1}".utf8))
        #expect(
            scenario.stages().contains("woke") && scenario.call().map { scenario.coordinator.process(of: $0) } == 77)
        let update = scenario.receive("more", call: "one", payload: "{2}")
        #expect(update.deliveries.map(\.kind) == [.update] && update.deliveries.first?.payload == Array("{2}".utf8))
        scenario.report(ring: true)
        scenario.journalRing()
        #expect(scenario.receive("two").deliveries.map(\.wake) == [wake], "also while it has one")
        for id in ["one", "two"] {
            #expect(scenario.send(.remoteEnded(scenario.key(id), .remoteEnded, by: wake)).releases.isEmpty)
        }
        #expect(scenario.lane?.handlers.count == 1 && scenario.pass(.seconds(3600)).isEmpty)
        #expect(scenario.receive("three").retains.isEmpty)
    }

    @Test("What waits for a busy or a stopping handler is delivered when one connects")
    func waiting() {
        var scenario = SingleFlightTests.busy()
        let busy = scenario.handler("busy")
        let effects = scenario.send(.handlerConnected(Scenario.app, nil, pid: nil, scenario.policy))
        #expect(effects.deliveries.map(\.call.rawValue) == ["one"] && scenario.lane?.waiting == [])
        #expect(scenario.handler("one") == effects.connected && scenario.handler("busy") == busy)
    }

    @Test("Of several the newest gets what comes; an update goes to the one that has the call")
    func newest() {
        var (scenario, first) = ConnectedHandlerTests.connected()
        scenario.receive("one")
        let second = scenario.send(.handlerConnected(Scenario.app, nil, pid: nil, scenario.policy)).connected
        #expect(scenario.receive("two").deliveries.map(\.wake) == [second])
        #expect(scenario.receive("more", call: "one").deliveries.map(\.wake) == [first])
    }

    @Test("A handler that was started connects: what it has not read is delivered, and then it is not released")
    func startedConnects() {
        var scenario = SingleFlightTests.busy()
        let wake = scenario.handler("busy")
        scenario.receive("more", call: "busy", payload: "{5}")
        let effects = scenario.send(.handlerConnected(Scenario.app, wake, pid: nil, scenario.policy))
        #expect(effects.connected == nil && effects.deliveries.map(\.kind) == [.update, .call])
        #expect(scenario.handler("one") == wake)
        for id in ["busy", "one"] {
            #expect(scenario.send(.remoteEnded(scenario.key(id), .remoteEnded, by: wake)).releases.isEmpty)
        }
        #expect(scenario.send(.handlerDisconnected(wake)).releases == [wake], "without a call and without a connection")
        #expect(scenario.send(.handlerConnected(Scenario.app, wake, pid: nil, scenario.policy)).retains == [wake])
        #expect(scenario.lane?.handlers[wake]?.cameByItself == false)
    }

    @Test("A call that is taken back before it rings costs it no connection")
    func takenBack() {
        var (scenario, wake) = ConnectedHandlerTests.connected()
        scenario.receive("one")
        scenario.report("one", ring: true)
        let effects = scenario.receive("back", call: "one", cancel: .cancelled)
        #expect(effects.stops.isEmpty && scenario.state("one")?.endReason == .cancelled)
        #expect(scenario.receive("two").deliveries.map(\.wake) == [wake])
    }

    @Test("What was delivered of a call and not reported comes again by the next connection, and by a fetch")
    func deliveredAgain() {
        var scenario = Scenario(.app)
        scenario.bring(to: .connected)
        let wake = scenario.handler()
        scenario.send(.handlerConnected(Scenario.app, wake, pid: nil, scenario.policy))
        #expect(scenario.receive("two", payload: "{2}").deliveries.map(\.kind) == [.call])
        let more = scenario.receive("more", call: "two", payload: "{3}")
        #expect(more.deliveries.map(\.payload) == [Array("{3}".utf8)], "only what is new")
        // Perhaps nobody has read them: the connection is gone.
        scenario.send(.handlerDisconnected(wake))
        #expect((scenario.send(.pushesFetched(wake)).handedOver ?? []).map(\.kind) == [.call, .update])
        let again = scenario.send(.handlerConnected(Scenario.app, wake, pid: nil, scenario.policy))
        #expect(again.deliveries.map(\.payload) == [Array("{2}".utf8), Array("{3}".utf8)])
        scenario.report("two", ring: true)
        scenario.send(.handlerDisconnected(wake))
        let known = scenario.send(.handlerConnected(Scenario.app, wake, pid: nil, scenario.policy))
        #expect(
            known.deliveries.isEmpty && scenario.send(.pushesFetched(wake)).handedOver == [],
            "it has shown that it knows the call")
    }

    @Test("A started handler whose connection closes goes on as it began")
    func startedDisconnects() {
        var scenario = Scenario(.app)
        scenario.bring(to: .connected)
        let wake = scenario.handler()
        scenario.send(.handlerConnected(Scenario.app, wake, pid: nil, scenario.policy))
        #expect(scenario.send(.handlerDisconnected(wake)).isEmpty && scenario.state()?.name == .connected)
        #expect(scenario.receive("two").last == .pushWaits(wake, scenario.key("two"), .call))
    }

    @Test("One that came by itself is gone with its connection: its calls are, or may be claimed")
    func guestDisconnects() {
        var (scenario, wake) = ConnectedHandlerTests.connected()
        scenario.receive("one")
        scenario.report("one", ring: true)
        scenario.journalRing("one")
        scenario.receive("two")
        let effects = scenario.send(.handlerDisconnected(wake))
        #expect(effects.strikes == [.exited] && effects.wakes.map(\.kind) == [.claim])
        #expect(scenario.state("one")?.name == .ringing)
        #expect(scenario.state("two") == .queued, "it may never have seen it")
        var (idle, guest) = ConnectedHandlerTests.connected()
        #expect(idle.send(.handlerDisconnected(guest)).isEmpty && idle.coordinator.lanes.isEmpty)
    }

    @Test("What a handler is given as it leaves goes to another one, all of it, and nobody is charged")
    func leaves() {
        for way in [HandlerExit.exited(0), .left("ended")] {
            var scenario = Scenario(.app)
            scenario.bring("one", to: .connected)
            let leaver = scenario.handler("one")
            scenario.send(.handlerConnected(Scenario.app, leaver, pid: nil, scenario.policy))
            scenario.send(.remoteEnded(scenario.key("one"), .remoteEnded, by: leaver))
            #expect(scenario.receive("two", payload: "{2}").deliveries.count == 1)
            let effects = scenario.exit(leaver, way)
            #expect(effects.strikes.isEmpty && effects.missed.isEmpty && effects.states == ["queued", "woken"])
            #expect(effects.wakes.map(\.kind) == [.call] && effects.wakes.map(\.attempt) == [2])
            #expect(effects.wakes.map(\.payload) == [Array("{2}".utf8)])
            // It is what the second one was started for.
            #expect(scenario.exit(scenario.handler("two"), way).strikes == [.exited])
            #expect(scenario.state("two")?.endReason == .handlerFailed)
        }
    }

    @Test("A handler that crashes, or that had reported the call, is gone as any other; and not for ever it goes on")
    func leavesOtherwise() throws {
        var (scenario, guest) = ConnectedHandlerTests.connected()
        let second = scenario.send(.handlerConnected(Scenario.app, nil, pid: 7, scenario.policy))
        let process = try #require(second.connected)
        #expect(scenario.receive("one").deliveries.map(\.wake) == [process])
        scenario.report("one")
        #expect(scenario.send(.handlerDisconnected(process)).missed == ["one"], "it had it")
        scenario.receive("two")
        #expect(scenario.exit(guest, .signalled(11)).missed == ["two"], "it may be what killed it")
        // Each leaves as it is given the call.
        let guests = (0..<4).compactMap { _ in
            scenario.send(.handlerConnected(Scenario.app, nil, pid: 7, scenario.policy)).connected
        }
        var given = scenario.receive("three").deliveries
        for guest in guests.reversed() { given += scenario.send(.handlerDisconnected(guest)).deliveries }
        #expect(given.map(\.attempt) == [1, 2, 3] && scenario.state("three")?.endReason == .handlerFailed)
    }

    @Test("A call that lost its handler is delivered to be claimed, and nothing is started")
    func claims() {
        var scenario = Scenario(.app)
        scenario.bring(to: .connected)
        let guest = scenario.send(.handlerConnected(Scenario.app, nil, pid: nil, scenario.policy)).connected
        let effects = scenario.exit(scenario.handler(), .signalled(9))
        #expect(effects.wakes.isEmpty && effects.deliveries.map(\.kind) == [.claim])
        #expect(effects.deliveries.first?.wake == guest)
        #expect(scenario.send(.claimed(scenario.key(), by: scenario.handler())).states == ["connected"])
    }

    @Test("One that hangs is stopped like any other; what comes meanwhile waits until it is gone")
    func hangs() {
        var (scenario, wake) = ConnectedHandlerTests.connected()
        scenario.receive("one")
        let effects = scenario.pass(.seconds(5))
        #expect(effects.stops == [wake] && effects.strikes == [.didNotReport])
        #expect(scenario.receive("two").deliveries.isEmpty && scenario.lane?.waiting == [scenario.key("two")])
        #expect(scenario.send(.handlerDisconnected(wake)).wakes.map(\.call.rawValue) == ["two"])
    }

    @Test("Only so many come by themselves; a handler that nobody knows cannot connect as one that was started")
    func limits() {
        var scenario = Scenario(.app)
        for _ in 0..<8 {
            #expect(scenario.send(.handlerConnected(Scenario.app, nil, pid: nil, scenario.policy)).connected != nil)
        }
        let before = scenario.coordinator
        #expect(
            scenario.send(.handlerConnected(Scenario.app, nil, pid: nil, scenario.policy))
                == [.refused(.tooManyHandlers(Scenario.app))])
        let nobody = WakeID(number: 99)
        #expect(
            scenario.send(.handlerConnected(Scenario.app, nobody, pid: nil, scenario.policy))
                == [.refused(.unknownHandler(nobody))])
        let others = WakeID(number: 1)
        #expect(
            scenario.send(.handlerConnected(Scenario.otherApp, others, pid: nil, scenario.policy))
                == [.refused(.unknownHandler(others))])
        #expect(scenario.coordinator == before && scenario.send(.handlerDisconnected(nobody)).isEmpty)
    }

    @Test("A call is delivered before its push is durable, as a handler is started before")
    func order() {
        var (scenario, _) = ConnectedHandlerTests.connected()
        let effects = scenario.receive("one")
        guard case .deliver = effects.first, case .journalPush = effects.dropFirst().first else {
            Issue.record("\(effects)")
            return
        }
    }
}
