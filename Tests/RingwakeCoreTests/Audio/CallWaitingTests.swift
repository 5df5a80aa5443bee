import RingwakeCore
import Testing

@Suite("What the user does while a call goes on is kept until no call is left: the plan says how long that is")
struct CallWaitingTests {
    @Test("From the first focus to the end of the last call, whenever none of them is in the plan")
    func waiting() {
        var scenario = CallSessionTests.answering()
        #expect(!scenario.arbiter.plan.isCallWaiting, "none has been active yet")
        #expect(scenario.call().plans.map(\.isCallWaiting) == [false])
        let held = scenario.calls { $0.focus = nil } + scenario.serve()
        #expect(held.plans == [AudioPlan(isCallWaiting: true)] && scenario.arbiter.plan.isEmpty)
        #expect(scenario.call(AudioScenario.focus("two")).plans.map(\.isCallWaiting) == [false])
        // The second one ends, and the first one waits still.
        scenario.calls { $0.focus = nil }
        scenario.serve()
        #expect(scenario.arbiter.planInForce == AudioPlan(isCallWaiting: true))
        #expect(scenario.hangUp().plans == [AudioPlan()])
        // The next call is another matter.
        #expect(scenario.calls { $0.isAnyCall = true }.plans.isEmpty)
        #expect(!scenario.arbiter.plan.isCallWaiting)
    }

    @Test("A call that ends in focus leaves nothing that waits")
    func ended() {
        var scenario = AudioScenario()
        scenario.call()
        #expect(scenario.hangUp().plans == [AudioPlan()])
    }

    @Test("Beside a session of another client too")
    func beside() {
        var scenario = AudioScenario()
        let music = scenario.openActive(.mixable)
        scenario.call()
        let held = scenario.calls { $0.focus = nil } + scenario.serve()
        #expect(held.plans.last.map { $0.isCallWaiting } == true)
        let again = scenario.activate(music)
        #expect(again.plans.last?.isCallWaiting == true && again.plans.last?.sessions.map(\.id) == [music])
        #expect(scenario.hangUp().plans.map(\.isCallWaiting) == [false])
    }
}
