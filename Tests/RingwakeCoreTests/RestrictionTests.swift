import RingwakeCore
import Testing

@Suite("A call that is kept out wakes nobody, rings nowhere, and is recorded with its reason")
struct RestrictionTests {
    static let kinds = Restriction.Kind.allCases

    @Test("By its push: it has ended when the journal gets it, and nobody is told that it was missed", arguments: kinds)
    func byPush(kind: Restriction.Kind) throws {
        var scenario = Scenario()
        let restriction = Restriction(kind, "on the list 'spam'")
        let effects = scenario.send(.pushReceived(scenario.push(), PushFacts(), scenario.policy, restriction))
        #expect(effects.outcomes == [.restricted] && effects.states == ["ended"] && effects.missed.isEmpty)
        #expect(effects.wakes.isEmpty && effects.last == .restricted(scenario.key(), restriction))
        let journaled = try #require(effects.journaled.first)
        #expect(journaled.payload.isEmpty && journaled.call?.state == .ended)
        #expect(journaled.call?.reason == (kind == .blocked ? .blocked : .restricted))
        #expect(journaled.call?.restriction == kind && journaled.call?.detail == "on the list 'spam'")
        #expect(scenario.coordinator.active.isEmpty && scenario.coordinator.nextDeadline == nil)
        #expect(scenario.call()?.restriction == restriction)
        // What comes after is as with any call that has ended.
        #expect(scenario.send(.pushReceived(scenario.push(), PushFacts(), scenario.policy)).wakes.isEmpty)
        #expect(scenario.receive("x", call: "one", cancel: .cancelled).outcomes == [.tooLate])
        scenario.journal()
        #expect(scenario.receive().outcomes == [.duplicate])
    }

    @Test("By its report: its handler has nothing to do any more")
    func byReport() {
        var scenario = Scenario()
        scenario.bring(to: .woken)
        let restriction = Restriction(.blocked, "on the list 'spam'")
        let wake = scenario.handler()
        let effects = scenario.send(
            .reported(scenario.key(), CallUpdate(caller: "sip:x@example.org"), ring: true, by: wake, restriction))
        #expect(effects.states == ["ended"] && effects.contains(.restricted(scenario.key(), restriction)))
        #expect(
            effects.releases == [wake] && effects.stops.isEmpty && effects.missed.isEmpty && effects.requests.isEmpty)
        #expect(scenario.state() == .ended(.blocked, detail: "on the list 'spam'"))
        #expect(scenario.call()?.update.caller == "sip:x@example.org" && scenario.stages().contains("reported"))
    }

    @Test("A report that does not fit is refused, restricted or not")
    func refused() {
        var scenario = Scenario()
        scenario.bring(to: .ringing)
        let before = scenario.coordinator
        let restriction = Restriction(.doNotDisturb, "until 07:00")
        let effects = scenario.send(
            .reported(scenario.key(), CallUpdate(), ring: true, by: scenario.handler(), restriction))
        #expect(effects == [.refused(.wrongState(scenario.key(), scenario.state() ?? .queued))])
        #expect(scenario.coordinator == before)
    }

    @Test("A late push that is kept out is nobody's missed call, nor is one that was taken back before it came")
    func lateOrCancelled() {
        var scenario = Scenario()
        let restriction = Restriction(.blocked, "on the list 'spam'")
        let late = scenario.push("late", expiration: .at(scenario.now))
        let effects = scenario.send(.pushReceived(late, PushFacts(), scenario.policy, restriction))
        #expect(effects.outcomes == [.restricted] && effects.missed.isEmpty)
        let facts = PushFacts(call: CallID("other"), cancel: .cancelled)
        let cancel = scenario.send(.pushReceived(scenario.push("x"), facts, scenario.policy, restriction))
        #expect(cancel.outcomes == [.cancelled] && cancel.missed.isEmpty)
    }

    @Test("A push of a call that runs tells more about it, whatever keeps others out")
    func update() {
        var scenario = Scenario()
        scenario.bring(to: .ringing)
        let facts = PushFacts(call: CallID("one"))
        let restriction = Restriction(.doNotDisturb, "until 07:00")
        let effects = scenario.send(.pushReceived(scenario.push("more"), facts, scenario.policy, restriction))
        #expect(effects.outcomes == [.updated] && scenario.state()?.name == .ringing)
    }
}
