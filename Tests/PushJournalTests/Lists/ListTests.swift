import Logging
import PushJournal
import RingwakeCore
import RunLoop
import Testing

@Suite("Lists of callers")
struct ListTests {
    private func entry(_ pattern: String, _ label: String? = nil) throws -> CallerEntry {
        CallerEntry(pattern: try CallerPattern(pattern), label: label)
    }

    @Test("a list is made once, of one kind, and is there at the next start")
    func created() throws {
        let harness = try JournalHarness()
        #expect(harness.contents.lists.isEmpty)
        #expect(harness.contents.listGeneration == 0)
        let mine = try harness.createList("mine")
        #expect(
            mine
                == CallerListRecord(
                    name: "mine", kind: .block, source: nil, etag: nil, updatedWallClock: harness.clock.wall, entries: 0
                ))
        let shops = try harness.createList("shops", .identify)
        harness.clock.advance(by: .seconds(1))
        #expect(try harness.createList("mine", .block) == mine)
        #expect(try harness.createList("shops") == shops)
        #expect(harness.failure { try harness.createList("mine", .identify) }?.code == .conflict)
        #expect(try harness.lists() == [mine, shops])
        try harness.reopen()
        #expect(harness.contents.lists == [mine, shops])
        #expect(harness.contents.listGeneration != 0)
    }

    @Test("names and numbers of lists are bounded")
    func bounded() throws {
        var limits = JournalLimits()
        limits.maximumLists = 2
        let harness = try JournalHarness(limits: limits)
        for name in ["", String(repeating: "n", count: 65)] {
            #expect(harness.failure { try harness.createList(name) }?.code == .invalidRequest)
            #expect(harness.failure { try harness.beginImport(name) }?.code == .invalidRequest)
        }
        try harness.createList(String(repeating: "n", count: 64))
        let other = try harness.beginImport("b")
        try harness.createList("a")
        #expect(harness.failure { try harness.createList("c") }?.code == .limitReached)
        #expect(harness.failure { try harness.beginImport("c") }?.code == .limitReached)
        #expect(harness.failure { try harness.finishImport(other.id) }?.code == .limitReached)
        try harness.removeList("a")
        try harness.finishImport(other.id)
    }

    @Test("entries are added, get another label, and go; all of one change or none of it")
    func changed() throws {
        let harness = try JournalHarness()
        #expect(harness.failure { try harness.change("mine") }?.code == .notFound)
        try harness.createList("mine")
        let first = try harness.change(
            "mine",
            add: [
                entry("+49900*", "Premium"), entry("*@spam.example"), entry("anonymous"), entry("+4930123", "A"),
                entry("+4930123", "B"),
            ])
        #expect(first.entries == 4)
        #expect(try harness.patterns("mine") == ["*@spam.example", "+4930123", "+49900*", "anonymous"])
        #expect(try harness.entries("mine")[1] == entry("+4930123", "B"))
        let second = try harness.change(
            "mine", add: [entry("+4930123", "C"), entry("+491", "D"), entry("+492")],
            remove: ["+49900*", "+49 900 *", "+4977", "+492", "+4930123"])
        #expect(second.entries == 5)
        #expect(
            try harness.entries("mine") == [
                entry("*@spam.example"), entry("+491", "D"), entry("+492"), entry("+4930123", "C"), entry("anonymous"),
            ])
        #expect(try harness.lists().map(\.entries) == [5])
        try harness.reopen()
        #expect(harness.contents.lists.map(\.entries) == [5])
        let page = try harness.entries("mine", after: "+491", limit: 2)
        #expect(page.map(\.pattern.description) == ["+492", "+4930123"])
        #expect(try harness.entries("mine", limit: -1).isEmpty)
        #expect(harness.failure { try harness.entries("other") }?.code == .notFound)
    }

    @Test("a list that is removed is gone at once, and its entries soon")
    func removed() throws {
        var limits = JournalLimits()
        limits.listStep = 16
        let harness = try JournalHarness(limits: limits)
        try harness.createList("a")
        try harness.createList("b")
        try harness.change("a", add: harness.numbers(0..<100))
        try harness.change("b", add: harness.numbers(0..<10))
        #expect(try harness.removeList("a").entries == 100)
        #expect(harness.failure { try harness.removeList("a") }?.code == .notFound)
        #expect(harness.failure { try harness.entries("a") }?.code == .notFound)
        #expect(try harness.lists().map(\.name) == ["b"])
        try expectEntries(harness, 10)
        #expect(try harness.patterns("b").count == 10)
    }

    /// Waits until the store has so many entries, of whatever list.
    private func expectEntries(_ harness: JournalHarness, _ count: Int64) throws {
        var found: Int64 = -1
        harness.run {
            harness.journal.close()
            found = (try? StoreProbe(harness.directory.store).number("SELECT count(*) FROM list_entry")) ?? -1
            let remains = try? StoreProbe(harness.directory.store).number("SELECT count(*) FROM list_remains")
            try? harness.reopen()
            return found == count && remains == 0
        }
        #expect(found == count)
    }

    @Test("an import takes the place of a list when it is finished, whole, and not before")
    func imported() throws {
        var limits = JournalLimits()
        limits.listStep = 32
        limits.scatteredListStep = 5
        let harness = try JournalHarness(limits: limits)
        try harness.createList("spam", .block)
        try harness.change("spam", add: harness.numbers([1, 2, 5_000]))
        let begun = try harness.beginImport("spam")
        #expect(begun.entries == 0)
        // In any order, with entries that come twice; the last counts.
        let order = (0..<500).map { $0 * 7_919 % 500 }
        try harness.append(harness.numbers(order[..<300], label: "old"), to: begun.id)
        try harness.append([], to: begun.id)
        let more = try harness.append(harness.numbers(order[250...], label: "new"), to: begun.id)
        #expect(more == CallerListImport(id: begun.id, list: "spam", entries: 500))
        #expect(try harness.patterns("spam").count == 3)
        harness.clock.advance(by: .seconds(5))
        let finished = try harness.finishImport(begun.id, etag: "\"x\"", source: "https://spam.example/list")
        #expect(
            finished
                == CallerListRecord(
                    name: "spam", kind: .block, source: "https://spam.example/list", etag: "\"x\"",
                    updatedWallClock: harness.clock.wall, entries: 500))
        #expect(try harness.lists() == [finished])
        let found = try harness.entries("spam")
        #expect(found.map(\.pattern) == (try harness.numbers(0..<500).map(\.pattern)))
        let old = Set(try harness.numbers(order[..<250]).map(\.pattern))
        #expect(found.allSatisfy { ($0.label == "old") == old.contains($0.pattern) })
        #expect(harness.failure { try harness.append([], to: begun.id) }?.code == .notFound)
        #expect(harness.failure { try harness.finishImport(begun.id) }?.code == .notFound)
        try expectEntries(harness, 500)
        #expect(try harness.lists() == [finished])
        // What was changed by hand is not what the source has any more.
        #expect(try harness.change("spam", remove: ["+49100000000"]).etag == nil)
    }

    @Test("an import that is aborted, superseded, or not finished at a start leaves the list as it was")
    func notFinished() throws {
        let harness = try JournalHarness()
        try harness.createList("spam", .block)
        try harness.change("spam", add: harness.numbers([1]))
        let generation = harness.contents.listGeneration
        let first = try harness.beginImport("spam")
        try harness.append(harness.numbers(0..<50), to: first.id)
        let second = try harness.beginImport("spam")
        #expect(harness.failure { try harness.append([], to: first.id) }?.code == .notFound)
        try harness.append(harness.numbers(0..<60), to: second.id)
        #expect(try harness.abortImport(second.id).entries == 60)
        #expect(harness.failure { try harness.abortImport(second.id) }?.code == .notFound)
        let third = try harness.beginImport("spam")
        try harness.append(harness.numbers(0..<70), to: third.id)
        #expect(harness.failure { try harness.beginImport("spam", .identify) }?.code == .conflict)
        try expectEntries(harness, 1)
        #expect(try harness.patterns("spam") == ["+49100000001"])
        #expect(harness.failure { try harness.finishImport(third.id) }?.code == .notFound)
        #expect(harness.contents.listGeneration != generation)
    }

    @Test("as many imports go on as may; one that stands still makes room")
    func manyImports() throws {
        var limits = JournalLimits()
        limits.maximumImports = 2
        let harness = try JournalHarness(limits: limits)
        let first = try harness.beginImport("a")
        harness.clock.advance(by: .seconds(400))
        let second = try harness.beginImport("b", .identify)
        #expect(harness.failure { try harness.beginImport("c") }?.code == .limitReached)
        harness.clock.advance(by: .seconds(300))
        let third = try harness.beginImport("c")
        #expect(harness.failure { try harness.append([], to: first.id) }?.code == .notFound)
        for id in [second.id, third.id] { try harness.finishImport(id) }
        #expect(try harness.lists().map(\.kind) == [.identify, .block])
    }

    @Test("the entries of all lists are bounded, those that an import replaces not counted")
    func manyEntries() throws {
        var limits = JournalLimits()
        limits.maximumListEntries = 100
        limits.maximumListChange = 60
        limits.maximumImportPiece = 70
        let harness = try JournalHarness(limits: limits)
        try harness.createList("a")
        try harness.createList("b")
        try harness.change("a", add: harness.numbers(0..<60))
        #expect(harness.failure { try harness.change("b", add: harness.numbers(0..<41)) }?.code == .limitReached)
        #expect(harness.failure { try harness.change("a", add: harness.numbers(0..<61)) }?.code == .limitReached)
        try harness.change("b", add: harness.numbers(0..<40))
        try harness.change("b", remove: ["+49100000000"])
        let a = try harness.beginImport("a")
        try harness.append(harness.numbers(0..<60), to: a.id)
        #expect(harness.failure { try harness.append(harness.numbers(60..<64), to: a.id) }?.code == .limitReached)
        #expect(harness.failure { try harness.append(harness.numbers(0..<71), to: a.id) }?.code == .limitReached)
        #expect(try harness.append(harness.numbers(60..<61), to: a.id).entries == 61)
        #expect(try harness.finishImport(a.id).entries == 61)
        try harness.change("a", remove: (0..<31).map { "+49\(100_000_000 + $0)" })
        let (c, d) = (try harness.beginImport("c"), try harness.beginImport("d"))
        try harness.append(harness.numbers(0..<20), to: c.id)
        #expect(
            harness.failure { try harness.append(harness.numbers(0..<20), to: d.id) }?.code == .limitReached,
            "imports in progress count together")
    }

    @Test("requests that wait are bounded, and all are answered in the order of asking")
    func manyRequests() throws {
        var limits = JournalLimits()
        limits.maximumWaitingLists = 5
        limits.maximumWaitingListEntries = 20
        let harness = try JournalHarness(limits: limits)
        var answers: [String] = []
        for number in 0..<7 {
            harness.journal.lists(.create("\(number)", nil)) { result in
                answers.append("\(number)" + (result.isSuccess ? "" : " refused"))
            }
        }
        harness.run { answers.count == 7 }
        // A refusal waits for nothing.
        #expect(answers == ["5 refused", "6 refused", "0", "1", "2", "3", "4"])
        let entries = try harness.numbers(0..<15)
        answers = []
        for number in 0..<2 {
            harness.journal.lists(.change("\(number)", add: entries, remove: [])) { result in
                answers.append("\(number)" + (result.isSuccess ? "" : " refused"))
            }
        }
        harness.run { answers.count == 2 }
        #expect(answers == ["1 refused", "0"])
    }

    @Test("pushes and lists take turns: a push waits for one step, and many pushes do not keep a list waiting")
    func turns() throws {
        var limits = JournalLimits()
        limits.listStep = 1
        limits.maximumBatch = 2
        let harness = try JournalHarness(limits: limits)
        let begun = try harness.beginImport("spam")
        var order: [String] = []
        harness.journal.lists(.append(try harness.numbers(0..<200), to: begun.id)) { _ in order.append("entries") }
        harness.journal.append(harness.push("A"), payload: [], call: nil) { _ in order.append("A") }
        harness.run { order.count == 2 }
        #expect(order == ["A", "entries"])
        order = []
        for number in 0..<10 {
            harness.journal.append(harness.push("\(number)"), payload: [], call: nil) { _ in order.append("\(number)") }
        }
        harness.journal.lists(.append(try harness.numbers(200..<202), to: begun.id)) { _ in order.append("entries") }
        harness.run { order.count == 11 }
        #expect(order == ["0", "1", "2", "3", "entries", "4", "5", "6", "7", "8", "9"])
    }

    @Test("what waits when the journal closes is told so")
    func closed() throws {
        let harness = try JournalHarness()
        var codes: [RingwakeError.Code?] = []
        func note<Value>(_ result: Result<Value, RingwakeError>) {
            if case .failure(let error) = result { codes.append(error.code) } else { codes.append(nil) }
        }
        harness.journal.lists(.create("a", nil)) { note($0) }
        harness.journal.rebuildIndex(at: harness.directory.index, rules: .none) { note($0) }
        harness.journal.close()
        harness.journal.lists(.all) { note($0) }
        harness.run { codes.count == 3 }
        #expect(codes.last == .failed)
        #expect(codes[1] == .failed)
        try harness.reopen()
    }
}

extension Result {
    fileprivate var isSuccess: Bool {
        if case .success = self { true } else { false }
    }
}
