import RingwakeCore
import Testing

@Suite("An incoming call, from its push to its end")
struct IncomingCallScenarioTests {
    @Test("A push wakes the handler, which reports; the user answers and hangs up; each effect comes once, in order")
    func answeredCall() throws {
        var scenario = Scenario()
        let key = scenario.key()

        let push = scenario.push(payload: #"{"a":1}"#)
        let woken = scenario.send(.pushReceived(push))
        let request = try #require(woken.wakes.first)
        #expect(woken.count == 2 && woken.states == ["woken"])
        #expect(request.key == key && request.attempt == 1 && request.payload == Array(#"{"a":1}"#.utf8))
        #expect(request.reportBy == scenario.now.advanced(by: .seconds(5)))

        scenario.wait(.milliseconds(1))
        #expect(scenario.send(.handlerStarted(key, pid: 77)).isEmpty)
        #expect(scenario.coordinator.call(key)?.handler == 77)

        scenario.wait(.milliseconds(10))
        let update = CallUpdate(caller: "sip:alice@example.org", callerName: "Alice", hasVideo: true)
        #expect(scenario.send(.reported(key, update, ring: false)).states == ["reported"])
        #expect(scenario.coordinator.call(key)?.update == update)
        #expect(scenario.send(.ringConfirmed(key)).states == ["ringing"])

        scenario.wait(.seconds(3))
        let answerBy = scenario.now.advanced(by: .seconds(10))
        let answering = scenario.send(.answerRequested(key))
        #expect(answering.states == ["answering"] && answering.last == .request(.answer, key, by: answerBy))
        #expect(scenario.send(.fulfilled(key, .answer)).states == ["connected"])

        scenario.wait(.seconds(60))
        let endBy = scenario.now.advanced(by: .seconds(10))
        let ending = scenario.send(.endRequested(key))
        #expect(ending.states == ["ending"] && ending.last == .request(.end, key, by: endBy))
        #expect(scenario.send(.fulfilled(key, .end)).states == ["ended"])
        #expect(scenario.state() == .ended(.localEnded, detail: nil))
        #expect(scenario.coordinator.active.isEmpty && scenario.coordinator.nextDeadline == nil)
        #expect(
            scenario.stages() == [
                "received", "verified", "woke", "reported", "rang", "answered", "connected", "hungUp", "ended",
            ])
    }

    @Test("A report with ring goes through reported to ringing, so that listeners see both")
    func reportAndRing() {
        var scenario = Scenario()
        scenario.send(.pushReceived(scenario.push()))
        #expect(scenario.send(.reported(scenario.key(), CallUpdate(), ring: true)).states == ["reported", "ringing"])
    }

    @Test("A second push with the same apns-id starts nothing, while the call runs and after it ended")
    func duplicatePush() {
        var scenario = Scenario()
        scenario.ring()
        #expect(scenario.send(.pushReceived(scenario.push())) == [.pushIgnored(scenario.push(), .duplicate)])
        scenario.send(.remoteEnded(scenario.key(), .remoteEnded))
        #expect(scenario.send(.pushReceived(scenario.push())) == [.pushIgnored(scenario.push(), .duplicate)])
        #expect(scenario.state() == .ended(.remoteEnded, detail: nil))
    }

    @Test("The same call id of another app is another call")
    func sameIDOfTwoApps() throws {
        let other = try #require(AppID("com.example.intercom"))
        var scenario = Scenario()
        scenario.ring()
        #expect(scenario.send(.pushReceived(scenario.push(app: other))).wakes.count == 1)
        scenario.send(.handlerNotStarted(scenario.key(app: other), why: "no such file"))
        #expect(scenario.state()?.name == "ringing")
    }

    @Test("A push whose expiration has passed is taken and starts no handler; one with 'one attempt' starts one")
    func expiredOnArrival() {
        var scenario = Scenario()
        let late = scenario.push(expiration: .at(scenario.now))
        #expect(scenario.send(.pushReceived(late)) == [.pushIgnored(late, .expired)])
        #expect(scenario.send(.pushReceived(scenario.push("two", expiration: .oneAttempt))).wakes.count == 1)
    }

    @Test("A call that expires before its handler confirms it never rings, and its handler is stopped")
    func expiresWhileWaking() {
        var scenario = Scenario()
        let expiration = scenario.now.advanced(by: .seconds(2))
        scenario.send(.pushReceived(scenario.push(expiration: .at(expiration))))
        #expect(scenario.coordinator.nextDeadline == expiration)
        scenario.wait(.seconds(2))
        // The report comes in the same instant: the deadline is done first.
        let effects = scenario.send(.reported(scenario.key(), CallUpdate(), ring: true))
        #expect(effects.contains(.stopHandler(scenario.key())) && effects.states == ["ended"])
        #expect(effects.refusals == [.wrongState(scenario.key(), .ended(.expired, detail: nil))])
        #expect(!scenario.stages().contains("rang"))
    }

    @Test("Over the limit of an app its pushes are refused, and another app's are not; an ended call makes room")
    func limits() throws {
        let other = try #require(AppID("com.example.intercom"))
        var limits = CoordinatorStateMachine.Limits()
        limits.activeCallsOfAnApp = 2
        limits.activeCalls = 3
        var scenario = Scenario(limits: limits)
        scenario.ring("one")
        scenario.ring("two")
        #expect(scenario.send(.pushReceived(scenario.push("three"))) == [.refused(.tooManyCalls(Scenario.app))])
        #expect(scenario.send(.pushReceived(scenario.push("four", app: other))).wakes.count == 1)
        #expect(scenario.send(.pushReceived(scenario.push("five", app: other))).refusals == [.tooManyCalls(other)])
        scenario.send(.handlerExited(scenario.key("one"), .exited(0)))
        #expect(scenario.send(.pushReceived(scenario.push("three"))).wakes.count == 1)
    }

    @Test("Ended calls are remembered up to a bound, the newest ones")
    func boundedHistory() {
        var limits = CoordinatorStateMachine.Limits()
        limits.finishedCalls = 4
        var scenario = Scenario(limits: limits)
        for number in 0..<100 {
            scenario.ring("\(number)")
            scenario.send(.handlerExited(scenario.key("\(number)"), .exited(1)))
            #expect(scenario.coordinator.finished.count < 8)
            #expect(scenario.state("\(number)")?.isEnded == true)
            if number >= 4 {
                #expect(scenario.state("\(number - 3)")?.isEnded == true)
            }
        }
        #expect(scenario.coordinator.finished.last?.key.id.rawValue == "99")
        #expect(scenario.state("0") == nil)
    }
}
