import Glibc
import Logging
import PushJournal
import RingwakeCore
import RunLoop
import Testing

@Suite("Building the index of callers")
struct IndexBuildTests {
    private func blocked(_ harness: JournalHarness, _ caller: String) throws -> ListMatch? {
        try CallerIndex(harness.directory.index).lookup(CallerHandle(caller))?.blocked
    }

    @Test("the index has what the lists have, and their generation until they change")
    func built() throws {
        var limits = JournalLimits()
        limits.listStep = 7
        let harness = try JournalHarness(limits: limits)
        #expect(try harness.rebuildIndex() == 0)
        try harness.createList("spam")
        try harness.createList("empty")
        try harness.createList("shops", .identify)
        try harness.change("spam", add: harness.numbers(0..<100, label: "spam"))
        try harness.change("shops", add: harness.numbers(90..<104, label: "a shop"))
        #expect(try harness.rebuildIndex() == 114)
        let index = try CallerIndex(harness.directory.index)
        #expect(index.listNames == ["empty", "shops", "spam"])
        let verdict = try #require(try index.lookup(CallerHandle("+49100000095")))
        #expect(verdict.blocked?.list == "spam")
        #expect(verdict.identified?.label == "a shop")
        #expect(try index.lookup(CallerHandle("+49100000200")) == nil)
        try harness.reopen()
        #expect(harness.contents.listGeneration == index.generation)
        for change in [
            { _ = try harness.change("spam", remove: ["+49100000000"]) }, { _ = try harness.createList("new") },
            { _ = try harness.removeList("shops") },
            { _ = try harness.finishImport(harness.beginImport("spam").id) },
        ] as [() throws -> Void] {
            try change()
            try harness.reopen()
            #expect(harness.contents.listGeneration != index.generation)
            try harness.rebuildIndex()
            #expect(try CallerIndex(harness.directory.index).generation == harness.contents.listGeneration)
        }
        #expect(try blocked(harness, "+49100000001") == nil)
    }

    @Test("an index shows the lists as they were at its turn, and later changes come with the next")
    func turns() throws {
        var limits = JournalLimits()
        limits.listStep = 5
        let harness = try JournalHarness(limits: limits)
        try harness.createList("spam")
        let all = try harness.numbers(0..<400)
        try harness.change("spam", add: all)
        var entries: [Int] = []
        var changed = 0
        let patterns = all.map(\.pattern)
        for round in 0..<3 {
            harness.journal.rebuildIndex(at: harness.directory.index, rules: .none) { result in
                if case .success(let count) = result { entries.append(count) }
            }
            let removed = Array(patterns[round * 100..<round * 100 + 100])
            harness.journal.lists(.change("spam", add: [], remove: removed)) { _ in changed += 1 }
        }
        // Pushes go on meanwhile.
        var pushes = 0
        for number in 0..<50 {
            harness.journal.append(harness.push("\(number)"), payload: [], call: nil) { _ in pushes += 1 }
        }
        harness.run { pushes == 50 }
        harness.run { entries.count == 3 && changed == 3 }
        #expect(entries == [400, 300, 200])
    }

    @Test("indexes that are asked for at once are built one after the other")
    func oneAtATime() throws {
        let harness = try JournalHarness()
        try harness.createList("spam")
        try harness.change("spam", add: harness.numbers(0..<2_000))
        var results: [Result<Int, RingwakeError>] = []
        for _ in 0..<20 {
            harness.journal.rebuildIndex(at: harness.directory.index, rules: .none) { results.append($0) }
        }
        harness.run { results.count == 20 }
        #expect(results.allSatisfy { if case .success(let entries) = $0 { entries == 2_000 } else { false } })
    }

    @Test("an index that cannot be written is said, the old one stays, and the lists go on")
    func failing() throws {
        let harness = try JournalHarness()
        try harness.createList("spam")
        try harness.change("spam", add: harness.numbers(0..<2_000))
        try harness.rebuildIndex()
        let missing = harness.directory.path + "/missing/callers"
        #expect(harness.failure { try harness.rebuildIndex(at: missing) } != nil)
        try harness.change("spam", remove: ["+49100000000"])
        #expect(harness.failure { try harness.rebuildIndex(at: missing) } != nil)
        #expect(try blocked(harness, "+49100000000") != nil)
        try harness.rebuildIndex()
        #expect(try blocked(harness, "+49100000000") == nil)
    }

    @Test("closing does not wait for an index, leaves the old one whole, and leaves nothing else behind")
    func closing() throws {
        var limits = JournalLimits()
        limits.listStep = 3
        let harness = try JournalHarness(limits: limits)
        try harness.createList("spam")
        try harness.change("spam", add: harness.numbers(0..<2_000))
        try harness.rebuildIndex()
        for _ in 0..<5 {
            var result: Result<Int, RingwakeError>?
            harness.journal.rebuildIndex(at: harness.directory.index, rules: .none) { result = $0 }
            for _ in 0..<Int.random(in: 1...5) { harness.loop.runOnce(timeout: .milliseconds(1)) }
            harness.journal.close()
            #expect(result != nil)
            if case .failure(let error) = result { #expect(error.code == .failed) }
            try harness.reopen()
        }
        #expect(try blocked(harness, "+49100000007") != nil)
        harness.run { files(in: harness.directory.path).filter { $0.hasSuffix(".tmp") }.isEmpty }
    }

    @Test("what a killed process has left of a build is removed by the next one, and nothing else")
    func leftovers() throws {
        let harness = try JournalHarness()
        let names = [".callers.12.ab.tmp", ".callers2.tmp", "callers.tmp", ".callers.x"]
        for name in names { close(open("\(harness.directory.path)/\(name)", O_CREAT | O_WRONLY, 0o600)) }
        defer { for name in names { unlink("\(harness.directory.path)/\(name)") } }
        try harness.rebuildIndex()
        let found = files(in: harness.directory.path)
        #expect(names.filter(found.contains) == Array(names.dropFirst()))
    }

    private func files(in directory: String) -> [String] {
        guard let stream = opendir(directory) else { return [] }
        defer { closedir(stream) }
        var names: [String] = []
        while let entry = readdir(stream) {
            names.append(withUnsafePointer(to: &entry.pointee.d_name.0) { String(cString: $0) })
        }
        return names
    }

    @Test("a long build is no disk that does not answer")
    func patience() throws {
        var limits = JournalLimits()
        limits.maximumSilence = .milliseconds(1)
        limits.listStep = 1
        let harness = try JournalHarness(limits: limits)
        try harness.createList("spam")
        try harness.change("spam", add: harness.numbers(0..<1_000))
        try harness.rebuildIndex()
        #expect(harness.journal.health == .working)
        #expect(harness.log.messages(.error).isEmpty)
    }
}
