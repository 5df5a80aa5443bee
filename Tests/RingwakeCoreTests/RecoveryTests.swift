import RingwakeCore
import Testing

@Suite("After a restart: what never rang is delivered if it is in time, what rang is not rung again")
struct RecoveryTests {
    /// What the journal has of a call that was brought to `name`.
    static func record(
        _ name: CallStateMachine.State.Name, ofWhich change: (inout CallRecord) -> Void = { _ in }
    ) throws -> CallRecord {
        var scenario = Scenario()
        scenario.bring(to: name == .queued ? .woken : name)
        var record = try #require(scenario.call()).journalRecord
        if name == .queued {
            record.state = .queued
            record.attempt = 0
        }
        change(&record)
        return record
    }

    /// A new daemon, a second later, reads that call.
    static func recover(
        _ record: CallRecord, payload: String = "{1}", isTimeKnown: Bool = true, hasPolicy: Bool = true,
        after duration: Duration = .seconds(1)
    ) -> (scenario: Scenario, effects: [Effect]) {
        var scenario = Scenario(.app)
        scenario.wait(duration)
        let call = stored(record, payload: payload, isTimeKnown: isTimeKnown)
        var effects = scenario.send(.restored(call, hasPolicy ? scenario.policy : nil))
        effects += scenario.send(.handlersRestored(Scenario.app, [:], alive: [], scenario.policy))
        return (scenario, effects)
    }

    /// The call as a journal of another boot has it.
    static func stored(_ record: CallRecord, payload: String = "{1}", isTimeKnown: Bool = true) -> StoredCall {
        let payloads = payload.isEmpty ? [] : [CallPayload(push: 0, bytes: Array(payload.utf8))]
        return StoredCall(record, payloads: payloads, .otherBoot(isTimeKnown: isTimeKnown))
    }

    @Test(
        "A call that never rang is delivered again, with one attempt more",
        arguments: [CallStateMachine.State.Name.queued, .woken, .reported])
    func neverRang(name: CallStateMachine.State.Name) throws {
        let record = try RecoveryTests.record(name)
        var (scenario, effects) = RecoveryTests.recover(record)
        let request = try #require(effects.wakes.first)
        #expect(effects.states == ["woken"] && effects.journaled.isEmpty, "the journal has it")
        #expect(request.attempt == record.attempt + 1 && request.payload == Array("{1}".utf8))
        #expect(request.receivedAt == record.receivedAt && request.kind == .call)
        let call = try #require(scenario.call())
        #expect(call.number == record.number && call.isJournaled && call.provenance.sender == Scenario.team)
        #expect(call.machine.ringBefore == record.ringBefore && call.timeline == record.timeline)
        // Its push's repeat is known, and it rings once.
        #expect(scenario.receive().outcomes == [.duplicate])
        scenario.report(ring: true)
        #expect(scenario.journalRing().states == ["ringing"])
    }

    @Test("A call that rang is not rung again: it ends as what it was, and the user learns of what was missed")
    func rang() throws {
        let expected: [(CallStateMachine.State.Name, CallEndReason, isMissed: Bool)] = [
            (.confirmed, .unanswered, true), (.ringing, .unanswered, true), (.answering, .failed, false),
            (.connected, .failed, false),
            (.ending, .localEnded, false),
        ]
        for (name, reason, isMissed) in expected {
            let (scenario, effects) = RecoveryTests.recover(try RecoveryTests.record(name))
            #expect(effects.states == ["ended"] && effects.wakes.isEmpty && effects.strikes.isEmpty, "\(name)")
            #expect(scenario.state()?.endReason == reason && effects.missed == (isMissed ? ["one"] : []), "\(name)")
            #expect(scenario.coordinator.active.isEmpty && scenario.coordinator.lanes.isEmpty)
        }
    }

    @Test("A ring that was recorded just before the end counts as a ring, though nobody may have heard it")
    func recordedRing() throws {
        var scenario = Scenario()
        scenario.bring(to: .reported)
        let effects = scenario.send(.ringConfirmed(scenario.key(), by: scenario.handler()))
        let record = try #require(effects.ringsToJournal.first)
        #expect(RecoveryTests.recover(record).effects.missed == ["one"])
    }

    @Test("A call whose ring the journal failed to record has not rung: it is delivered again")
    func unrecordedRing() throws {
        var scenario = Scenario()
        scenario.bring(to: .confirmed)
        scenario.send(.ringNotJournaled(scenario.key(), number: scenario.number()))
        let record = try #require(scenario.call()).journalRecord
        #expect(RecoveryTests.recover(record).effects.wakes.count == 1)
    }

    @Test("By policy a call rings from memory if the journal fails, or says nothing in time", arguments: [true, false])
    func ringFromMemory(isSilent: Bool) throws {
        var scenario = Scenario()
        scenario.policy.unrecorded = .ring
        scenario.bring(to: .confirmed)
        if isSilent {
            scenario.now = try #require(scenario.call()?.machine.stateDeadline)
            scenario.send(.deadlineReached)
        } else {
            scenario.send(.ringNotJournaled(scenario.key(), number: scenario.number()))
        }
        #expect(scenario.call()?.machine.state.name == .ringing)
        // The record is written when the journal works again.
        #expect(try #require(scenario.call()).journalRecord.state == .ringing)
    }

    @Test("What the user was ending stays ended for that reason")
    func ending() throws {
        var scenario = Scenario()
        scenario.bring(to: .ringing)
        scenario.send(.declineRequested(scenario.key()))
        let record = try #require(scenario.call()).journalRecord
        let (after, effects) = RecoveryTests.recover(record)
        #expect(after.state()?.endReason == .declined && effects.missed.isEmpty)
    }

    @Test("What cannot be delivered again ends as missed, and says why")
    func notDelivered() throws {
        let woken = try RecoveryTests.record(.woken)
        let once = try RecoveryTests.record(.woken) { $0.isOneAttempt = true }
        let cases: [(what: String, (scenario: Scenario, effects: [Effect]), CallEndReason)] = [
            ("one attempt only", RecoveryTests.recover(once), .expired),
            ("too late", RecoveryTests.recover(woken, after: .seconds(45)), .expired),
            ("no payload", RecoveryTests.recover(woken, payload: ""), .failed),
            ("unknown time", RecoveryTests.recover(woken, isTimeKnown: false), .expired),
            ("no app", RecoveryTests.recover(woken, hasPolicy: false), .handlerFailed),
        ]
        for (what, (scenario, effects), reason) in cases {
            #expect(effects.wakes.isEmpty && effects.states == ["ended"] && effects.missed == ["one"], "\(what)")
            #expect(scenario.state()?.endReason == reason && scenario.state()?.endDetail != nil, "\(what)")
            #expect(effects.strikes.isEmpty && scenario.coordinator.active.isEmpty, "\(what)")
        }
        #expect(RecoveryTests.recover(woken, after: .milliseconds(44_999)).effects.wakes.count == 1, "just in time")
    }

    @Test("Calls of one app are delivered one after the other, and the longer ring time of a payload is kept")
    func several() throws {
        var first = Scenario(.app)
        first.receive(first.push("one"), PushFacts(ringTime: .seconds(60)))
        first.receive("two")
        let records = ["one", "two"].compactMap { first.call($0)?.journalRecord }
        var scenario = Scenario(.app)
        var effects: [Effect] = []
        for record in records {
            effects += scenario.send(.restored(RecoveryTests.stored(record), scenario.policy))
        }
        effects += scenario.send(.handlersRestored(Scenario.app, [:], alive: [], scenario.policy))
        #expect(effects.wakes.map(\.call.rawValue) == ["one"] && effects.states == ["woken"])
        #expect(effects.wakes.first?.attempt == 2)
        #expect(scenario.send(.pushesFetched(scenario.handler())).handedOver?.first?.attempt == 1)
        scenario.report(ring: true)
        scenario.journalRing()
        #expect(scenario.state() == .ringing(until: scenario.now.advanced(by: .seconds(60))))
    }

    @Test("A call is recovered once, and never one that runs or has ended already")
    func once() throws {
        var (scenario, _) = RecoveryTests.recover(try RecoveryTests.record(.woken))
        let before = scenario.coordinator
        let again = RecoveryTests.stored(try RecoveryTests.record(.ringing))
        #expect(scenario.send(.restored(again, scenario.policy)).isEmpty && scenario.coordinator == before)
    }

    @Test("A call that had ended when it was recorded stays ended, and is not missed a second time")
    func alreadyEnded() throws {
        let (scenario, effects) = RecoveryTests.recover(try RecoveryTests.record(.ended))
        #expect(effects.isEmpty && scenario.state()?.endReason == .localEnded && scenario.coordinator.active.isEmpty)
    }

    @Test("Ended calls are remembered: their pushes' repeats start nothing, and numbers go on above theirs")
    func remembered() throws {
        var record = try RecoveryTests.record(.ended)
        record.number = 41
        var running = try RecoveryTests.record(.woken)
        running.key = CallKey(app: Scenario.app, id: CallID("two"))
        var scenario = Scenario()
        scenario.coordinator.remember([record, running, record])
        #expect(scenario.coordinator.finished.count == 1 && scenario.call("two") == nil)
        #expect(scenario.call()?.record == record)
        #expect(scenario.receive().outcomes == [.duplicate])
        #expect(scenario.receive("three").wakes.count == 1 && scenario.number("three") == 42)
    }

    @Test("Numbers of new calls are above those that the journal has")
    func numbers() throws {
        let record = try RecoveryTests.record(.woken) { $0.number = 7 }
        var (scenario, _) = RecoveryTests.recover(record)
        scenario.receive("two")
        #expect(scenario.number("two") == 8)
        var coordinator = CoordinatorStateMachine(firstCallNumber: 100)
        _ = coordinator.handle(.pushReceived(scenario.push("three"), PushFacts(), scenario.policy), at: scenario.now)
        #expect(coordinator.call(scenario.key("three"))?.number == 100)
    }
}
