import FoundationEssentials
import RingwakeCore
import Testing

@Suite("A call's row is all that there is to know of it")
struct SnapshotTests {
    /// The record, written as the journal writes it and read again.
    static func written(_ record: CallRecord) throws -> CallRecord {
        let data = Data(CallSnapshot.json(of: record))
        let caller = try CallerSnapshot.json(of: record.update).map {
            try JSONDecoder().decode(CallerSnapshot.self, from: Data($0))
        }
        return try #require(
            try JSONDecoder().decode(CallSnapshot.self, from: data).record(
                number: record.number, key: record.key, sender: record.provenance.sender, state: record.state,
                receivedAt: record.receivedAt, receivedWallClock: record.receivedWallClock, caller: caller))
    }

    /// A coordinator with a call in each state, of two apps; of `answering` and `connected` only one, for no two calls
    /// are on the line at a time.
    static func full(_ onTheLine: CallStateMachine.State.Name = .connected) -> Scenario {
        var scenario = Scenario()
        // The held one last: else it is gone on with when the one that ends does.
        let last: [CallStateMachine.State.Name] = [.held, onTheLine]
        let others = CallStateMachineTests.names.filter {
            ![.queued, .held, .answering, .connected].contains($0)
        }
        for name in others + last {
            scenario.bring(name.rawValue, to: name)
        }
        scenario.send(.muteRequested(scenario.key("connected"), true))
        scenario.send(.digitsRequested(scenario.key("connected"), "1#"))
        scenario.exit(scenario.handler("held"), .signalled(9))
        scenario.send(.answerRequested(scenario.key("ringing")))
        scenario.send(.handlerConnected(Scenario.app, nil, pid: 12, scenario.policy))
        scenario.send(.cellularChanged(isActive: true))
        scenario.policy.instances = .app
        for id in ["one", "two"] {
            let push = scenario.push(
                id, app: Scenario.otherApp, expiration: .at(scenario.now.advanced(by: .seconds(9))),
                collapseID: "line 1")
            scenario.receive(push, PushFacts(update: CallUpdate(caller: "sip:a@example.org", hasVideo: false)))
        }
        scenario.send(.ringNotJournaled(scenario.key("confirmed"), number: scenario.number("confirmed")))
        return scenario
    }

    @Test(
        "Written as JSON and read again it is the same call, in each state",
        arguments: [CallStateMachine.State.Name.answering, .connected])
    func roundTrip(onTheLine: CallStateMachine.State.Name) throws {
        let scenario = SnapshotTests.full(onTheLine)
        let calls = Array(scenario.coordinator.active.values) + scenario.coordinator.finished
        let expected = Set(CallStateMachineTests.names).subtracting([.answering, .connected])
        #expect(Set(calls.map(\.machine.state.name)) == expected.union([onTheLine]))
        for call in calls {
            let record = call.journalRecord
            let read = try SnapshotTests.written(record)
            #expect(read == record && (record.progress == nil) == call.machine.hasEnded)
            guard !call.machine.hasEnded else { continue }
            #expect(Call(read, call.pushes.payloads, call.policy) == call)
        }
    }

    @Test("The words on the disk stay: a row of today is read by every later version")
    func words() throws {
        var scenario = SnapshotTests.full()
        scenario.receive("more", call: "connected", payload: #"{"caller":"Zoë"}"#)
        let call = try #require(scenario.call("connected"))
        #expect(String(decoding: CallSnapshot.json(of: call.journalRecord), as: UTF8.self) == SnapshotTests.connected)
        var update = call.update
        (update.callerName, update.identifiedAs) = ("Zoë", "Work")
        let caller = try #require(CallerSnapshot.json(of: update))
        #expect(
            String(decoding: caller, as: UTF8.self)
                == #"{"caller":"sip:alice@example.org","caller_name":"Zoë","identified_as":"Work"}"#)
        #expect(CallerSnapshot.json(of: CallUpdate(hasVideo: true)) == nil)
    }

    static let connected = #"""
        {"attempt":1,"environment":"development","topic":"com.example.phone\#
        .voip","one_attempt":false,"progress":{"action_time":10000000000,"claim_starts":0,"claim_time":50000\#
        00000,"connected_time":14400000000000,"ended_in_focus":false,"handler":8,"lease":"taken","muted":fal\#
        se,"pending":[{"action":"mute","by":10000000000},{"action":"dtmf","by":10000000000,"digits":"1#"},{"\#
        action":"hold","by":10000000000}],"pushes":{"fetched":0,"known":[{"id":"connected","outcome":"starte\#
        d"},{"id":"more","outcome":"updated"}],"next":2,"unread":[{"push":1,"received":0}]},"report_time":50\#
        00000000,"ringer":"app","until":14400000000000,"yields":false},"push":"connected","ring_before":4500\#
        0000000,"ring_time":45000000000,"times":{"verified":0,"journaled":0,"woke":0,"reported":0,"rang":0,"\#
        answered":0,"connected":0}}
        """#

    @Test("Numbers that no coordinator writes are refused: nothing is counted on from them")
    func unsound() throws {
        let record = try #require(SnapshotTests.full().call("connected")).journalRecord
        let text = String(decoding: CallSnapshot.json(of: record), as: UTF8.self)
        for (word, number) in [
            ("attempt", "9223372036854775807"), ("action_time", "-1"), ("report_time", "9223372036854775807"),
            ("handler", "18446744073709551615"), ("fetched", "-5"), ("next", "0"), ("ring_time", "-1"),
        ] {
            let changed = text.replacing(try Regex("\"\(word)\":-?[0-9]+"), with: "\"\(word)\":\(number)")
            #expect(changed != text, "\(word)")
            let snapshot = try? JSONDecoder().decode(CallSnapshot.self, from: Data(changed.utf8))
            let read = snapshot?.record(
                number: record.number, key: record.key, sender: record.provenance.sender, state: record.state,
                receivedAt: record.receivedAt, receivedWallClock: nil)
            #expect(read == nil, "\(word)")
        }
    }
}
