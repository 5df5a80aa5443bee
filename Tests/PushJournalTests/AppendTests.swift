import PushJournal
import RingwakeCore
import Testing

@Suite("Appending pushes")
struct AppendTests {
    @Test("a push and its call are there after the journal was opened again, with the payload")
    func survives() throws {
        let harness = try JournalHarness()
        let push = harness.push("A1")
        let call = harness.call(1, "A1")
        #expect(try harness.append(push, payload: [7, 8], call: call) == .new)
        try harness.reopen()
        #expect(harness.contents.open == [StoredCall(record: call, payload: [7, 8], isTimeKnown: true)])
        #expect(harness.contents.nextCallNumber == 2)
        #expect(harness.contents.newestWallClock == harness.clock.wall)
        let pushes = try harness.pushes()
        #expect(pushes.map(\.push) == [push])
        #expect(pushes.map(\.receivedWallClock) == [harness.clock.wall])
        #expect(pushes.map(\.call?.record) == [call])
    }

    @Test("the same push is repeated, whatever the case of its id; another sender's, app's or door's is new")
    func repeated() throws {
        let harness = try JournalHarness()
        #expect(try harness.append(harness.push("ab-1")) == .new)
        #expect(try harness.append(harness.push("AB-1")) == .repeated)
        #expect(try harness.append(harness.push("ab-1", sender: "OTHER")) == .new)
        #expect(try harness.append(harness.push("ab-1", app: .door)) == .new)
        let push = harness.push("ab-1")
        let sandbox = PushRecord(
            pushID: push.pushID, app: push.app,
            provenance: Provenance(sender: push.provenance.sender, door: .apns(.development, .voip(of: push.app))),
            priority: push.priority, collapseID: nil, receivedAt: push.receivedAt, call: push.call, outcome: .started)
        #expect(try harness.append(sandbox) == .new)
        try harness.reopen()
        #expect(try harness.append(harness.push("Ab-1")) == .repeated)
        #expect(try harness.pushes(PushQuery(pushID: "AB-1")).map(\.push.pushID) == ["ab-1", "ab-1", "ab-1", "ab-1"])
    }

    @Test("the same push twice in one transaction is new once")
    func repeatedInOneBatch() throws {
        let harness = try JournalHarness()
        var verdicts: [PushVerdict] = []
        for _ in 0..<3 {
            harness.journal.append(harness.push("A"), payload: [], call: harness.call(1, "A")) {
                if case .success(let verdict) = $0 { verdicts.append(verdict) }
            }
        }
        harness.run { verdicts.count == 3 }
        #expect(verdicts == [.new, .repeated, .repeated])
        #expect(harness.journal.statistics.pushes == 1)
        #expect(harness.journal.statistics.calls == 1)
    }

    @Test("the end of a call whose place a push takes is in the commit of the push, and not without it")
    func replaced() throws {
        let harness = try JournalHarness()
        _ = try harness.append(harness.push("A"), call: harness.call(1, "A"))
        let end = harness.call(1, "A").ending(.replaced, at: harness.clock.boot)
        let later = harness.call(2, "B")
        let commits = harness.journal.statistics.commits
        let payloads = [CallPayload(push: 0, bytes: [7])]
        let verdict = try harness.wait {
            harness.journal.append(
                harness.push("B"), payloads: payloads, call: later, replaced: end, completion: $0)
        }
        #expect(verdict == .new)
        #expect(harness.journal.statistics.commits == commits + 1)
        try harness.reopen()
        #expect(try harness.records().map(\.reason) == [nil, .replaced])
        #expect(harness.contents.open.map(\.record.number) == [2])
    }

    @Test("the end of a replaced call is stored also when the push repeats a call that only the journal remembers")
    func replacedByRepeat() throws {
        let harness = try JournalHarness()
        _ = try harness.append(harness.push("A"), call: harness.call(1, "A"))
        _ = try harness.append(harness.push("B", call: "ended"))
        let verdict = try harness.wait {
            harness.journal.append(
                harness.push("B"), payloads: [], call: harness.call(2, "B"),
                replaced: harness.call(1, "A").ending(.replaced, at: harness.clock.boot), completion: $0)
        }
        #expect(verdict == .callKnown)
        #expect(try harness.records().map(\.reason) == [.replaced])
    }

    @Test("a call whose id belongs to another number is not written, and the push says so")
    func callKnown() throws {
        let harness = try JournalHarness()
        let first = harness.call(1, "call")
        _ = try harness.append(harness.push("A", call: "call"), call: first)
        #expect(try harness.append(harness.push("B", call: "call"), call: harness.call(2, "call")) == .callKnown)
        #expect(try harness.append(harness.push("C", call: "call"), call: harness.call(1, "call")) == .new)
        #expect(try harness.records() == [first])
        #expect(try harness.pushes().map(\.push.pushID) == ["C", "B", "A"])
        // Another app's call of that id is another call.
        #expect(
            try harness.append(
                harness.push("D", call: "call", app: .door), call: harness.call(3, "call", app: .door)) == .new)
    }

    @Test("a repeated push brings its call along if the journal lost that")
    func repeatedBringsCall() throws {
        let harness = try JournalHarness()
        #expect(try harness.append(harness.push("A")) == .new)
        let call = harness.call(4, "A")
        #expect(try harness.append(harness.push("A"), payload: [9], call: call) == .repeated)
        try harness.reopen()
        #expect(harness.contents.open.map(\.record) == [call])
        #expect(harness.contents.open.map(\.payload) == [[9]])
    }

    @Test("texts and payloads come back to the last byte, NUL and all")
    func strangeTexts() throws {
        let harness = try JournalHarness()
        let texts = [
            "\0", "a\0b", "a\0c", "\u{FFFD}", "é", "e\u{301}", "\u{10FFFF}\u{1}", "'; DROP TABLE push; --", "",
        ]
        for (index, text) in texts.enumerated() {
            var call = harness.call(Int64(index + 1), text)
            call.pushID = text
            call.detail = text
            call.update = CallUpdate(caller: text, callerName: text, hasVideo: nil)
            var push = PushRecord(
                pushID: text, app: .phone, provenance: Provenance(sender: text, door: .apns(.development, Topic(text))),
                priority: .low,
                collapseID: text, receivedAt: harness.clock.boot, call: CallID(text), outcome: .updated)
            push.receivedWallClock = harness.clock.wall
            let payload = Array(0...255) + Array(text.utf8)
            #expect(try harness.append(push, payload: payload, call: call) == .new)
            #expect(try harness.pushes(PushQuery(pushID: text)).map(\.push) == [push])
            #expect(try harness.records().first == call)
        }
        try harness.reopen()
        #expect(harness.contents.open.map(\.payload) == texts.map { Array(0...255) + Array($0.utf8) })
        #expect(harness.contents.open.map(\.record.detail) == texts)
    }

    @Test("what is handed in in one turn of the loop is one commit")
    func groupCommit() throws {
        let harness = try JournalHarness()
        let before = harness.journal.statistics.commits
        var done = 0
        for number in 0..<200 {
            harness.journal.append(harness.push("p\(number)"), payload: [], call: nil) { _ in done += 1 }
        }
        harness.run { done == 200 }
        #expect(harness.journal.statistics.commits == before + 1)
        #expect(harness.journal.statistics.pushes == 200)
    }

    @Test("thousands of pushes are all there, in order, page by page")
    func thousands() throws {
        let harness = try JournalHarness()
        var done = 0
        for number in 0..<3_000 {
            harness.journal.append(
                harness.push("p\(number)"), payload: [], call: harness.call(Int64(number + 1), "p\(number)")
            ) {
                if case .success(.new) = $0 { done += 1 }
            }
        }
        harness.run { done == 3_000 }
        try harness.reopen()
        #expect(harness.contents.open.count == 3_000)
        #expect(harness.journal.statistics.pushes == 3_000)
        var names: [String] = []
        var before: Int64?
        repeat {
            let page = try harness.pushes(PushQuery(limit: 700, before: before))
            names += page.map(\.push.pushID)
            before = page.last?.sequence
        } while before != nil
        #expect(names == (0..<3_000).reversed().map { "p\($0)" })
    }

    @Test("more than may wait is refused at once, and the room comes back")
    func bounded() throws {
        var limits = JournalLimits()
        limits.maximumWaiting = 3
        limits.maximumWaitingBytes = 100
        let harness = try JournalHarness(limits: limits)
        var results: [Result<PushVerdict, RingwakeError>] = []
        for name in ["a", "b", "c", "d"] {
            harness.journal.append(harness.push(name), payload: [], call: nil) { results.append($0) }
        }
        #expect(!harness.journal.hasRoom)
        #expect(results.isEmpty, "a completion is never called from within")
        harness.run { results.count == 4 }
        #expect(results.compactMap { try? $0.get() } == [.new, .new, .new])
        #expect(results.contains { if case .failure(let error) = $0 { error.code == .limitReached } else { false } })
        #expect(harness.journal.hasRoom)
        harness.journal.append(harness.push("e"), payload: [UInt8](repeating: 0, count: 100), call: nil) { _ in }
        #expect(!harness.journal.hasRoom, "payloads count")
        _ = try harness.pushes()
        #expect(harness.journal.hasRoom)
    }

    @Test("when a push became durable is known, also after the next start")
    func journaledAt() throws {
        let harness = try JournalHarness()
        _ = try harness.append(harness.push("A"))
        harness.clock.advance(by: .milliseconds(5))
        _ = try harness.append(
            PushRecord(
                pushID: "B", app: .phone,
                provenance: Provenance(sender: "TEAM", door: .apns(.production, .voip(of: .phone))),
                priority: .immediate, collapseID: nil, receivedAt: harness.clock.boot.advanced(by: .milliseconds(-3)),
                call: CallID("B"), outcome: .started))
        let instants = [harness.clock.boot, harness.clock.boot.advanced(by: .milliseconds(-5))]
        #expect(try harness.pushes().map(\.journaledAt) == instants)
        try harness.reopen()
        #expect(try harness.pushes().map(\.journaledAt) == instants)
    }
}
