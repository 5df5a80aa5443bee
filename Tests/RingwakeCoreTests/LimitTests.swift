import RingwakeCore
import Testing

@Suite("What the coordinator keeps is bounded")
struct LimitTests {
    @Test("Over the limit of an app its pushes are refused, and another app's are not; an ended call makes room")
    func activeCalls() {
        var limits = CoordinatorStateMachine.Limits()
        limits.activeCallsOfAnApp = 2
        limits.activeCalls = 3
        var scenario = Scenario(limits: limits)
        scenario.bring("one", to: .ringing)
        scenario.bring("two", to: .woken)
        #expect(scenario.receive("three") == [.refused(.tooManyCalls(Scenario.app))])
        #expect(scenario.call("three") == nil)
        #expect(scenario.receive(scenario.push("four", app: Scenario.otherApp)).wakes.count == 1)
        #expect(
            scenario.receive(scenario.push("five", app: Scenario.otherApp)).refusals
                == [.tooManyCalls(Scenario.otherApp)])
        scenario.send(.remoteEnded(scenario.key("one"), .remoteEnded, by: nil))
        scenario.exit(scenario.handler("one"))
        #expect(scenario.receive("three").wakes.count == 1)
    }

    @Test("At the limit, what starts no call is taken: repeats, updates, cancels and what is expired")
    func atTheLimit() {
        var limits = CoordinatorStateMachine.Limits()
        limits.activeCalls = 1
        var scenario = Scenario(limits: limits)
        scenario.bring("one", to: .ringing)
        #expect(scenario.receive("one").outcomes == [.duplicate])
        #expect(scenario.receive("more", call: "one").outcomes == [.updated])
        #expect(scenario.receive("late", expiration: .at(scenario.now)).outcomes == [.expired])
        #expect(scenario.receive("x", call: "two", cancel: .cancelled).outcomes == [.cancelled])
        #expect(scenario.receive("y", call: "one", cancel: .cancelled).outcomes == [.cancelled])
    }

    @Test("Waiting calls count: a busy handler's queue is bounded as well")
    func waitingCalls() {
        var limits = CoordinatorStateMachine.Limits()
        limits.activeCallsOfAnApp = 3
        var scenario = Scenario(.app, limits: limits)
        scenario.bring("busy", to: .connected)
        scenario.receive("one")
        scenario.receive("two")
        #expect(scenario.receive("three").refusals == [.tooManyCalls(Scenario.app)])
        #expect(scenario.lane?.waiting.count == 2)
    }

    /// A token that may start two calls at once, and one more each second; its app's calls end at once.
    private func paced() -> Scenario {
        var limits = CoordinatorStateMachine.Limits()
        (limits.startsAtOnce, limits.startInterval) = (2, .seconds(1))
        return Scenario(limits: limits)
    }

    @Test("Pushes to one token start so many calls at once, and then one each interval; other tokens have their own")
    func pace() {
        var scenario = paced()
        for id in ["one", "two"] { #expect(scenario.receive(id).refusals.isEmpty) }
        #expect(scenario.receive("three") == [.refused(.tooManyPushes(Scenario.app))])
        #expect(scenario.receive(scenario.push("four", app: Scenario.otherApp)).refusals.isEmpty)
        // The former refusal took nothing.
        scenario.wait(.milliseconds(999))
        #expect(scenario.receive("three").refusals == [.tooManyPushes(Scenario.app)])
        scenario.wait(.milliseconds(1))
        #expect(scenario.receive("three").refusals.isEmpty && scenario.receive("five").refusals.count == 1)
        scenario.wait(.seconds(60))
        for id in ["six", "seven"] { #expect(scenario.receive(id).refusals.isEmpty) }
        #expect(scenario.receive("eight").refusals.count == 1, "a full bucket holds no more")
    }

    @Test("What starts no call takes nothing from its token, and is never refused for its pace")
    func paceOfOthers() {
        var scenario = paced()
        scenario.receive("one")
        scenario.journal()
        for number in 0..<9 {
            #expect(scenario.receive("one").outcomes.count == 1)
            #expect(scenario.receive("more\(number)", call: "one").outcomes == [.updated])
            #expect(scenario.receive("late\(number)", expiration: .at(scenario.now)).outcomes == [.expired])
            #expect(scenario.receive("x\(number)", call: "c\(number)", cancel: .cancelled).outcomes == [.cancelled])
        }
        #expect(scenario.receive("two").refusals.isEmpty)
    }

    @Test("Ended calls are remembered up to a bound, the newest ones, each to be found by its name")
    func finishedCalls() {
        var limits = CoordinatorStateMachine.Limits()
        limits.finishedCalls = 4
        var scenario = Scenario(limits: limits)
        for number in 0..<100 {
            scenario.bring("\(number)", to: .ringing)
            scenario.send(.remoteEnded(scenario.key("\(number)"), .remoteEnded, by: nil))
            scenario.exit(scenario.handler("\(number)"))
            #expect(scenario.coordinator.finished.count < 8)
            for newer in max(0, number - 3)...number {
                #expect(scenario.call("\(newer)")?.key == scenario.key("\(newer)"))
                #expect(scenario.state("\(newer)")?.isEnded == true)
            }
        }
        #expect(scenario.coordinator.finished.last?.key.id.rawValue == "99")
        #expect(scenario.state("0") == nil)
    }

    @Test("What is unread goes with the end: finished calls hold no payloads")
    func noPayloadsAfterTheEnd() {
        var scenario = Scenario(.app)
        scenario.bring("busy", to: .connected)
        scenario.receive("one", payload: #"{"large":1}"#)
        scenario.receive("two", expiration: .at(scenario.now), payload: #"{"large":1}"#)
        scenario.receive("x", call: "three", cancel: .cancelled, payload: #"{"large":1}"#)
        scenario.pass(.seconds(45))
        #expect(["one", "two", "three"].map { scenario.call($0)?.pushes.unread } == [[], [], []])
    }
}
