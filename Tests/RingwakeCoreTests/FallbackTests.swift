import RingwakeCore
import Testing

@Suite("A handler that fails before the ring: the daemon makes the call ring for it, where the app is configured so")
struct FallbackTests {
    enum Way: String, CaseIterable {
        case notStarted, exitedWoken, exitedReported, exitedConfirmed, neverReported, neverConfirmed, disconnected
    }

    static func scenario(_ instances: HandlerInstances = .app) -> Scenario {
        var scenario = Scenario(instances)
        scenario.policy.fallback = .ring
        return scenario
    }

    /// A call whose handler failed that way.
    static func fail(_ way: Way) -> (scenario: Scenario, effects: [Effect], wake: WakeID) {
        var scenario = scenario()
        if way == .disconnected {
            // Nobody else comes at once.
            scenario.policy.isStarted = false
            scenario.send(.handlerConnected(Scenario.app, nil, pid: 3, scenario.policy))
        }
        scenario.receive("one", payload: #"{"room":7}"#)
        scenario.journal()
        let wake = scenario.handler()
        let started = way != .notStarted && way != .disconnected
        if started { scenario.start() }
        if [.exitedReported, .exitedConfirmed, .neverConfirmed].contains(way) { scenario.report() }
        if way == .exitedConfirmed { scenario.send(.ringConfirmed(scenario.key(), by: wake)) }
        let effects: [Effect] =
            switch way {
            case .notStarted: scenario.send(.handlerNotStarted(wake, why: "no such file"))
            case .exitedWoken, .exitedReported, .exitedConfirmed: scenario.exit(wake, .signalled(9))
            case .neverReported, .neverConfirmed: scenario.pass(.seconds(5))
            case .disconnected: scenario.send(.handlerDisconnected(wake))
            }
        return (scenario, effects, wake)
    }

    @Test(
        "It rings without a handler once the journal has it, and the strike is given all the same",
        arguments: Way.allCases)
    func rings(way: Way) {
        var (scenario, effects, wake) = FallbackTests.fail(way)
        #expect(effects.states == ["confirmed"] && effects.strikes.count == 1 && effects.missed.isEmpty)
        // A handler that was confirmed has asked the journal already.
        #expect(effects.ringsToJournal.count == (way == .exitedConfirmed ? 0 : 1))
        let hangs = [.neverReported, .neverConfirmed].contains(way)
        #expect(effects.stops == (hangs ? [wake] : []))
        let call = scenario.call()
        #expect(call?.handler == nil && call?.ringer == .daemon && call?.machine.lease == .absent)
        #expect(scenario.journalRing().states == ["ringing"] && scenario.coordinator.ringingCalls.count == 1)
        #expect(scenario.send(.reported(scenario.key(), CallUpdate(), ring: true, by: wake)).refusals.count == 1)
        effects = scenario.pass(.seconds(45))
        #expect(effects.states == ["ended"] && effects.missed == ["one"] && effects.strikes.isEmpty)
        #expect(scenario.state()?.endReason == .unanswered)
    }

    @Test("Answered, its handler gets another chance: it has the action's time to claim the call and to answer it")
    func answered() throws {
        var (scenario, _, _) = FallbackTests.fail(.exitedWoken)
        scenario.journalRing()
        let effects = scenario.send(.answerRequested(scenario.key()))
        #expect(effects.states == ["answering", "answering"] && effects.requests.isEmpty)
        let request = try #require(effects.wakes.first)
        #expect(request.kind == .claim && request.payload == Array(#"{"room":7}"#.utf8) && request.attempt == 2)
        #expect(request.reportBy == scenario.now.advanced(by: .seconds(10)))
        scenario.wait(.seconds(7))
        #expect(scenario.send(.claimed(scenario.key(), by: request.wake)).requests == [.answer])
        #expect(scenario.send(.fulfilled(scenario.key(), .answer, by: request.wake)).states == ["connected"])
    }

    @Test("Answered and not claimed: it ends as handlerFailed with the action's deadline")
    func answeredInVain() {
        var (scenario, _, _) = FallbackTests.fail(.exitedWoken)
        scenario.journalRing()
        scenario.send(.answerRequested(scenario.key()))
        let wake = scenario.handler()
        let effects = scenario.pass(.seconds(10))
        #expect(effects.states == ["ended"] && effects.strikes == [.didNotClaim] && effects.stops == [wake])
        #expect(
            scenario.state()
                == .ended(.handlerFailed, detail: "it had no handler, and none claimed it within 10.0 seconds"))
    }

    @Test("Answered while the handler that hung is still being stopped: the next one is started when that is gone")
    func answeredWhileStopping() {
        var (scenario, _, wake) = FallbackTests.fail(.neverReported)
        scenario.journalRing()
        #expect(scenario.send(.answerRequested(scenario.key())).wakes.isEmpty && scenario.lane?.waiting.count == 1)
        #expect(scenario.exit(wake, .signalled(15)).wakes.map(\.kind) == [.claim])
    }

    @Test("Answered while the app's handler serves another call: that one is told to fetch it")
    func answeredWhileBusy() {
        var scenario = FallbackTests.scenario()
        scenario.bring("other", to: .connected)
        scenario.send(.holdRequested(scenario.key("other"), true))
        scenario.send(.fulfilled(scenario.key("other"), .hold, by: scenario.handler("other")))
        scenario.receive("one")
        scenario.send(.pushesFetched(scenario.handler("other")))
        scenario.pass(.seconds(5))
        scenario.journalRing()
        let effects = scenario.send(.answerRequested(scenario.key()))
        #expect(effects.last == .pushWaits(scenario.handler("other"), scenario.key(), .claim))
        let fetched = scenario.send(.pushesFetched(scenario.handler("other"))).handedOver ?? []
        #expect(fetched.map(\.kind) == [.claim])
    }

    @Test("Declined, it is over at once: no handler is asked, and none started")
    func declined() {
        var (scenario, _, _) = FallbackTests.fail(.exitedWoken)
        scenario.journalRing()
        let effects = scenario.send(.declineRequested(scenario.key()))
        #expect(effects.states == ["ended"] && effects.wakes.isEmpty && effects.requests.isEmpty)
        #expect(scenario.state()?.endReason == .declined && effects.missed.isEmpty)
    }

    @Test("It cannot be claimed while it rings so; updates of it are kept for the handler that will")
    func notClaimable() {
        var (scenario, _, _) = FallbackTests.fail(.exitedWoken)
        scenario.journalRing()
        scenario.receive("two")
        let wake = scenario.handler("two")
        #expect(scenario.send(.claimed(scenario.key(), by: wake)).refusals.count == 1)
        let update = scenario.receive("more", call: "one", payload: "{9}")
        #expect(update.outcomes == [.updated] && update.deliveries.isEmpty)
        scenario.exit(wake)
        scenario.send(.answerRequested(scenario.key()))
        let fetched = scenario.send(.pushesFetched(scenario.handler())).handedOver ?? []
        #expect(fetched.map(\.kind) == [.claim, .update])
    }

    @Test("Where it is too late to ring, where a busy line refuses calls, and by default the call is missed")
    func missed() {
        var (late, _, _) = FallbackTests.fail(.exitedWoken)
        late = FallbackTests.scenario()
        late.receive("one", expiration: .at(late.now.advanced(by: .seconds(6))))
        late.wait(.seconds(7))
        #expect(late.send(.deadlineReached).missed == ["one"])
        var busy = FallbackTests.scenario(.call)
        busy.policy.whenBusy = .reject
        busy.bring("other", to: .connected)
        busy.receive("one")
        #expect(busy.exit(busy.handler()).missed == ["one"])
        var plain = Scenario()
        plain.receive("one")
        #expect(plain.exit(plain.handler()).missed == ["one"])
    }

    @Test("When the journal cannot record that it rings it is missed like any other")
    func journalFails() {
        var (scenario, _, _) = FallbackTests.fail(.exitedWoken)
        let effects = scenario.pass(.seconds(5))
        #expect(effects.states == ["ended"] && effects.missed == ["one"] && effects.strikes.isEmpty)
    }
}
