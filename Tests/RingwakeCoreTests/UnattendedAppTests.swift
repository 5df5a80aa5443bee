import RingwakeCore
import Testing

@Suite("An app whose handler is never started, and one whose handler is given nothing at its start")
struct UnattendedAppTests {
    private func unattended(_ fallback: CallFallback = .missed) -> Scenario {
        var scenario = Scenario(.app)
        scenario.policy.isStarted = false
        scenario.policy.fallback = fallback
        return scenario
    }

    @Test("A call waits for a handler to connect, and is delivered to it")
    func connectsInTime() {
        var scenario = unattended()
        #expect(scenario.receive().wakes.isEmpty && scenario.state()?.name == .queued)
        scenario.pass(.seconds(4))
        let effects = scenario.send(.handlerConnected(Scenario.app, nil, pid: nil, scenario.policy))
        #expect(effects.deliveries.map(\.call.rawValue) == ["one"] && scenario.state()?.name == .woken)
    }

    @Test("Nobody comes: the call is missed, without a strike, and nothing is started")
    func nobodyComes() {
        var scenario = unattended()
        scenario.receive()
        let effects = scenario.pass(.seconds(6))
        #expect(scenario.state()?.endReason == .handlerFailed && scenario.call()?.record.isMissed == true)
        #expect(effects.wakes.isEmpty && scenario.coordinator.strikes(of: Scenario.app).isEmpty)
        #expect(scenario.lane == nil && scenario.coordinator.nextDeadline == nil)
    }

    @Test("Nobody comes, and the daemon rings: the user's answer waits for a handler, and ends without one")
    func rings() {
        var scenario = unattended(.ring)
        scenario.receive()
        scenario.journal()
        scenario.pass(.seconds(6))
        scenario.journalRing()
        #expect(scenario.state()?.name == .ringing && scenario.call()?.ringer == .daemon)
        #expect(scenario.send(.answerRequested(scenario.key())).wakes.isEmpty)
        scenario.pass(.seconds(60))
        #expect(scenario.state()?.isEnded == true && scenario.coordinator.strikes(of: Scenario.app).isEmpty)
    }

    @Test("A call that loses its connected handler is not started for, and waits to be claimed")
    func lost() throws {
        var scenario = unattended()
        let wake = try #require(
            scenario.send(.handlerConnected(Scenario.app, nil, pid: nil, scenario.policy)).connected)
        scenario.receive()
        scenario.journal()
        scenario.send(.reported(scenario.key(), CallUpdate(), ring: true, by: wake))
        scenario.journalRing()
        #expect(scenario.send(.handlerDisconnected(wake)).wakes.isEmpty)
        #expect(scenario.call()?.machine.claimBy != nil)
        scenario.pass(.seconds(6))
        #expect(scenario.state()?.endReason == .handlerFailed && scenario.lane == nil)
    }

    @Test("The app's file starts a handler from now on: calls that wait get it", arguments: [true, false])
    func startedFromNowOn(bringsPush: Bool) throws {
        var scenario = unattended()
        scenario.receive("one", payload: "{1}")
        scenario.pass(.seconds(4))
        scenario.policy.isStarted = true
        scenario.policy.wakeBringsPush = bringsPush
        scenario.policy.ringer = .daemon
        let request = try #require(scenario.send(.policiesChanged([Scenario.app: scenario.policy])).wakes.first)
        #expect(request.call.rawValue == "one" && scenario.call()?.ringer == .daemon)
        scenario.start()
        let fetched = scenario.send(.pushesFetched(request.wake)).compactMap { effect -> [WakeRequest]? in
            if case .fetched(let requests) = effect { requests } else { nil }
        }
        // A unit is started without its push, and finds it in its first fetch.
        #expect(fetched.first?.map(\.payload) == (bringsPush ? [] : [Array("{1}".utf8)]))
    }

    @Test("A handler is not started from now on: calls that wait have as long as others for one that connects")
    func notStartedFromNowOn() {
        var scenario = Scenario(.app)
        scenario.receive("one")
        scenario.start()
        scenario.receive("two")
        scenario.policy.isStarted = false
        #expect(scenario.send(.policiesChanged([Scenario.app: scenario.policy])).wakes.isEmpty)
        #expect(scenario.send(.handlerExited(WakeID(number: 1), .exited(0))).wakes.isEmpty)
        scenario.pass(.seconds(6))
        #expect(scenario.state("two")?.endReason == .handlerFailed)
    }

    @Test("A handler that is given nothing at its start finds in its first fetch what it was started for")
    func bareWake() throws {
        var scenario = Scenario(.app)
        scenario.policy.wakeBringsPush = false
        let request = try #require(scenario.receive("one", payload: "{1}").wakes.first)
        scenario.start()
        for _ in 0..<2 {
            let fetched = scenario.send(.pushesFetched(request.wake)).compactMap { effect -> [WakeRequest]? in
                if case .fetched(let requests) = effect { requests } else { nil }
            }
            #expect(fetched.first?.map(\.payload) == [Array("{1}".utf8)], "until the call is reported")
        }
        scenario.report()
        #expect(scenario.send(.pushesFetched(request.wake)).contains(.fetched([])))
    }
}
