import RingwakeCore
import Testing

@Suite("Calls that answer themselves")
struct AutoAnswerTests {
    /// A ringing call that is to answer itself after two seconds.
    private static func ringing(_ change: (inout Scenario) -> Void = { _ in }) -> Scenario {
        var scenario = Scenario()
        scenario.policy.autoAnswer = .seconds(2)
        change(&scenario)
        ring("one", in: &scenario)
        return scenario
    }

    private static func ring(_ id: String, in scenario: inout Scenario) {
        scenario.bring(id, to: .woken)
        var update = CallUpdate()
        update.answersItself = true
        scenario.report(id, ring: true, update: update)
        scenario.journalRing(id)
    }

    private func answered(_ scenario: Scenario, _ id: String = "one") -> TimelineEntry? {
        scenario.call(id)?.timeline.first { $0.stage == .answered }
    }

    @Test("It rings as long as the policy says, and the timeline says that a rule answered")
    func inTime() {
        var scenario = Self.ringing()
        #expect(scenario.coordinator.nextDeadline == scenario.now.advanced(by: .seconds(2)))
        #expect(scenario.pass(.milliseconds(1999)).isEmpty)
        #expect(scenario.pass(.milliseconds(1)).requests == [.answer])
        #expect(scenario.state()?.name == .answering && answered(scenario)?.by == .rule)
        scenario.send(.fulfilled(scenario.key(), .answer, by: scenario.handler()))
        #expect(scenario.state()?.name == .connected)
    }

    @Test("A driver that comes late answers late, and not after the ring has ended")
    func late() {
        var scenario = Self.ringing()
        scenario.wait(.seconds(10))
        #expect(scenario.send(.deadlineReached).requests == [.answer])
        var tooLate = Self.ringing()
        tooLate.wait(.seconds(46))
        #expect(tooLate.send(.deadlineReached).requests.isEmpty && tooLate.state()?.endReason == .unanswered)
    }

    @Test("The user is faster, or declines")
    func user() {
        var scenario = Self.ringing()
        scenario.send(.answerRequested(scenario.key()))
        #expect(answered(scenario)?.by == nil)
        #expect(scenario.pass(.seconds(3)).requests.isEmpty)
        var declined = Self.ringing()
        declined.send(.declineRequested(declined.key()))
        #expect(declined.pass(.seconds(3)).requests.isEmpty)
    }

    @Test(
        "Not while the device is in another call, in a held one too, nor in a cellular one; nor after that",
        arguments: ["connected", "held", "cellular"])
    func inCall(what: String) {
        var scenario = Self.ringing { scenario in
            switch what {
            case "connected": scenario.bring("other", to: .connected)
            case "held": scenario.bring("other", to: .held)
            default: scenario.send(.cellularChanged(isActive: true))
            }
        }
        #expect(scenario.pass(.seconds(3)).requests.isEmpty && scenario.state()?.name == .ringing)
        scenario.send(.cellularChanged(isActive: false))
        scenario.send(.remoteEnded(scenario.key("other"), .remoteEnded, by: nil))
        #expect(scenario.pass(.seconds(3)).requests.isEmpty && scenario.state()?.name == .ringing)
        #expect(scenario.send(.answerRequested(scenario.key())).requests == [.answer])
    }

    @Test("Of two that ring, the first answers itself and the other rings on")
    func two() {
        var scenario = Self.ringing()
        scenario.wait(.milliseconds(500))
        Self.ring("two", in: &scenario)
        #expect(scenario.pass(.seconds(5)).requests == [.answer])
        #expect(scenario.state("one")?.name == .answering && scenario.state("two")?.name == .ringing)
    }

    @Test("One without a handler rings on, also where the daemon makes it ring")
    func unattended() {
        var scenario = Self.ringing { $0.policy.fallback = .ring }
        scenario.exit(scenario.handler(), .signalled(9))
        #expect(!scenario.pass(.seconds(3)).requests.contains(.answer))
        #expect(answered(scenario) == nil)
    }

    @Test("What the rule answered and nobody was connected to is missed; so is what the app answered")
    func missed() {
        var scenario = Self.ringing()
        scenario.pass(.seconds(2))
        #expect(scenario.send(.actionFailed(scenario.key(), .answer, by: scenario.handler())).missed == ["one"])
    }

    @Test("A queued outgoing call keeps it from answering itself, and nobody's request is refused for it")
    func behindQueued() {
        var scenario = Scenario()
        scenario.policy.autoAnswer = .seconds(2)
        scenario.bring("other", to: .connected)
        let out = OutgoingCall(scenario.key("out"), CallUpdate(caller: "sip:bob@example.org"), wallClock: 1)
        Self.ring("one", in: &scenario)
        scenario.send(.startRequested(out, scenario.policy, by: nil))
        scenario.wait(.seconds(3))
        #expect(scenario.send(.muteRequested(scenario.key("other"), true)).refusals.isEmpty)
    }

    @Test("A call whose caller the rule is not for rings on, and so does one without the rule")
    func others() {
        var scenario = Scenario()
        scenario.policy.autoAnswer = .seconds(2)
        scenario.bring(to: .ringing)
        #expect(scenario.pass(.seconds(5)).requests.isEmpty)
    }

    @Test("Which callers the rule is for")
    func callers() throws {
        let doors = ListMatch(list: "doors", pattern: try CallerPattern("+49891234*"), label: "Door")
        let listed = ListVerdict(blocked: nil, identified: doors)
        var policy = AppPolicy()
        #expect(!policy.answersItself(listed) && !policy.answersItself(nil))
        policy.autoAnswer = .seconds(2)
        #expect(policy.answersItself(listed) && policy.answersItself(nil))
        policy.autoAnswerList = "doors"
        #expect(policy.answersItself(listed) && !policy.answersItself(nil))
        policy.autoAnswerList = "gates"
        #expect(!policy.answersItself(listed))
    }

    @Test("One that rang before the daemon was started again rings on: nobody knows whether it was tried")
    func restored() throws {
        var scenario = Self.ringing()
        let record = try #require(scenario.call()).journalRecord
        let read = try SnapshotTests.written(record)
        #expect(read == record && read.update.answersItself == true)
        var again = Scenario()
        again.policy = scenario.policy
        again.now = scenario.now
        again.send(.restored(StoredCall(read, payloads: [], .thisBoot), again.policy))
        #expect(again.state()?.name == .ringing && again.call()?.answersItselfAt == nil)
        scenario.pass(.seconds(2))
        let answered = try #require(scenario.call()).journalRecord
        #expect(try SnapshotTests.written(answered).timeline == answered.timeline)
    }
}
