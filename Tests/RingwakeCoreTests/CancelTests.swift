import RingwakeCore
import Testing

@Suite("The sender takes its call back: before it came, while it waits, wakes and rings, and too late")
struct CancelTests {
    /// A call of its own id, so that the cancelling push is another push.
    static func scenario(_ name: CallStateMachine.State.Name) -> Scenario {
        var scenario = Scenario()
        scenario.bring(to: name)
        return scenario
    }

    @Test("Before its call came: the call that comes later never wakes anybody")
    func tombstone() throws {
        var scenario = Scenario()
        let cancel = scenario.receive("cancel", call: "one", cancel: .answeredElsewhere)
        #expect(cancel.outcomes == [.cancelled] && cancel.states == ["ended"] && cancel.wakes.isEmpty)
        #expect(cancel.journaled.first?.call?.state == .ended && cancel.missed.isEmpty)
        #expect(scenario.coordinator.active.isEmpty && scenario.coordinator.nextDeadline == nil)
        let late = scenario.receive("one")
        #expect(late.outcomes == [.duplicate] && late.wakes.isEmpty)
        #expect(scenario.state()?.endReason == .answeredElsewhere)
    }

    @Test("A call that was taken back before it came counts as missed if nobody answered it elsewhere")
    func tombstoneIsMissed() {
        var scenario = Scenario()
        #expect(scenario.receive("cancel", call: "one", cancel: .cancelled).missed == ["one"])
        #expect(scenario.receive("two").wakes.count == 1, "another call is not affected")
    }

    @Test("When the journal failed to take such a push, its repeat is recorded as what it is: cancelled")
    func tombstoneRepeated() {
        var scenario = Scenario()
        scenario.receive("cancel", call: "one", cancel: .cancelled)
        let again = scenario.receive("cancel", call: "one", cancel: .cancelled)
        #expect(again.outcomes == [.cancelled] && again.journaled.first?.call == scenario.call()?.record)
        scenario.journal()
        #expect(scenario.receive("cancel", call: "one", cancel: .cancelled).outcomes == [.duplicate])
        #expect(scenario.receive("another", call: "one", cancel: .cancelled).outcomes == [.tooLate])
    }

    @Test("The repeat of a push that took a running call back is recorded as what it was")
    func repeated() {
        var scenario = CancelTests.scenario(.ringing)
        scenario.receive("cancel", call: "one", cancel: .cancelled)
        let before = scenario.coordinator
        let effects = scenario.receive("CANCEL", call: "one", cancel: .cancelled)
        #expect(effects.outcomes == [.cancelled] && effects.count == 2 && scenario.coordinator == before)
    }

    @Test("A push that takes its call back is no repeat of the call's push, though it has the same apns-id")
    func sameAPNSID() {
        var scenario = CancelTests.scenario(.ringing)
        #expect(scenario.receive("one", cancel: .cancelled).states == ["ended"])
        #expect(scenario.state()?.endReason == .cancelled)
    }

    @Test("A cancel that names no call takes nothing back, and is journaled all the same")
    func withoutCall() {
        var scenario = Scenario()
        let push = scenario.push("cancel")
        let effects = scenario.receive(push, PushFacts(cancel: .cancelled))
        #expect(effects.outcomes == [.tooLate] && effects.journaled.first?.call == nil && effects.count == 2)
        #expect(effects.last == .pushIgnored(push, scenario.key("cancel"), .tooLate))
        #expect(scenario.coordinator == Scenario().coordinator)
    }

    @Test("While it waits for a busy handler: it is not handed over any more")
    func whileWaiting() {
        var scenario = Scenario(.app)
        scenario.bring("busy", to: .connected)
        scenario.receive("one")
        let effects = scenario.receive("cancel", call: "one", cancel: .cancelled)
        #expect(effects.outcomes == [.cancelled] && effects.states == ["ended"] && effects.missed == ["one"])
        #expect(effects.stops.isEmpty && effects.releases.isEmpty && scenario.lane?.waiting == [])
        #expect(scenario.send(.pushesFetched(scenario.handler("busy"))).handedOver == [])
    }

    @Test(
        "While waking and after the report, before it rings: the handler is stopped, and nothing rings",
        arguments: [CallStateMachine.State.Name.woken, .reported, .confirmed])
    func beforeRinging(name: CallStateMachine.State.Name) {
        var scenario = CancelTests.scenario(name)
        let wake = scenario.handler()
        let effects = scenario.receive("cancel", call: "one", cancel: .declinedElsewhere)
        #expect(effects.outcomes == [.cancelled] && effects.states == ["ended"] && effects.stops == [wake])
        #expect(effects.first.map { if case .journalPush = $0 { true } else { false } } == true)
        #expect(effects.journaled.first?.call?.state == .ended && effects.missed.isEmpty)
        #expect(scenario.journalRing().isEmpty && !scenario.stages().contains("rang"))
        #expect(
            scenario.report(ring: true).refusals == [
                .wrongState(scenario.key(), .ended(.declinedElsewhere, detail: nil))
            ])
        #expect(scenario.exit(wake).isEmpty && scenario.coordinator.lanes.isEmpty)
    }

    @Test("While waking, of two calls of one handler: the handler is not stopped")
    func besideAnotherCall() {
        var scenario = Scenario(.app)
        scenario.bring("busy", to: .connected)
        scenario.receive("one")
        scenario.send(.pushesFetched(scenario.handler("busy")))
        let effects = scenario.receive("cancel", call: "one", cancel: .cancelled)
        #expect(effects.states == ["ended"] && effects.stops.isEmpty && effects.releases.isEmpty)
        #expect(scenario.state("busy")?.name == .connected)
    }

    @Test("While it rings: it ends, and the handler may tidy up")
    func whileRinging() {
        var scenario = CancelTests.scenario(.ringing)
        let wake = scenario.handler()
        let effects = scenario.receive("cancel", call: "one", cancel: .cancelled)
        #expect(effects.states == ["ended"] && effects.stops.isEmpty && effects.releases == [wake])
        #expect(effects.missed == ["one"] && scenario.state()?.endReason == .cancelled)
    }

    @Test(
        "After the answer, while it ends and after its end it is too late",
        arguments: [CallStateMachine.State.Name.answering, .connected, .ending, .ended])
    func tooLate(name: CallStateMachine.State.Name) {
        var scenario = CancelTests.scenario(name)
        let before = scenario.coordinator
        let effects = scenario.receive("cancel", call: "one", cancel: .cancelled)
        #expect(effects.outcomes == [.tooLate] && effects.count == 2 && effects.refusals.isEmpty)
        #expect(effects.last == .pushIgnored(scenario.push("cancel"), scenario.key(), .tooLate))
        #expect(scenario.coordinator == before)
    }

    @Test("A cancel whose call is not durable yet brings the call along")
    func bringsTheCall() {
        var scenario = Scenario()
        scenario.receive()
        let effects = scenario.receive("cancel", call: "one", cancel: .cancelled)
        #expect(effects.journaled.first?.call == scenario.call()?.record)
        scenario.journal()
        #expect(scenario.receive().outcomes == [.duplicate])
    }
}
