import RingwakeCore
import Testing

@Suite("Interruptions nest: each session hears from the one that interrupted it")
struct AudioNestingTests {
    /// A was interrupted by B, and B by C.
    static func nested() -> (AudioScenario, AudioSessionID, AudioSessionID, AudioSessionID) {
        var scenario = AudioScenario()
        let first = scenario.openActive(.music)
        let second = scenario.openActive(.music)
        let third = scenario.openActive(.music)
        return (scenario, first, second, third)
    }

    @Test("C ends: only B is told; A hears when B ends")
    func innerEnds() {
        var (scenario, first, second, third) = AudioNestingTests.nested()
        let effects = scenario.deactivate(third)
        #expect(effects.notices(to: second) == [.interruptionEnded(shouldResume: true)])
        #expect(effects.notices(to: first).isEmpty)
        scenario.activate(second)
        #expect(scenario.deactivate(second).notices(to: first) == [.interruptionEnded(shouldResume: true)])
    }

    @Test("B gives up after C has ended, without having been active again: A is told")
    func middleGivesUp() {
        var (scenario, first, second, third) = AudioNestingTests.nested()
        scenario.deactivate(third)
        let effects = scenario.deactivate(second, notify: false)
        #expect(effects.notices(to: first) == [.interruptionEnded(shouldResume: false)])
    }

    @Test("B goes while C plays: A is held back by C from then on, and hears from C's end")
    func middleGoesFirst() {
        var (scenario, first, second, third) = AudioNestingTests.nested()
        var dying = scenario
        #expect(scenario.deactivate(second).notices(to: first).isEmpty)
        #expect(scenario.deactivate(third).notices(to: first) == [.interruptionEnded(shouldResume: true)])
        dying.send(.closed(second))
        dying.serve()
        #expect(dying.deactivate(third, notify: false).notices(to: first) == [.interruptionEnded(shouldResume: false)])
    }

    @Test("A call over a session that interrupted another: the end of the call reaches the session alone")
    func underCall() {
        var scenario = AudioScenario()
        let first = scenario.openActive(.music)
        let second = scenario.openActive(.music)
        scenario.call()
        let effects = scenario.hangUp()
        #expect(effects.notices(to: second) == [.interruptionEnded(shouldResume: true)])
        #expect(effects.notices(to: first).isEmpty)
    }

    @Test("Who interrupted others dies during a call: they hear from the end of the call")
    func ownerDiesInCall() {
        var scenario = AudioScenario()
        let first = scenario.openActive(.music)
        let second = scenario.openActive(.music)
        scenario.call()
        scenario.send(.closed(second))
        #expect(scenario.serve().notices(to: first).isEmpty)
        #expect(scenario.hangUp().notices(to: first) == [.interruptionEnded(shouldResume: true)])
    }

    @Test("Who interrupted others deactivates as a call comes: they are held back by the call, and not told twice")
    func callComesMeanwhile() {
        var scenario = AudioScenario()
        let first = scenario.openActive(.music)
        let second = scenario.openActive(.music)
        scenario.send(.deactivationRequested(second, notifiesOthers: true))
        var effects = scenario.calls {
            $0.isAnyCall = true
            $0.focus = AudioScenario.focus()
        }
        effects += scenario.serve()
        #expect(effects.notices(to: first).isEmpty && !scenario.arbiter.activeCalls.isEmpty)
        #expect(scenario.hangUp().notices(to: first) == [.interruptionEnded(shouldResume: true)])
    }

    @Test("A session becomes active just as the call does: it is interrupted, and its client hears both")
    func activatingAsCallComes() {
        var scenario = AudioScenario()
        let id = scenario.open(.music)
        scenario.send(.activationRequested(id))
        scenario.calls {
            $0.isAnyCall = true
            $0.focus = AudioScenario.focus()
        }
        #expect(scenario.state(id) == .activating)
        let effects = scenario.applied()
        #expect(effects.answers(to: id).last?.isSuccess == true)
        #expect(effects.notices(to: id) == [.interruptionBegan(.default)] && scenario.state(id) == .interrupted)
        #expect(effects.plans.map { $0.sessions.map(\.id) } == [[.call]])
    }

    @Test("An activation that fails tells whom it interrupted, and not those that were interrupted before")
    func refusedInTheMiddle() {
        var scenario = AudioScenario()
        let first = scenario.openActive(.music)
        let second = scenario.openActive(.music)
        let third = scenario.open(.recording)
        scenario.send(.activationRequested(third))
        let effects = scenario.refused()
        #expect(effects.notices(to: second) == [.interruptionEnded(shouldResume: true)])
        #expect(effects.notices(to: first).isEmpty)
    }

    @Test("An interrupted session fails to become active: interrupted as before, and the other is told of the end")
    func refusedFromInterrupted() {
        var scenario = AudioScenario()
        let first = scenario.openActive(.music)
        let second = scenario.openActive(.music)
        scenario.send(.activationRequested(first))
        let effects = scenario.refused()
        #expect(effects.failures(of: first) == [.resourceNotAvailable] && scenario.state(first) == .interrupted)
        #expect(effects.notices(to: second) == [.interruptionEnded(shouldResume: true)])
        scenario.serve()
        // Neither waits for the other for ever.
        #expect(scenario.deactivate(second).notices(to: first) == [.interruptionEnded(shouldResume: true)])
    }

    @Test("The interrupter goes while the interrupted one is becoming active, which fails: the end is told then")
    func interrupterGoesMeanwhile() {
        var scenario = AudioScenario()
        let id = scenario.openActive(.mixable)
        scenario.call()
        scenario.send(.activationRequested(id))
        scenario.calls { $0 = .none }
        let effects = scenario.refused()
        #expect(effects.notices(to: id) == [.interruptionEnded(shouldResume: true)])
        #expect(effects.failures(of: id) == [.resourceNotAvailable] && scenario.state(id) == .interrupted)
    }

    @Test("A configuration that is not mixable any more interrupts others; refused, they are told of the end")
    func reconfigured() {
        var scenario = AudioScenario()
        let music = scenario.openActive(.music)
        let id = scenario.openActive(.mixable)
        let effects = scenario.send(.configured(id, .speech))
        #expect(effects.notices(to: music) == [.interruptionBegan(.default)] && effects.answers(to: id).isEmpty)
        var refused = scenario
        let back = refused.refused()
        #expect(back.notices(to: music) == [.interruptionEnded(shouldResume: true)])
        #expect(back.failures(of: id) == [.resourceNotAvailable])
        #expect(refused.arbiter.sessions[id]?.configuration == .mixable && refused.state(id) == .active)
        #expect(scenario.applied().answers(to: id).last?.isSuccess == true)
        #expect(scenario.arbiter.planInForce.sessions.map(\.configuration) == [.speech])
    }

    @Test("Refused, it does not free those that the session had interrupted before")
    func reconfiguredInVain() {
        var scenario = AudioScenario()
        let music = scenario.openActive(.music)
        let id = scenario.openActive(.speech)
        scenario.send(.configured(id, .recording))
        #expect(scenario.refused().notices(to: music).isEmpty)
        #expect(scenario.deactivate(id).notices(to: music) == [.interruptionEnded(shouldResume: true)])
    }
}
