import PushJournal
import RingwakeCore
import RunLoop
import Testing

@Suite("Records of calls")
struct CallRecordTests {
    @Test("every field of a record comes back, in this boot exactly")
    func roundTrip() throws {
        let harness = try JournalHarness()
        var random = SystemRandomNumberGenerator()
        var expected: [CallRecord] = []
        for number in 1...300 {
            let record = randomRecord(Int64(number), harness, &random)
            expected.insert(record, at: 0)
            harness.journal.write(record, .withNext)
        }
        // What has neither rung nor ended comes into the journal with its push only.
        expected.removeAll { !$0.hasRung && $0.state != .ended }
        try #require(expected.count > 100)
        #expect(try harness.calls(CallQuery(limit: 500)).map(\.record) == expected)
        try harness.reopen()
        #expect(try harness.calls(CallQuery(limit: 500)).map(\.record) == expected)
        #expect(try harness.calls(CallQuery(missedOnly: true, limit: 500)).map(\.record) == expected.filter(\.isMissed))
        #expect(harness.contents.open.map(\.record) == expected.reversed().filter { $0.state != .ended })
        #expect(harness.contents.nextCallNumber == (expected.map(\.number).max() ?? 0) + 1)
    }

    private func randomRecord(
        _ number: Int64, _ harness: JournalHarness, _ random: inout SystemRandomNumberGenerator
    ) -> CallRecord {
        var record = harness.call(number, "call-\(number)", app: Bool.random() ? .phone : .door)
        record.provenance = Provenance(
            sender: record.provenance.sender, door: .apns(Bool.random() ? .production : .development, .voip(of: .phone))
        )
        record.state = CallStateMachine.State.Name.allCases.randomElement(using: &random) ?? .ended
        record.reason = Bool.random() ? CallEndReason.allCases.randomElement(using: &random) : nil
        record.detail = Bool.random() ? "detail" : nil
        record.update = CallUpdate(
            caller: Bool.random() ? "sip:a@b" : nil, callerName: Bool.random() ? "A" : nil,
            hasVideo: [true, false, nil].randomElement(using: &random) ?? nil)
        record.update.identifiedAs = Bool.random() ? "a pizzeria" : nil
        record.restriction = Bool.random() ? Restriction.Kind.allCases.randomElement(using: &random) : nil
        record.attempt = .random(in: 0...5)
        record.ringBefore = BootInstant(nanoseconds: .random(in: .min ... .max))
        if Bool.random() { record.ringBefore = BootInstant(nanoseconds: .max) }
        record.isOneAttempt = Bool.random()
        record.ringTime = .nanoseconds(Int64.random(in: 0...(.max)))
        var instant = record.receivedAt
        for stage in TimelineEntry.Stage.allCases where stage != .received && Bool.random() {
            instant = instant.advanced(by: .nanoseconds(.random(in: 0...1_000_000)))
            record.timeline.append(TimelineEntry(stage, at: instant))
        }
        // Further from the arrival than the clock's range cannot be kept to the nanosecond, and never comes.
        if record.ringBefore < record.receivedAt.advanced(by: .nanoseconds(.min / 2)) {
            record.ringBefore = record.receivedAt
        }
        return record
    }

    @Test("the newest record is written, however urgent the others were")
    func newestWins() throws {
        let harness = try JournalHarness()
        let call = harness.call(1, "A")
        let reported = call.entering(.reported, .reported, at: harness.clock.boot)
        let ringing = reported.entering(.ringing, .rang, at: harness.clock.boot)
        let answering = ringing.entering(.answering, .answered, at: harness.clock.boot)
        var verdicts = 0
        harness.journal.append(harness.push("A"), payload: [], call: call) { _ in verdicts += 1 }
        harness.journal.write(reported, .withNext)
        harness.journal.appendRing(ringing) { _ in verdicts += 1 }
        harness.run { verdicts == 2 }
        #expect(try harness.records() == [ringing], "an older record is not written over a ring")
        harness.journal.write(ringing, .now)
        harness.journal.write(answering, .withNext)
        #expect(try harness.records() == [answering])
        try harness.reopen()
        #expect(try harness.records() == [answering])
    }

    @Test("a record that waits for the next commit makes none itself, and is written with the next or at the end")
    func withNext() throws {
        let harness = try JournalHarness()
        let call = harness.call(1, "A")
        _ = try harness.append(harness.push("A"), call: call)
        let commits = harness.journal.statistics.commits
        let reported = call.entering(.reported, .reported, at: harness.clock.boot)
        harness.journal.write(reported, .withNext)
        harness.loop.runOnce(timeout: .milliseconds(30))
        #expect(harness.journal.statistics.commits == commits)
        _ = try harness.append(harness.push("B"))
        #expect(harness.journal.statistics.commits == commits + 1)
        #expect(try harness.records() == [reported])
        let ended = reported.ending(.cancelled, at: harness.clock.boot)
        harness.journal.write(ended, .withNext)
        try harness.reopen()
        #expect(try harness.records() == [ended])
    }

    @Test("an urgent record makes a commit")
    func urgent() throws {
        let harness = try JournalHarness()
        let call = harness.call(1, "A")
        _ = try harness.append(harness.push("A"), call: call)
        let commits = harness.journal.statistics.commits
        harness.journal.write(call.ending(.declined, at: harness.clock.boot), .now)
        harness.run { harness.journal.statistics.commits == commits + 1 }
    }

    @Test("a ring is recorded also when the push of its call is not in the journal; a taken id is refused")
    func ring() throws {
        let harness = try JournalHarness()
        let ringing = harness.call(1, "A").entering(.ringing, .rang, at: harness.clock.boot)
        #expect(try harness.appendRing(ringing) == .recorded)
        #expect(try harness.appendRing(ringing) == .recorded)
        let other = harness.call(2, "A").entering(.ringing, .rang, at: harness.clock.boot)
        #expect(try harness.appendRing(other) == .callKnown)
        harness.journal.write(other.ending(.failed, at: harness.clock.boot), .now)
        #expect(try harness.records() == [ringing])
        #expect(harness.journal.statistics.calls == 1)
        try harness.reopen()
        #expect(harness.contents.open == [StoredCall(record: ringing, payload: [], isTimeKnown: true)])
    }

    @Test("a call comes into the journal with its push, when it rings or when it ends; not before")
    func entersWithPush() throws {
        let harness = try JournalHarness()
        let call = harness.call(1, "A")
        harness.journal.write(call.entering(.reported, .reported, at: harness.clock.boot), .now)
        #expect(try harness.records() == [])
        harness.journal.write(call.ending(.cancelled, at: harness.clock.boot), .now)
        #expect(try harness.records().map(\.state) == [.ended])
    }

    @Test("the payload goes when the call ends, and does not come back")
    func payloadGoes() throws {
        let harness = try JournalHarness()
        let call = harness.call(1, "A")
        let secret = Array("a payload that nobody needs any more".utf8)
        _ = try harness.append(harness.push("A"), payload: secret, call: call)
        harness.journal.write(call.ending(.cancelled, at: harness.clock.boot), .now)
        _ = try harness.append(harness.push("B", call: "A"), payload: secret, call: call)
        harness.journal.close()
        #expect(try StoreProbe(harness.directory.store).number("SELECT count(*) FROM payload") == 0)
    }

    @Test("calls are found by app, by id and page by page")
    func queries() throws {
        let harness = try JournalHarness()
        for number in 1...9 {
            let app: AppID = number < 5 ? .phone : .door
            let call = harness.call(Int64(number), "call-\(number % 5)", app: app)
            _ = try harness.append(harness.push("\(number)", app: app), call: call)
        }
        func numbers(_ query: CallQuery) throws -> [Int64] { try harness.calls(query).map(\.record.number) }
        #expect(try numbers(CallQuery(app: .phone)) == [4, 3, 2, 1])
        #expect(try numbers(CallQuery(id: CallID("call-3"))) == [8, 3])
        #expect(try numbers(CallQuery(app: .door, id: CallID("call-3"))) == [8])
        #expect(try numbers(CallQuery(limit: 2, before: 5)) == [4, 3])
        #expect(try numbers(CallQuery(limit: 0)) == [])
        #expect(try numbers(CallQuery(limit: -5)) == [])
        #expect(try harness.pushes(PushQuery(app: .door, limit: 2)).map(\.push.pushID) == ["9", "8"])
    }
}
