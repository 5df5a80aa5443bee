import RingwakeCore
import Testing

@Suite("Handlers that exit, hang, come late, or mean a call that is not theirs")
struct HandlerTests {
    @Test("A handler that could not be started ends its call as handlerFailed")
    func notStarted() {
        var scenario = Scenario()
        scenario.receive()
        let effects = scenario.send(.handlerNotStarted(scenario.handler(), why: "no such file"))
        #expect(effects.states == ["ended"] && effects.strikes == [.didNotStart] && effects.missed == ["one"])
        #expect(scenario.state() == .ended(.handlerFailed, detail: "no such file"))
        #expect(scenario.coordinator.lanes.isEmpty && !scenario.stages().contains("woke"))
    }

    @Test(
        "A handler's exit before the ring ends its call as handlerFailed",
        arguments: [CallStateMachine.State.Name.woken, .reported, .confirmed])
    func exits(name: CallStateMachine.State.Name) {
        var scenario = Scenario()
        scenario.bring(to: name)
        let effects = scenario.exit(scenario.handler(), .signalled(9))
        #expect(effects.states == ["ended"] && effects.strikes == [.exited])
        #expect(scenario.state() == .ended(.handlerFailed, detail: "the handler was killed by signal 9"))
        #expect(effects.releases.isEmpty && effects.stops.isEmpty && scenario.coordinator.lanes.isEmpty)
        #expect(effects.missed == ["one"])
        #expect(scenario.journalRing().isEmpty, "what the journal says comes too late")
    }

    @Test("A handler that exits while it was ending the call keeps the reason, without a strike")
    func exitsWhileEnding() {
        var scenario = Scenario()
        scenario.bring(to: .ending)
        let effects = scenario.exit(scenario.handler(), .exited(3))
        #expect(effects.states == ["ended"] && effects.strikes.isEmpty && effects.missed.isEmpty)
        #expect(scenario.state() == .ended(.localEnded, detail: nil))
    }

    @Test("An exit after the end changes the lane only; a second exit, or that of nobody, nothing at all")
    func exitAfterEnd() throws {
        var scenario = Scenario()
        scenario.bring(to: .ended)
        let call = try #require(scenario.call())
        #expect(scenario.coordinator.process(of: call) == 4711)
        #expect(scenario.exit(scenario.handler()).isEmpty && scenario.coordinator.process(of: call) == nil)
        #expect(scenario.call() == call)
        let before = scenario.coordinator
        #expect(scenario.exit(scenario.handler()).isEmpty && scenario.exit(WakeID(number: 99)).isEmpty)
        #expect(scenario.coordinator == before)
    }

    @Test("A handler that hangs before its report is stopped, and what it reports then is refused")
    func reportsLate() {
        var scenario = Scenario()
        scenario.bring(to: .woken)
        let wake = scenario.handler()
        let effects = scenario.pass(.seconds(5))
        #expect(effects.states == ["ended"] && effects.stops == [wake] && effects.strikes == [.didNotReport])
        #expect(effects.releases.isEmpty && effects.missed == ["one"])
        let detail = "the handler did not report the call within 5.0 seconds"
        #expect(scenario.state() == .ended(.handlerFailed, detail: detail))
        #expect(
            scenario.report(ring: true) == [
                .refused(.wrongState(scenario.key(), .ended(.handlerFailed, detail: detail)))
            ])
        #expect(scenario.exit(wake, .signalled(15)).isEmpty, "no second strike")
    }

    @Test("A handler that hangs before its confirmation is stopped")
    func confirmsLate() {
        var scenario = Scenario()
        scenario.bring(to: .reported)
        let effects = scenario.pass(.seconds(5))
        #expect(effects.states == ["ended"] && effects.stops.count == 1 && effects.strikes == [.didNotConfirm])
        #expect(scenario.send(.ringConfirmed(scenario.key(), by: scenario.handler())).refusals.count == 1)
        #expect(!scenario.stages().contains("rang"))
    }

    @Test("A handler that hangs in an action is stopped", arguments: [CallStateMachine.State.Name.answering, .ending])
    func actsLate(name: CallStateMachine.State.Name) {
        var scenario = Scenario()
        scenario.bring(to: name)
        #expect(scenario.pass(.milliseconds(9_999)).isEmpty)
        let effects = scenario.pass(.milliseconds(1))
        #expect(effects.states == ["ended"] && effects.stops.count == 1 && effects.strikes == [.didNotAct])
        #expect(scenario.state()?.endReason == (name == .ending ? .localEnded : .handlerFailed))
    }

    @Test("A handler that says it cannot answer ends the call as failed, without a strike: it did its part")
    func cannotAnswer() {
        var scenario = Scenario()
        scenario.bring(to: .answering)
        let effects = scenario.send(.actionFailed(scenario.key(), .answer, by: scenario.handler()))
        #expect(effects.states == ["ended"] && effects.strikes.isEmpty && effects.releases.count == 1)
        #expect(scenario.state() == .ended(.failed, detail: "the handler could not answer"))
    }

    @Test("A call that lasts longer than allowed ends, and its handler with its next neglect at the latest")
    func connectedTooLong() {
        var scenario = Scenario(.app, deadlines: CallDeadlines(connected: .seconds(600)))
        scenario.bring(to: .connected)
        let wake = scenario.handler()
        let effects = scenario.pass(.seconds(600))
        #expect(effects.states == ["ended"] && effects.releases == [wake] && effects.stops.isEmpty)
        #expect(effects.missed.isEmpty && effects.strikes.isEmpty)
        scenario.receive("two")
        #expect(scenario.pass(.seconds(5)).stops == [wake])
    }

    @Test("A handler acts on its own calls only: not on another instance's, not on another app's")
    func notOwned() {
        var scenario = Scenario()
        scenario.bring("mine", to: .woken)
        scenario.bring("theirs", to: .woken)
        let stranger = scenario.receive(scenario.push(app: Scenario.otherApp)).wakes.first?.wake
        let before = scenario.coordinator
        for wake in [scenario.handler("mine"), stranger ?? WakeID(number: 0), WakeID(number: 99)] {
            let key = scenario.key("theirs")
            for event: Event in [
                .reported(key, CallUpdate(caller: "x"), ring: true, by: wake), .ringConfirmed(key, by: wake),
                .fulfilled(key, .answer, by: wake), .actionFailed(key, .answer, by: wake),
                .remoteEnded(key, .failed, by: wake),
            ] {
                #expect(scenario.send(event) == [.refused(.notOwned(key))])
                #expect(scenario.coordinator == before)
            }
        }
        // The owner may act on every call.
        #expect(
            scenario.send(.reported(scenario.key("theirs"), CallUpdate(), ring: false, by: nil)).states == ["reported"])
    }

    @Test("A waiting call cannot be reported by another app's handler, nor by one that is being stopped")
    func notTheTaker() {
        var scenario = Scenario(.app)
        scenario.bring("busy", to: .woken)
        let stopped = scenario.handler("busy")
        let stranger = scenario.receive(scenario.push(app: Scenario.otherApp)).wakes.first?.wake
        scenario.receive("one")
        scenario.pass(.seconds(5))
        let before = scenario.coordinator
        for wake in [stopped, stranger ?? WakeID(number: 0)] {
            #expect(
                scenario.send(.reported(scenario.key(), CallUpdate(), ring: true, by: wake))
                    == [.refused(.notOwned(scenario.key()))])
            #expect(scenario.coordinator == before)
        }
        #expect(scenario.send(.pushesFetched(stopped)).handedOver == [])
    }

    @Test("What names a handler that does not run is refused")
    func unknownHandler() {
        var scenario = Scenario()
        let nobody = WakeID(number: 99)
        #expect(scenario.send(.handlerStarted(nobody, pid: 1)) == [.refused(.unknownHandler(nobody))])
        #expect(scenario.send(.pushesFetched(nobody)) == [.refused(.unknownHandler(nobody))])
        #expect(scenario.coordinator == Scenario().coordinator)
    }
}
