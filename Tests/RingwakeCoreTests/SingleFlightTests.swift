import RingwakeCore
import Testing

@Suite("One handler for all calls of an app: what arrives while it runs it fetches, or it is started again for")
struct SingleFlightTests {
    /// One call has a handler, a second one waits.
    static func busy(_ name: CallStateMachine.State.Name = .connected) -> Scenario {
        var scenario = Scenario(.app)
        scenario.bring("busy", to: name)
        scenario.receive("one", payload: "{1}")
        scenario.journal("one")
        return scenario
    }

    @Test("A second call starts no second handler: it waits, and the running one is told")
    func waits() {
        var scenario = Scenario(.app)
        scenario.bring("busy", to: .connected)
        let effects = scenario.receive("one")
        #expect(effects.wakes.isEmpty && effects.states == ["queued"] && effects.outcomes == [.started])
        #expect(effects.last == .pushWaits(scenario.handler("busy"), scenario.key(), .call))
        #expect(scenario.call()?.handler == nil && scenario.call()?.attempt == 0)
        #expect(scenario.lane?.waiting == [scenario.key()] && scenario.lane?.handlers.count == 1)
    }

    @Test("With one handler for each call, a second call starts a second handler")
    func instancesCall() {
        var scenario = Scenario(.call)
        scenario.bring("busy", to: .connected)
        let effects = scenario.receive("one")
        #expect(effects.wakes.count == 1 && effects.states == ["woken"])
        #expect(scenario.handler("one") != scenario.handler("busy") && scenario.lane?.handlers.count == 2)
        scenario.exit(scenario.handler("busy"))
        #expect(scenario.state("one")?.name == .woken, "the calls are independent of each other's handlers")
    }

    @Test("The handler fetches what waits, in the order of arrival, and then has it to report")
    func fetches() throws {
        var scenario = SingleFlightTests.busy()
        let wake = scenario.handler("busy")
        scenario.receive("two", payload: "{2}")
        let effects = scenario.send(.pushesFetched(wake))
        let requests = try #require(effects.handedOver)
        #expect(requests.map(\.call.rawValue) == ["one", "two"] && requests.allSatisfy { $0.kind == .call })
        #expect(requests.map(\.payload) == [Array("{1}".utf8), Array("{2}".utf8)])
        #expect(requests.allSatisfy { $0.wake == wake && $0.attempt == 1 })
        #expect(requests.allSatisfy { $0.reportBy == scenario.now.advanced(by: .seconds(5)) })
        #expect(effects.states == ["woken", "woken"] && effects.retains.isEmpty, "it never was without a call")
        #expect(scenario.lane?.waiting == [] && scenario.stages("one").contains("woke"))
        #expect(scenario.report("one", ring: true).states == ["reported", "confirmed"])
        // Its report deadline counts from the fetch.
        let late = scenario.pass(.seconds(5))
        #expect(late.strikes.contains(.didNotReport) && late.stops.isEmpty, "it serves other calls")
        #expect(scenario.state("busy")?.name == .connected)
    }

    @Test("A waiting call is reported without a fetch; its payload can be fetched still")
    func reportsWithoutFetch() {
        var scenario = SingleFlightTests.busy()
        let wake = scenario.handler("busy")
        let effects = scenario.send(.reported(scenario.key(), CallUpdate(callerName: "Al"), ring: true, by: wake))
        #expect(effects.states == ["woken", "reported", "confirmed"] && effects.refusals.isEmpty)
        #expect(effects.handedOver == nil && scenario.handler() == wake && scenario.call()?.attempt == 1)
        #expect(scenario.lane?.waiting == [] && scenario.stages().contains("woke"))
        let fetched = scenario.send(.pushesFetched(wake)).handedOver ?? []
        #expect(fetched.map(\.payload) == [Array("{1}".utf8)] && scenario.state()?.name == .confirmed)
    }

    @Test("A handler that exits without fetching is started again for what waits")
    func startedAgain() throws {
        var scenario = SingleFlightTests.busy(.reported)
        scenario.receive("two", payload: "{2}")
        let old = scenario.handler("busy")
        let effects = scenario.exit(old)
        let wakes = effects.wakes
        #expect(wakes.count == 1 && wakes.first?.call == CallID("one") && wakes.first?.wake != old)
        #expect(effects.states == ["ended", "woken"] && wakes.first?.payload == Array("{1}".utf8))
        #expect(scenario.lane?.waiting == [scenario.key("two")] && scenario.lane?.handlers.count == 1)
        // The new handler fetches the rest; the call that it was started with is not handed over twice.
        let fetched = scenario.send(.pushesFetched(scenario.handler())).handedOver ?? []
        #expect(fetched.map(\.call.rawValue) == ["two"])
    }

    @Test("An update that came while its call waited is fetched by the handler that was started for the call")
    func updatesOfAWaitingCall() {
        var scenario = SingleFlightTests.busy(.reported)
        let update = scenario.receive("more", call: "one", payload: "{9}")
        #expect(update.last == .pushWaits(scenario.handler("busy"), scenario.key(), .update))
        let wakes = scenario.exit(scenario.handler("busy")).wakes
        #expect(wakes.map(\.payload) == [Array("{1}".utf8)])
        let fetched = scenario.send(.pushesFetched(scenario.handler())).handedOver ?? []
        #expect(fetched.map(\.kind) == [.update] && fetched.map(\.payload) == [Array("{9}".utf8)])
        #expect(fetched.first?.reportBy == scenario.coordinator.nextDeadline)
    }

    @Test("A handler that could not be started ends only its own call; the next call gets another try")
    func startFails() {
        var scenario = Scenario(.app)
        scenario.receive("a")
        scenario.receive("b")
        let effects = scenario.send(.handlerNotStarted(scenario.handler("a"), why: "no such file"))
        #expect(effects.states == ["ended", "woken"] && effects.wakes.map(\.call.rawValue) == ["b"])
    }

    @Test("An idle handler that leaves calls waiting is stopped after the report deadline, and replaced")
    func neglect() {
        var scenario = Scenario(.app)
        scenario.bring("first", to: .ended)
        let wake = scenario.handler("first")
        scenario.receive("one")
        #expect(scenario.pass(.milliseconds(4_999)).isEmpty)
        let effects = scenario.pass(.milliseconds(1))
        #expect(effects == [.stopHandler(wake)])
        #expect(scenario.pass(.seconds(10)).isEmpty, "it is stopped once")
        #expect(scenario.exit(wake, .signalled(15)).wakes.map(\.call.rawValue) == ["one"])
    }

    @Test("A handler that becomes idle with calls waiting is released, and has the report deadline to fetch them")
    func neglectAfterItsLastCall() {
        var scenario = SingleFlightTests.busy()
        let wake = scenario.handler("busy")
        let ended = scenario.send(.remoteEnded(scenario.key("busy"), .remoteEnded, by: wake))
        #expect(ended.releases == [wake])
        scenario.wait(.seconds(4))
        let fetched = scenario.send(.pushesFetched(wake))
        #expect(fetched.retains == [wake] && fetched.handedOver?.count == 1)
        scenario.report(ring: true)
        scenario.journalRing()
        #expect(scenario.pass(.seconds(10)).isEmpty, "nobody is neglected any more")
    }

    @Test("A report retains an idle handler, too; its last call's end releases it again")
    func retainAndRelease() {
        var scenario = SingleFlightTests.busy()
        let wake = scenario.handler("busy")
        scenario.send(.remoteEnded(scenario.key("busy"), .remoteEnded, by: wake))
        #expect(scenario.send(.reported(scenario.key(), CallUpdate(), ring: false, by: wake)).retains == [wake])
        #expect(scenario.send(.remoteEnded(scenario.key(), .remoteEnded, by: wake)).releases == [wake])
    }

    @Test("A handler that is busy and never fetches: the waiting call ends as missed at its expiration")
    func neverFetches() {
        var scenario = SingleFlightTests.busy()
        let effects = scenario.pass(.seconds(45))
        #expect(effects.missed == ["one"] && effects.stops.isEmpty && effects.strikes.isEmpty)
        #expect(scenario.state("busy")?.name == .connected)
    }

    @Test("The user declines a waiting call: no handler is asked, for none has heard of it")
    func endWhileWaiting() {
        var scenario = SingleFlightTests.busy()
        let effects = scenario.send(.endRequested(scenario.key()))
        #expect(effects.states == ["ended"] && effects.missed.isEmpty && scenario.lane?.waiting == [])
        #expect(scenario.state() == .ended(.declined, detail: nil))
    }

    @Test("A handler that hangs in its only call is replaced for the calls that wait, once it is gone")
    func hangs() {
        var scenario = Scenario(.app)
        scenario.bring("hangs", to: .woken)
        let wake = scenario.handler("hangs")
        scenario.receive("one")
        let effects = scenario.pass(.seconds(5))
        #expect(effects.stops == [wake] && effects.wakes.isEmpty, "one at a time")
        scenario.receive("two")
        #expect(scenario.exit(wake, .signalled(9)).wakes.map(\.call.rawValue) == ["one"])
        #expect(scenario.lane?.waiting == [scenario.key("two")])
    }

    @Test("Two apps have a handler each, and what one fetches is its own")
    func twoApps() {
        var scenario = Scenario(.app)
        scenario.bring("busy", to: .connected)
        scenario.receive("one")
        let other = scenario.receive(scenario.push("one", app: Scenario.otherApp)).wakes.first?.wake
        #expect(scenario.send(.pushesFetched(other ?? WakeID(number: 0))).handedOver == [])
        #expect(scenario.lane?.waiting == [scenario.key()])
    }

    @Test("From one handler for all to one for each: the calls that wait get theirs with the next push")
    func fromAppToCall() {
        var scenario = Scenario(.app)
        scenario.bring("first", to: .ended)
        scenario.receive("one")
        scenario.policy.instances = .call
        let effects = scenario.receive("two")
        #expect(effects.wakes.map(\.call.rawValue) == ["two", "one"] && scenario.lane?.waiting == [])
        // Nobody waits any more, so nothing is due but the reports.
        #expect(scenario.coordinator.nextDeadline == scenario.now.advanced(by: .seconds(5)))
        scenario.report("one", ring: true)
        scenario.report("two", ring: true)
        scenario.journalRing("one")
        scenario.journalRing("two")
        #expect(scenario.coordinator.nextDeadline == scenario.now.advanced(by: .seconds(45)))
    }

    @Test("From one for each to one for all: of several idle handlers each is replaced in turn while calls wait")
    func fromCallToApp() {
        var scenario = Scenario(.call)
        for id in ["a", "b", "c"] { scenario.bring(id, to: .ended) }
        let wakes = ["a", "b", "c"].map { scenario.handler($0) }
        scenario.policy.instances = .app
        #expect(scenario.receive("one").last == .pushWaits(wakes[0], scenario.key(), .call))
        #expect(scenario.pass(.seconds(5)).stops == [wakes[0]])
        #expect(scenario.pass(.seconds(5)).stops == [wakes[1]])
        #expect(scenario.exit(wakes[1]).wakes.isEmpty && scenario.exit(wakes[0]).wakes.isEmpty)
        var impatient = scenario
        #expect(impatient.pass(.seconds(5)).stops == [wakes[2]], "the others' ends have not given it more time")
        #expect(scenario.send(.pushesFetched(wakes[2])).handedOver?.count == 1)
    }
}
