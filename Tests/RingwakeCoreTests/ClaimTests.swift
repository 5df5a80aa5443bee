import RingwakeCore
import Testing

@Suite("A handler dies while its call rings or goes on: another one may claim the call for a while")
struct ClaimTests {
    typealias Name = CallStateMachine.State.Name

    /// A call of one handler for all, brought to `name`, whose handler was killed then.
    static func lost(
        _ name: Name, _ prepare: (inout Scenario) -> Void = { _ in }
    ) -> (scenario: Scenario, effects: [Effect]) {
        var scenario = Scenario(.app)
        prepare(&scenario)
        scenario.receive("one", payload: #"{"room":7}"#)
        scenario.journal()
        scenario.start()
        scenario.report(ring: true)
        scenario.journalRing()
        if name != .ringing { scenario.send(.answerRequested(scenario.key())) }
        if [.connected, .held].contains(name) {
            scenario.send(.fulfilled(scenario.key(), .answer, by: scenario.handler()))
        }
        if name == .held {
            scenario.send(.holdRequested(scenario.key(), true))
            scenario.send(.fulfilled(scenario.key(), .hold, by: scenario.handler()))
        }
        let effects = scenario.exit(scenario.handler(), .signalled(9))
        return (scenario, effects)
    }

    @Test(
        "It keeps its state, another handler is started with it at once, and goes on with it once it has claimed it",
        arguments: [Name.ringing, .answering, .connected, .held])
    func claimed(name: Name) throws {
        var (scenario, effects) = ClaimTests.lost(name)
        #expect(effects.states.last == name.rawValue && effects.strikes == [.exited] && effects.missed.isEmpty)
        let request = try #require(effects.wakes.first)
        #expect(request.kind == .claim && request.attempt == 2 && request.payload == Array(#"{"room":7}"#.utf8))
        let claimBy = scenario.now.advanced(by: .seconds(5))
        #expect(request.reportBy == claimBy && scenario.call()?.machine.claimBy == claimBy)
        #expect(scenario.handler() == request.wake && scenario.state()?.name == name)
        // It has been given the call, and has no say in it before it claims it.
        if name == .answering {
            #expect(
                scenario.send(.fulfilled(scenario.key(), .answer, by: request.wake)) == [
                    .refused(.unclaimed(scenario.key()))
                ]
            )
        }
        scenario.wait(.seconds(1))
        let claim = scenario.send(.claimed(scenario.key(), by: request.wake))
        #expect(claim.states == [name.rawValue] && scenario.call()?.machine.claimBy == nil)
        #expect(claim.requests == (name == .answering ? [.answer] : []), "what is owed is asked again")
        let after = scenario.pass(.seconds(9))
        #expect(after.strikes == (name == .answering ? [.didNotAct] : []))
    }

    @Test(
        "Reported without a fetch and lost: the next handler is given the claim, and not the call as a new one beside it"
    )
    func neverFetched() {
        var scenario = SingleFlightTests.busy()
        let wake = scenario.handler("busy")
        scenario.send(.reported(scenario.key(), CallUpdate(), ring: true, by: wake))
        scenario.journalRing()
        var told = scenario.exit(wake, .signalled(9)).wakes
        while let next = told.last?.wake, scenario.call()?.handler == nil {
            told += scenario.exit(next, .exited(1)).wakes
        }
        told += scenario.send(.pushesFetched(scenario.handler())).handedOver ?? []
        #expect(Set(told.filter { $0.call == scenario.key().id }.map(\.kind)) == [.claim])
    }

    @Test("Actions that were owed are asked of the handler that claims the call, in their order")
    func owed() {
        var scenario = Scenario(.app)
        scenario.bring(to: .connected)
        scenario.send(.holdRequested(scenario.key(), true))
        scenario.send(.muteRequested(scenario.key(), true))
        scenario.send(.digitsRequested(scenario.key(), "5"))
        scenario.exit(scenario.handler())
        #expect(scenario.call()?.machine.owed.map(\.action) == [.hold, .mute, .dtmf])
        let effects = scenario.send(.claimed(scenario.key(), by: scenario.handler()))
        #expect(effects.requests == [.hold, .mute, .dtmf])
        #expect(scenario.send(.fulfilled(scenario.key(), .hold, by: scenario.handler())).states == ["held"])
    }

    @Test("Not claimed in time it ends as handlerFailed, and the handler that had it is stopped and gets a strike")
    func notClaimed() {
        var (scenario, effects) = ClaimTests.lost(.connected)
        let wake = effects.wakes.first?.wake
        #expect(scenario.pass(.milliseconds(4_999)).isEmpty)
        effects = scenario.pass(.milliseconds(1))
        #expect(effects.states == ["ended"] && effects.strikes == [.didNotClaim] && effects.stops == [wake])
        #expect(
            scenario.state()
                == .ended(.handlerFailed, detail: "its handler ended, and none claimed it within 5.0 seconds"))
        #expect(effects.missed.isEmpty, "it was answered")
    }

    @Test("A handler that dies of the call too is replaced once more, within the same five seconds, and then no more")
    func crashLoop() {
        var (scenario, effects) = ClaimTests.lost(.connected)
        let claimBy = scenario.call()?.machine.claimBy
        scenario.wait(.seconds(1))
        effects = scenario.exit(scenario.handler(), .signalled(11))
        #expect(effects.wakes.map(\.kind) == [.claim] && effects.strikes == [.exited])
        #expect(scenario.call()?.machine.claimBy == claimBy && scenario.call()?.attempt == 3)
        scenario.wait(.seconds(1))
        effects = scenario.exit(scenario.handler(), .signalled(11))
        #expect(effects.wakes.isEmpty && effects.strikes == [.exited] && scenario.call()?.handler == nil)
        // Nobody had heard of it, so nobody is charged.
        effects = scenario.pass(.seconds(3))
        #expect(effects.states == ["ended"] && effects.strikes.isEmpty && scenario.coordinator.lanes.isEmpty)
    }

    @Test("After a claim everything counts anew: the next loss has its own time and its own starts")
    func lostAgain() {
        var (scenario, _) = ClaimTests.lost(.connected)
        scenario.exit(scenario.handler())
        scenario.send(.claimed(scenario.key(), by: scenario.handler()))
        scenario.wait(.seconds(60))
        let effects = scenario.exit(scenario.handler())
        #expect(effects.wakes.count == 1 && scenario.call()?.machine.claimBy == scenario.now.advanced(by: .seconds(5)))
    }

    @Test("Of several calls one starts the handler; it fetches the others, to claim them; the exit is one strike")
    func several() {
        var scenario = Scenario(.app)
        scenario.bring("one", to: .connected)
        scenario.bring("two", to: .connected)
        scenario.receive("two")
        scenario.send(.pushesFetched(scenario.handler("one")))
        scenario.send(.reported(scenario.key("two"), CallUpdate(), ring: true, by: scenario.handler("one")))
        scenario.journalRing("two")
        scenario.receive("new")
        let effects = scenario.exit(scenario.handler("one"), .signalled(9))
        #expect(effects.wakes.map(\.call.rawValue) == ["one"] && effects.strikes == [.exited])
        #expect(scenario.lane?.waiting == [scenario.key("two"), scenario.key("new")], "what goes on comes first")
        let fetched = scenario.send(.pushesFetched(scenario.handler("one"))).handedOver ?? []
        #expect(fetched.map(\.kind) == [.claim, .claim, .call])
        #expect(fetched.map(\.call.rawValue) == ["one", "two", "new"])
        #expect(scenario.send(.claimed(scenario.key("two"), by: scenario.handler("two"))).refusals.isEmpty)
    }

    @Test("The user answers a call that has no handler: it is asked to answer when it claims the call")
    func answeredMeanwhile() {
        var (scenario, _) = ClaimTests.lost(.ringing)
        let effects = scenario.send(.answerRequested(scenario.key()))
        #expect(effects.states == ["answering"] && effects.requests.isEmpty)
        let claim = scenario.send(.claimed(scenario.key(), by: scenario.handler()))
        #expect(claim.requests == [.answer])
        #expect(scenario.send(.fulfilled(scenario.key(), .answer, by: scenario.handler())).states == ["connected"])
    }

    @Test("The user ends a call that has no handler: it is over at once, for that reason")
    func endedMeanwhile() {
        for (name, reason) in [(Name.ringing, CallEndReason.declined), (.connected, .localEnded), (.held, .localEnded)]
        {
            var (scenario, _) = ClaimTests.lost(name)
            let wake = scenario.handler()
            let effects = scenario.send(.endRequested(scenario.key()))
            #expect(effects.states == ["ended"] && effects.requests.isEmpty && effects.strikes.isEmpty)
            #expect(scenario.state()?.endReason == reason && effects.releases == [wake])
        }
    }

    @Test("Nothing else can be asked of it meanwhile, and that says why")
    func actionsMeanwhile() {
        var (scenario, _) = ClaimTests.lost(.connected)
        let key = scenario.key()
        for event: Event in [.holdRequested(key, true), .muteRequested(key, true), .digitsRequested(key, "1")] {
            let before = scenario.coordinator
            #expect(scenario.send(event) == [.refused(.unclaimed(key))])
            #expect(scenario.coordinator == before)
        }
        var (held, _) = ClaimTests.lost(.held)
        #expect(held.send(.holdRequested(key, false)) == [.refused(.unclaimed(key))])
    }

    @Test("An action that nobody could do in time is dropped, and nobody is charged with it")
    func actionsTimeOut() {
        var scenario = Scenario(.app)
        scenario.bring(to: .connected)
        scenario.send(.muteRequested(scenario.key(), true))
        scenario.wait(.seconds(8))
        scenario.exit(scenario.handler())
        let effects = scenario.pass(.seconds(2))
        #expect(effects.states == ["connected"] && effects.strikes.isEmpty && scenario.call()?.machine.owed == [])
    }

    @Test("Who may claim: a handler of this app that is not being stopped, and a call that has lost its own")
    func refusals() {
        var (scenario, _) = ClaimTests.lost(.connected)
        let (key, wake) = (scenario.key(), scenario.handler())
        let stranger =
            scenario.receive(scenario.push("x", app: Scenario.otherApp)).wakes.first?.wake ?? WakeID(number: 0)
        let nobody = WakeID(number: 99)
        #expect(scenario.send(.claimed(key, by: stranger)) == [.refused(.notOwned(key))])
        #expect(scenario.send(.claimed(key, by: nobody)) == [.refused(.unknownHandler(nobody))])
        #expect(scenario.send(.claimed(scenario.key("x"), by: wake)) == [.refused(.unknownCall(scenario.key("x")))])
        #expect(scenario.send(.claimed(key, by: wake)).refusals.isEmpty)
        // A handler that does not know whether its call is new claims it, and reports it if that is refused.
        let state = scenario.state() ?? .queued
        #expect(scenario.send(.claimed(key, by: wake)) == [.refused(.wrongState(key, state))])
    }

    @Test("A handler that is being stopped claims nothing")
    func stoppingHandler() {
        var scenario = Scenario(.call)
        scenario.bring("hangs", to: .woken)
        scenario.bring("one", to: .connected)
        scenario.pass(.seconds(5))
        scenario.exit(scenario.handler("one"))
        let hanging = scenario.handler("hangs")
        #expect(scenario.send(.claimed(scenario.key(), by: hanging)) == [.refused(.notOwned(scenario.key()))])
    }

    @Test("Another handler than the one that was started may claim it; the one that was started is released")
    func claimedByAnother() {
        var (scenario, effects) = ClaimTests.lost(.connected)
        let started = effects.wakes.first?.wake
        let guest = scenario.send(.handlerConnected(Scenario.app, nil, pid: 3, scenario.policy)).connected
        effects = scenario.send(.claimed(scenario.key(), by: guest ?? WakeID(number: 0)))
        #expect(effects.releases == [started] && scenario.call()?.handler == guest && effects.states == ["connected"])
        #expect(scenario.pass(.seconds(60)).isEmpty)
    }

    @Test("A handler that was given the call may say that it is over on the other side")
    func remoteEnded() {
        var (scenario, _) = ClaimTests.lost(.connected)
        let effects = scenario.send(.remoteEnded(scenario.key(), .failed, by: scenario.handler()))
        #expect(effects.states == ["ended"] && effects.strikes.isEmpty && effects.releases.count == 1)
    }

    @Test(
        "With the strike that strikes its app out no other handler is started: the call waits to be claimed, and ends")
    func struckOut() {
        var (scenario, effects) = ClaimTests.lost(.connected) { $0.policy.strikes = StrikeLimit(count: 1) }
        #expect(effects.wakes.isEmpty && effects.contains(.struckOut(Scenario.app, true)))
        #expect(scenario.lane?.waiting == [scenario.key()] && scenario.call()?.handler == nil)
        effects = scenario.pass(.seconds(5))
        #expect(effects.states == ["ended"] && effects.strikes.isEmpty && scenario.coordinator.lanes.isEmpty)
    }

    @Test("A ring that nobody answers ends when it would have, claimed or not; so does one that the sender takes back")
    func ringEnds() {
        var (scenario, _) = ClaimTests.lost(.ringing)
        #expect(scenario.receive("x", call: "one", cancel: .answeredElsewhere).states == ["ended"])
        (scenario, _) = ClaimTests.lost(.ringing) { $0.policy.deadlines.ring = .seconds(3) }
        #expect(scenario.pass(.seconds(3)).states == ["ended"])
        #expect(scenario.state()?.endReason == .unanswered)
    }
}
