import RingwakeCore
import Testing

@Suite("Several calls: the one that is answered or gone on with waits until the others are held or ended")
struct SeveralCallsTests {
    /// Call `one` goes on, `two` rings.
    static func waiting(_ change: (inout Scenario) -> Void = { _ in }) -> Scenario {
        var scenario = Scenario()
        change(&scenario)
        scenario.bring("one", to: .connected)
        scenario.bring("two", to: .ringing)
        return scenario
    }

    @Test("A call that was answered does not end as unanswered while another is held for it")
    func answeredLate() {
        var scenario = SeveralCallsTests.waiting()
        let (one, two) = (scenario.key("one"), scenario.key("two"))
        scenario.pass(.seconds(44))
        scenario.send(.answerRequested(two))
        #expect(scenario.pass(.seconds(5)).states.isEmpty && scenario.state("two")?.name == .ringing)
        #expect(scenario.send(.fulfilled(one, .hold, by: scenario.handler("one"))).states == ["held", "answering"])
    }

    @Test(
        "A call that is being held for one that the user hangs up comes back, unless the user holds it",
        arguments: [0, 1, 2])
    func heldInVain(moment: Int) {
        var scenario = SeveralCallsTests.waiting()
        let (one, two) = (scenario.key("one"), scenario.key("two"))
        let wake = scenario.handler("one")
        #expect(scenario.send(.answerRequested(two)).requests == [.hold])
        if moment == 1 {
            // It is held, and the answer is not fulfilled yet.
            #expect(scenario.send(.fulfilled(one, .hold, by: wake)).requests == [.answer])
        }
        scenario.send(.endRequested(two))
        if moment == 2 { scenario.send(.cellularChanged(isActive: true)) }
        let end = scenario.send(.fulfilled(two, .end, by: scenario.handler("two")))
        let held = moment == 1 ? end : scenario.send(.fulfilled(one, .hold, by: wake))
        #expect(held.requests == (moment == 2 ? [] : [.unhold]))
        guard moment == 0 else { return }
        // A further answer goes before it.
        scenario.send(.fulfilled(one, .unhold, by: wake))
        scenario.bring("three", to: .ringing)
        scenario.send(.answerRequested(scenario.key("three")))
        scenario.send(.endRequested(scenario.key("three")))
        scenario.bring("four", to: .ringing)
        #expect(scenario.send(.answerRequested(scenario.key("four"))).refusals.isEmpty)
        #expect(scenario.send(.fulfilled(one, .hold, by: wake)).requests == [.answer])
    }

    @Test("Hold and accept: the other is held first, and what was answered rings no more meanwhile")
    func holdAndAccept() {
        var scenario = SeveralCallsTests.waiting()
        let (one, two) = (scenario.key("one"), scenario.key("two"))
        let answer = scenario.send(.answerRequested(two))
        #expect(answer.requests == [.hold] && answer.states == ["connected"] && scenario.state("two")?.name == .ringing)
        #expect(scenario.coordinator.waitsForOthers(two) && scenario.coordinator.ringingCalls.isEmpty)
        #expect(scenario.coordinator.needsAwake(AwakeRule()) && scenario.coordinator.isInCall)
        let held = scenario.send(.fulfilled(one, .hold, by: scenario.handler("one")))
        #expect(held.states == ["held", "answering"] && held.requests == [.answer])
        #expect(!scenario.coordinator.waitsForOthers(two))
        #expect(scenario.send(.fulfilled(two, .answer, by: scenario.handler("two"))).states == ["connected"])
    }

    @Test("End and accept, as the user says or the app's policy does: the other is over first")
    func endAndAccept() {
        for way in ["asked", "policy"] {
            var scenario = SeveralCallsTests.waiting { if way == "policy" { $0.policy.others = .end } }
            let answer = scenario.send(.answerRequested(scenario.key("two"), others: way == "asked" ? .end : nil))
            #expect(
                answer.requests == [.end] && answer.states == ["ending"] && scenario.coordinator.ringingCalls.isEmpty)
            let ended = scenario.send(.fulfilled(scenario.key("one"), .end, by: scenario.handler("one")))
            #expect(ended.states == ["ended", "answering"] && ended.requests == [.answer])
            #expect(scenario.state("one")?.endReason == .localEnded)
        }
    }

    @Test("A hold that fails or comes too late leaves all as it was, and whoever answered is told")
    func holdFails() {
        for way in ["fails", "late"] {
            var scenario = SeveralCallsTests.waiting()
            scenario.send(.answerRequested(scenario.key("two")))
            let effects =
                way == "fails"
                ? scenario.send(.actionFailed(scenario.key("one"), .hold, by: scenario.handler("one")))
                : scenario.pass(.seconds(10))
            #expect(effects.last == .othersStayed(scenario.key("two")) && effects.requests.isEmpty)
            #expect(scenario.coordinator.ringingCalls.map(\.key) == [scenario.key("two")], "it rings on")
            #expect(scenario.state("one")?.name == .connected)
            #expect(scenario.send(.answerRequested(scenario.key("two"))).requests == [.hold], "it may be tried again")
        }
    }

    @Test("An end that its handler does not do in time is one all the same")
    func endComesLate() {
        var scenario = SeveralCallsTests.waiting()
        scenario.send(.answerRequested(scenario.key("two"), others: .end))
        let effects = scenario.pass(.seconds(10))
        #expect(effects.states == ["ended", "answering"] && effects.strikes == [.didNotAct])
    }

    @Test("The other ends by itself: what was answered goes on")
    func otherEnds() {
        var scenario = SeveralCallsTests.waiting()
        scenario.send(.answerRequested(scenario.key("two")))
        let effects = scenario.send(.remoteEnded(scenario.key("one"), .remoteEnded, by: nil))
        #expect(effects.states == ["ended", "answering"])
    }

    @Test("What waits ends meanwhile: nothing comes of the answer, and the other is held")
    func waiterEnds() {
        var scenario = SeveralCallsTests.waiting()
        scenario.send(.answerRequested(scenario.key("two")))
        #expect(scenario.receive("x", call: "two", cancel: .cancelled).states == ["ended"])
        #expect(!scenario.coordinator.waitsForOthers(scenario.key("two")))
        let held = scenario.send(.fulfilled(scenario.key("one"), .hold, by: scenario.handler("one")))
        #expect(held.states == ["held"] && held.requests.isEmpty)
    }

    @Test("Swap: the call that goes on is held first, then the other gone on with")
    func swap() {
        var scenario = Scenario()
        scenario.bring("one", to: .held)
        scenario.bring("two", to: .connected)
        let asked = scenario.send(.holdRequested(scenario.key("one"), false))
        #expect(asked.requests == [.hold] && scenario.coordinator.waitsForOthers(scenario.key("one")))
        #expect(
            scenario.send(.holdRequested(scenario.key("one"), true))
                == [.refused(.alreadyAsked(scenario.key("one"), .unhold))])
        let held = scenario.send(.fulfilled(scenario.key("two"), .hold, by: scenario.handler("two")))
        #expect(held.requests == [.unhold] && scenario.state("one")?.name == .held)
        // Until that is done it counts as a call that goes on.
        #expect(
            scenario.send(.holdRequested(scenario.key("two"), false)) == [.refused(.othersStay(scenario.key("two")))])
        #expect(
            scenario.send(.fulfilled(scenario.key("one"), .unhold, by: scenario.handler("one"))).states == ["connected"]
        )
        #expect(scenario.send(.holdRequested(scenario.key("two"), false, others: .end)).requests == [.end])
    }

    @Test("What cannot be held is not tried: a call that is being answered, and one without a handler")
    func cannotBeHeld() {
        for name in ["answering", "lost"] {
            var scenario = Scenario()
            scenario.bring("one", to: name == "lost" ? .connected : .answering)
            scenario.bring("two", to: .ringing)
            if name == "lost" { scenario.exit(scenario.handler("one")) }
            let before = scenario.coordinator
            #expect(
                scenario.send(.answerRequested(scenario.key("two"))) == [.refused(.othersStay(scenario.key("two")))])
            #expect(scenario.coordinator == before)
            // Ending is always possible; without a handler it is done at once.
            let effects = scenario.send(.answerRequested(scenario.key("two"), others: .end))
            #expect(effects.states == (name == "lost" ? ["ended", "answering"] : ["ending"]))
        }
    }

    @Test("One answer at a time: a second one is refused while the first waits, and changes nothing")
    func oneAtATime() {
        var scenario = SeveralCallsTests.waiting()
        scenario.bring("three", to: .ringing)
        scenario.send(.answerRequested(scenario.key("two")))
        let before = scenario.coordinator
        #expect(
            scenario.send(.answerRequested(scenario.key("three"))) == [.refused(.othersStay(scenario.key("three")))])
        #expect(
            scenario.send(.answerRequested(scenario.key("two")))
                == [.refused(.alreadyAsked(scenario.key("two"), .answer))])
        #expect(scenario.coordinator == before)
    }

    @Test("Two apps: the call of one is held for the other's")
    func twoApps() {
        var scenario = Scenario()
        scenario.bring("one", to: .connected)
        let key = scenario.key("two", app: Scenario.otherApp)
        let wake = scenario.receive(scenario.push("two", app: Scenario.otherApp)).wakes.first?.wake
        scenario.send(.reported(key, CallUpdate(), ring: true, by: wake))
        scenario.send(.ringJournaled(key, number: scenario.coordinator.call(key)?.number ?? 0, isKnown: false))
        #expect(scenario.send(.answerRequested(key)).last?.asks(of: scenario.key("one")) == .hold)
        scenario.send(.fulfilled(scenario.key("one"), .hold, by: scenario.handler("one")))
        #expect(scenario.coordinator.call(key)?.machine.state.name == .answering)
    }

    @Test("Held calls are in nobody's way, and a call that is alone is answered at once")
    func nobodyInTheWay() {
        var scenario = Scenario()
        scenario.bring("one", to: .held)
        scenario.bring("two", to: .ringing)
        #expect(scenario.send(.answerRequested(scenario.key("two"))).states == ["answering"])
    }

    @Test("A busy line: where the app's policy is so, the report brings the end and not the ring")
    func busy() {
        var scenario = SeveralCallsTests.waiting { $0.policy.whenBusy = .reject }
        scenario.receive("three")
        let effects = scenario.send(
            .reported(scenario.key("three"), CallUpdate(callerName: "Al"), ring: true, by: scenario.handler("three")))
        #expect(effects.states == ["ending"] && effects.requests == [.end])
        #expect(scenario.call("three")?.update.callerName == "Al" && scenario.stages("three").contains("reported"))
        let ended = scenario.send(.fulfilled(scenario.key("three"), .end, by: scenario.handler("three")))
        #expect(ended.missed == ["three"] && scenario.state("three")?.endReason == .busy)
        // It was reported before the other was answered, and is confirmed after it.
        var later = Scenario()
        later.policy.whenBusy = .reject
        later.bring("two", to: .reported)
        later.bring("one", to: .connected)
        #expect(later.send(.ringConfirmed(later.key("two"), by: later.handler("two"))).states == ["ending"])
        // Ringing calls make no line busy.
        var ringing = Scenario()
        ringing.policy.whenBusy = .reject
        ringing.bring("one", to: .ringing)
        ringing.bring("two", to: .ringing)
        #expect(ringing.coordinator.ringingCalls.count == 2)
    }
}

@Suite("A cellular call holds ours, or ends them, as each app's policy says")
struct CellularTests {
    @Test("A call that goes on is held, and stays so; another one may be answered")
    func holds() {
        var scenario = Scenario()
        scenario.bring("one", to: .connected)
        let effects = scenario.send(.cellularChanged(isActive: true))
        #expect(effects.requests == [.hold] && scenario.coordinator.isCellularActive && scenario.coordinator.isInCall)
        #expect(scenario.send(.cellularChanged(isActive: true)).isEmpty)
        scenario.send(.fulfilled(scenario.key("one"), .hold, by: scenario.handler("one")))
        #expect(scenario.send(.cellularChanged(isActive: false)).isEmpty && scenario.state("one")?.name == .held)
        scenario.send(.cellularChanged(isActive: true))
        scenario.bring("two", to: .connected)
        #expect(scenario.state("two")?.name == .connected)
        #expect(
            scenario.send(.holdRequested(scenario.key("one"), false)).requests == [.hold], "the user may go on with it")
    }

    @Test("A call that is being answered, gone on with, or without a handler is held as soon as that is possible")
    func holdsLater() {
        var scenario = Scenario()
        scenario.bring("one", to: .answering)
        #expect(scenario.send(.cellularChanged(isActive: true)).requests.isEmpty)
        let connected = scenario.send(.fulfilled(scenario.key("one"), .answer, by: scenario.handler("one")))
        #expect(connected.states == ["connected"] && connected.requests == [.hold])

        var lost = Scenario()
        lost.bring("one", to: .connected)
        lost.exit(lost.handler("one"))
        #expect(lost.send(.cellularChanged(isActive: true)).requests.isEmpty)
        #expect(lost.send(.claimed(lost.key("one"), by: lost.handler("one"))).requests == [.hold])

        var held = Scenario()
        held.bring("one", to: .held)
        held.send(.holdRequested(held.key("one"), false))
        held.send(.cellularChanged(isActive: true))
        #expect(held.send(.fulfilled(held.key("one"), .unhold, by: held.handler("one"))).requests == [.hold])
    }

    @Test("A cellular call that ends before is none any more")
    func endsBefore() {
        var scenario = Scenario()
        scenario.bring("one", to: .answering)
        scenario.send(.cellularChanged(isActive: true))
        scenario.send(.cellularChanged(isActive: false))
        #expect(scenario.send(.fulfilled(scenario.key("one"), .answer, by: scenario.handler("one"))).requests.isEmpty)
    }

    @Test("Or it ends them, or leaves them alone; what rings or is held is not touched")
    func otherPolicies() {
        for (policy, action) in [(CellularPolicy.end, CallAction?.some(.end)), (.keep, nil), (.hold, .hold)] {
            var scenario = Scenario()
            scenario.policy.whenCellular = policy
            scenario.bring("held", to: .held)
            scenario.bring("rings", to: .ringing)
            #expect(scenario.send(.cellularChanged(isActive: true)).isEmpty)
            scenario.send(.cellularChanged(isActive: false))
            scenario.bring("goes", to: .connected)
            #expect(
                scenario.send(.cellularChanged(isActive: true)).requests == [action].compactMap(\.self), "\(policy)")
        }
    }

    @Test("A line that is busy with a cellular call refuses calls where the policy is so")
    func busy() {
        var scenario = Scenario()
        scenario.policy.whenBusy = .reject
        scenario.send(.cellularChanged(isActive: true))
        scenario.receive("one")
        #expect(scenario.report("one", ring: true).states == ["ending"] && scenario.state("one")?.endReason == .busy)
    }
}

extension Effect {
    /// What this asks of that call's handler.
    fileprivate func asks(of key: CallKey) -> CallAction? {
        if case .request(let action, key) = self { action.action } else { nil }
    }
}
