import RingwakeCore
import Testing

@Suite("A push takes the place of an earlier one with its collapse id whose call waits")
struct CollapseTests {
    /// One call has a handler, a second one with the collapse id `c` waits.
    private func waiting() -> Scenario {
        var scenario = Scenario(.app)
        scenario.bring("busy", to: .connected)
        scenario.receive(scenario.push("one", collapseID: "c", payload: "{1}"))
        scenario.journal("one")
        return scenario
    }

    @Test("The earlier call ends, with the later push in one commit; the handler gets only the later")
    func replaces() throws {
        var scenario = waiting()
        let effects = scenario.receive(scenario.push("two", collapseID: "c", payload: "{2}"))
        let replaced = try #require(effects.replaced.first)
        #expect(replaced.key == scenario.key("one") && replaced.state == .ended && replaced.reason == .replaced)
        #expect(replaced.progress == nil && replaced.collapseID == "c" && effects.missed.isEmpty)
        #expect(effects.journaled.map(\.call?.key) == [scenario.key("two")] && effects.outcomes == [.started])
        #expect(effects.states == ["ended", "queued"])
        #expect(effects.last == .pushWaits(scenario.handler("busy"), scenario.key("two"), .call))
        #expect(scenario.lane?.waiting == [scenario.key("two")])
        let fetched = scenario.send(.pushesFetched(scenario.handler("busy"))).handedOver
        #expect(fetched?.map(\.payload) == [Array("{2}".utf8)])
    }

    @Test("A repeat of the replaced push, and a further push of its call, are told so and change nothing")
    func repeats() throws {
        var scenario = waiting()
        scenario.receive(scenario.push("two", collapseID: "c"))
        let key = scenario.key("one")
        for push in [scenario.push("one", collapseID: "c"), scenario.push("three", collapseID: "c")] {
            let effects = scenario.receive(push, PushFacts(call: key.id))
            let record = try #require(effects.journaled.first?.push)
            #expect(effects.outcomes == [.duplicate] && scenario.call("one")?.outcome(of: record) == .replaced)
            #expect(effects.replaced.isEmpty && scenario.state("two")?.name == .queued)
        }
    }

    @Test("A repeat of a replaced push that is not on the disk yet is told so too")
    func repeatsBeforeTheDisk() throws {
        var scenario = Scenario(.app)
        scenario.bring("busy", to: .connected)
        scenario.receive(scenario.push("one", collapseID: "c"))
        scenario.receive(scenario.push("two", collapseID: "c"))
        let record = try #require(scenario.receive(scenario.push("one", collapseID: "c")).journaled.first?.push)
        #expect(record.outcome == .started && scenario.call("one")?.outcome(of: record) == .replaced)
    }

    @Test(
        "Nothing is replaced by a push with another collapse id or none, of another sender or app, or of the same call",
        arguments: ["other id", "no id", "other sender", "other app", "same call"])
    func different(_ what: String) {
        var scenario = waiting()
        let push =
            switch what {
            case "other id": scenario.push("two", collapseID: "d")
            case "no id": scenario.push("two")
            case "other sender": scenario.push("two", team: "OTHERTEAM1", collapseID: "c")
            case "other app": scenario.push("two", app: Scenario.otherApp, collapseID: "c")
            default: scenario.push("two", collapseID: "c")
            }
        let effects = scenario.receive(push, PushFacts(call: what == "same call" ? scenario.key("one").id : nil))
        #expect(effects.replaced.isEmpty && scenario.state("one")?.name == .queued)
    }

    @Test(
        "A push that starts no call replaces none: a cancellation, one that has expired, one that is kept out",
        arguments: ["cancel", "expired", "restricted"])
    func startsNothing(_ what: String) {
        var scenario = waiting()
        let expiration = what == "expired" ? VerifiedPush.Expiration.at(scenario.now) : nil
        let facts = PushFacts(call: CallID("two"), cancel: what == "cancel" ? .cancelled : nil)
        let restriction = what == "restricted" ? Restriction(.doNotDisturb, "kept out") : nil
        let push = scenario.push("two", expiration: expiration, collapseID: "c")
        #expect(scenario.send(.pushReceived(push, facts, scenario.policy, restriction)).replaced.isEmpty)
        #expect(scenario.state("one")?.name == .queued && scenario.state("two")?.isEnded == true)
    }

    @Test(
        "A call that a handler has, or that rings, is never replaced",
        arguments: [.woken, .reported, .confirmed, .ringing, .answering, .connected] as [CallStateMachine.State.Name])
    func given(_ name: CallStateMachine.State.Name) {
        var scenario = Scenario(.app)
        scenario.receive(scenario.push("one", collapseID: "c"))
        scenario.journal()
        scenario.start()
        if name != .woken { scenario.report() }
        if name != .woken, name != .reported { scenario.send(.ringConfirmed(scenario.key(), by: scenario.handler())) }
        if [.ringing, .answering, .connected].contains(name) { scenario.journalRing() }
        if [.answering, .connected].contains(name) { scenario.send(.answerRequested(scenario.key())) }
        if name == .connected { scenario.send(.fulfilled(scenario.key(), .answer, by: scenario.handler())) }
        #expect(scenario.state()?.name == name)
        let effects = scenario.receive(scenario.push("two", collapseID: "c"))
        #expect(effects.replaced.isEmpty && scenario.state()?.name == name && scenario.state("two")?.name == .queued)
    }

    @Test("At the limit of calls there is room for one that replaces another")
    func limit() {
        var limits = CoordinatorStateMachine.Limits()
        limits.activeCallsOfAnApp = 2
        var scenario = Scenario(.app, limits: limits)
        scenario.bring("busy", to: .connected)
        scenario.receive(scenario.push("one", collapseID: "c"))
        #expect(scenario.receive("two").refusals == [.tooManyCalls(Scenario.app)])
        #expect(scenario.receive(scenario.push("two", collapseID: "c")).replaced.count == 1)
        #expect(scenario.state("two")?.name == .queued)
    }

    /// A scenario after a restart of the machine, whose app's handler has to connect: the restored call waits for it.
    private func restarted(with record: CallRecord, at now: BootInstant) -> Scenario {
        var scenario = Scenario(.app)
        scenario.policy.isStarted = false
        scenario.now = now
        let payloads = [CallPayload(push: 0, bytes: Array("{1}".utf8))]
        let stored = StoredCall(record, payloads: payloads, .otherBoot(isTimeKnown: true))
        scenario.send(.restored(stored, scenario.policy))
        scenario.send(.handlersRestored(Scenario.app, [:], alive: [], scenario.policy))
        return scenario
    }

    @Test("After a restart a call that waits is still replaced, and one that was replaced stays so")
    func restart() throws {
        let scenario = waiting()
        let record = try SnapshotTests.written(try #require(scenario.call("one")?.journalRecord))
        var after = restarted(with: record, at: scenario.now)
        #expect(after.state("one")?.name == .queued)
        let replaced = after.receive(after.push("two", collapseID: "c")).replaced
        #expect(replaced.map(\.reason) == [.replaced])
        var again = Scenario(.app)
        again.coordinator.remember(try replaced.map(SnapshotTests.written))
        let repeated = try #require(again.receive(again.push("one", collapseID: "c")).journaled.first?.push)
        #expect(repeated.outcome == .duplicate && again.call("one")?.outcome(of: repeated) == .replaced)
    }

    @Test("A call that waits again, because a handler had it before the restart, is not replaced")
    func requeued() throws {
        var scenario = waiting()
        scenario.send(.pushesFetched(scenario.handler("busy")))
        var after = restarted(with: try #require(scenario.call("one")?.journalRecord), at: scenario.now)
        #expect(after.state("one")?.name == .queued && after.call("one").map { $0.attempt > 0 } == true)
        #expect(after.receive(after.push("two", collapseID: "c")).replaced.isEmpty)
    }
}
