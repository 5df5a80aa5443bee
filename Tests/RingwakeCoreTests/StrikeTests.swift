import RingwakeCore
import Testing

@Suite("Strikes: after so many in a window an app's handlers are not started, until somebody clears them")
struct StrikeTests {
    static func scenario(_ count: Int = 2) -> Scenario {
        var scenario = Scenario(.app)
        scenario.policy.strikes = StrikeLimit(count: count, window: .seconds(600))
        return scenario
    }

    /// A call whose handler exits before it reports.
    @discardableResult
    static func crash(_ scenario: inout Scenario, _ id: String) -> [Effect] {
        scenario.receive(id)
        return scenario.exit(scenario.handler(id), .signalled(9))
    }

    static func struckOut(_ fallback: CallFallback = .missed) -> Scenario {
        var scenario = scenario()
        crash(&scenario, "a")
        crash(&scenario, "b")
        // What became of these two does not matter.
        scenario.policy.fallback = fallback
        return scenario
    }

    @Test("The limit strikes it out, and that is said once; each strike is kept with its time, reason and call")
    func limit() {
        var scenario = StrikeTests.scenario()
        #expect(
            StrikeTests.crash(&scenario, "a").strikes == [.exited] && !scenario.coordinator.isStruckOut(Scenario.app))
        scenario.wait(.seconds(1))
        let effects = StrikeTests.crash(&scenario, "b")
        #expect(effects.contains(.struckOut(Scenario.app, true)) && scenario.coordinator.isStruckOut(Scenario.app))
        let strikes = scenario.coordinator.strikes(of: Scenario.app)
        #expect(strikes.map(\.call.rawValue) == ["a", "b"] && strikes.allSatisfy { $0.failure == .exited })
        #expect(strikes.last?.at == scenario.now)
        #expect(!scenario.coordinator.isStruckOut(Scenario.otherApp))
    }

    @Test("Strikes outside of the window do not count, and a limit of 0 never strikes out; they are bounded")
    func window() {
        var scenario = StrikeTests.scenario()
        StrikeTests.crash(&scenario, "a")
        scenario.wait(.seconds(600))
        StrikeTests.crash(&scenario, "b")
        #expect(!scenario.coordinator.isStruckOut(Scenario.app))
        #expect(scenario.coordinator.strikes(of: Scenario.app).map(\.call.rawValue) == ["b"])
        var patient = StrikeTests.scenario(0)
        for number in 0..<100 { StrikeTests.crash(&patient, "\(number)") }
        #expect(!patient.coordinator.isStruckOut(Scenario.app))
        #expect(patient.coordinator.strikes(of: Scenario.app).count == 8)
    }

    @Test(
        "Then a push is taken and recorded as withheld, no handler is started, and the call is missed with the way out")
    func withheldAndMissed() {
        var scenario = StrikeTests.struckOut()
        let effects = scenario.receive("one")
        #expect(effects.outcomes == [.withheld] && effects.wakes.isEmpty && effects.missed == ["one"])
        #expect(effects.states == ["ended"] && effects.strikes.isEmpty && scenario.coordinator.lanes.isEmpty)
        let detail = scenario.state()?.endDetail ?? ""
        #expect(detail.contains("2 strikes") && detail.contains("ringwake app clear-strikes com.example.phone"))
        #expect(scenario.receive("x", team: "OTHER00001").outcomes == [.withheld])
        #expect(scenario.receive(scenario.push(app: Scenario.otherApp)).wakes.count == 1, "another app is not affected")
        #expect(scenario.send(.deadlineReached).isEmpty)
    }

    @Test("Or the daemon makes it ring, without a handler: it can be declined, and answering says why it cannot be")
    func withheldAndRinging() {
        var scenario = StrikeTests.struckOut(.ring)
        let effects = scenario.receive("one")
        #expect(effects.outcomes == [.withheld] && effects.states == ["confirmed"] && effects.ringsToJournal.count == 1)
        guard case .journalPush = effects.first else {
            Issue.record("the push comes before the ring")
            return
        }
        scenario.journal()
        #expect(scenario.journalRing().states == ["ringing"] && scenario.call()?.ringer == .daemon)
        let before = scenario.coordinator
        #expect(scenario.send(.answerRequested(scenario.key())) == [.refused(.struckOut(Scenario.app))])
        #expect(scenario.coordinator == before)
        var declined = scenario
        #expect(declined.send(.declineRequested(declined.key())).states == ["ended"])
        #expect(scenario.pass(.seconds(45)).missed == ["one"])
    }

    @Test("A repeat of a withheld push that was answered 503 brings all that the journal needs, as what it was")
    func withheldAgain() {
        var scenario = StrikeTests.struckOut(.ring)
        scenario.receive("one")
        let again = scenario.receive("one")
        #expect(again.outcomes == [.withheld] && again.journaled.first?.call?.key == scenario.key())
    }

    @Test("Calls that wait when it is struck out get no handler either; one that a handler has goes on")
    func waiting() {
        var scenario = StrikeTests.scenario(1)
        scenario.bring("busy", to: .connected)
        scenario.receive("late")
        scenario.send(.pushesFetched(scenario.handler("busy")))
        scenario.receive("one")
        scenario.receive("two")
        // `late` is never reported.
        let effects = scenario.pass(.seconds(5))
        #expect(effects.strikes == [.didNotReport] && effects.missed == ["late", "one", "two"])
        #expect(scenario.state("busy")?.name == .connected && scenario.lane?.waiting == [])
        #expect(scenario.send(.pushesFetched(scenario.handler("busy"))).handedOver == [])
    }

    @Test("Cleared, handlers are started again for the next push; what was withheld stays so")
    func cleared() {
        var scenario = StrikeTests.struckOut(.ring)
        scenario.receive("one")
        scenario.journalRing()
        #expect(scenario.send(.strikesCleared(Scenario.app)) == [.struckOut(Scenario.app, false)])
        #expect(scenario.changedApps.last == Scenario.app && scenario.coordinator.strikes(of: Scenario.app).isEmpty)
        #expect(scenario.receive("two").wakes.count == 1)
        #expect(scenario.state()?.name == .ringing && scenario.call()?.handler == nil)
        #expect(scenario.send(.answerRequested(scenario.key())).refusals.isEmpty, "now somebody could take it")
        #expect(scenario.send(.strikesCleared(Scenario.otherApp)).isEmpty)
    }

    @Test("A handler that keeps a connection stays connected, and gets nothing new until then")
    func connectedHandler() {
        var scenario = StrikeTests.struckOut()
        let connected = scenario.send(.handlerConnected(Scenario.app, nil, pid: 5, scenario.policy)).connected
        #expect(connected != nil && scenario.receive("one").deliveries.isEmpty)
        scenario.send(.strikesCleared(Scenario.app))
        #expect(scenario.receive("two").deliveries.map(\.wake) == [connected])
    }

    @Test("The strikes of the last run count on, also that the app is struck out")
    func restored() {
        let former = StrikeTests.struckOut()
        var scenario = StrikeTests.scenario()
        scenario.send(
            .strikesRestored(
                Scenario.app, former.coordinator.strikes(of: Scenario.app),
                isStruckOut: former.coordinator.isStruckOut(Scenario.app)))
        #expect(scenario.receive("one").outcomes == [.withheld])
        #expect(scenario.coordinator.strikes(of: Scenario.app) == former.coordinator.strikes(of: Scenario.app))
    }

    @Test("The strikes of the last run stand before those since the start")
    func restoredLater() {
        let former = StrikeTests.struckOut().coordinator.strikes(of: Scenario.app)
        var scenario = StrikeTests.scenario()
        scenario.bring("new", to: .woken)
        scenario.exit(scenario.handler("new"), .exited(1))
        let since = scenario.coordinator.strikes(of: Scenario.app)
        scenario.send(.strikesRestored(Scenario.app, former, isStruckOut: false))
        #expect(!since.isEmpty && scenario.coordinator.strikes(of: Scenario.app) == former + since)
    }

    @Test("What the handler did in good order is no strike: it said that the call failed, or could not answer")
    func noStrike() {
        var scenario = StrikeTests.scenario(1)
        scenario.bring("one", to: .woken)
        #expect(scenario.send(.remoteEnded(scenario.key("one"), .failed, by: scenario.handler("one"))).strikes.isEmpty)
        #expect(scenario.coordinator.strikes(of: Scenario.app).isEmpty)
    }
}
