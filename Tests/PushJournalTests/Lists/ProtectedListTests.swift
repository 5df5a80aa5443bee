import DataProtection
import FileSystem
import Foundation
import PushJournal
import RingwakeCore
import RunLoop
import Testing

@MainActor @Suite("Protected lists of callers")
struct ProtectedListTests {
    private static let secrets = ["+491701234567", "ada@secret.example", "Ada Secret"]

    private let file: ProtectionFile
    private let rootKey: RootKey

    init() throws {
        rootKey = try RootKey.random()
        file = try ProtectionFile.make(.keyFile("/x"), rootKey)
    }

    /// The keys of an unlocked device, or those that stay when it is locked.
    private func ring(_ file: ProtectionFile? = nil, isLocked: Bool = false) throws -> KeyRing {
        try (file ?? self.file).ring(
            rootKey: rootKey, available: isLocked ? [] : Set(ProtectionClass.withKeys), classes: [.lists: .complete])
    }

    private func entries() throws -> [CallerEntry] {
        try Self.secrets.prefix(2).map { CallerEntry(pattern: try CallerPattern($0), label: "Ada Secret") }
    }

    private func fill(_ harness: JournalHarness) throws {
        try harness.createList("mine")
        try harness.change("mine", add: entries() + harness.numbers(0..<300))
        let begun = try harness.beginImport("names", .identify)
        try harness.append(entries() + harness.numbers(300..<600, label: "a shop"), to: begun.id)
        try harness.finishImport(begun.id)
    }

    private func expectFilled(_ harness: JournalHarness) throws {
        #expect(try harness.lists().map(\.entries) == [302, 302])
        let all = try harness.entries("mine") + harness.entries("names")
        #expect(Set(all) == Set(try entries() + harness.numbers(0..<300) + harness.numbers(300..<600, label: "a shop")))
        #expect(try Set(harness.patterns("mine", page: 7)).count == 302)
    }

    private func find(_ harness: JournalHarness, _ keys: KeyRing) throws -> [ListVerdict?] {
        let index = try CallerIndex(harness.directory.index, RecordVault(keys))
        return try (Self.secrets.prefix(2) + ["+49301"]).map { try index.lookup(CallerHandle($0)) }
    }

    /// The secrets that are in the files of the store, and in the index.
    private func found(_ harness: JournalHarness) throws -> Set<String> {
        var found: Set<String> = []
        for name in try FileSystem.entries(of: harness.directory.path) {
            guard let content = try? FileSystem.read("\(harness.directory.path)/\(name)", maximumSize: 1 << 28) else {
                continue
            }
            for secret in Self.secrets where Data(content).range(of: Data(secret.utf8)) != nil { found.insert(secret) }
        }
        return found
    }

    private func rekey(_ harness: JournalHarness, _ keys: KeyRing) {
        var isDone = false
        harness.journal.onRekeyed = { _ in isDone = true }
        harness.journal.use(keys)
        harness.run { isDone }
    }

    @Test("have neither patterns nor names in the files, and a locked device finds callers without names")
    func hidden() throws {
        let harness = try JournalHarness()
        harness.keys = try ring()
        try harness.reopen()
        try fill(harness)
        try expectFilled(harness)
        #expect(try harness.rebuildIndex() == 604)
        #expect(try found(harness) == [])
        for isLocked in [false, true] {
            let verdicts = try find(harness, ring(isLocked: isLocked))
            #expect(verdicts.prefix(2).allSatisfy { $0?.blocked?.list == "mine" && $0?.identified?.list == "names" })
            #expect(verdicts.prefix(2).allSatisfy { $0?.identified?.label == (isLocked ? nil : "Ada Secret") })
            #expect(verdicts[2] == nil)
        }
        harness.journal.close()
        #expect(try found(harness) == [])
        // The other way round, the same search finds them.
        let plain = try JournalHarness()
        try fill(plain)
        #expect(try found(plain) == Set(Self.secrets))
    }

    @Test("say that they are locked, and change when they are unlocked")
    func locked() throws {
        let harness = try JournalHarness()
        harness.keys = try ring()
        try harness.reopen()
        try fill(harness)
        try harness.rebuildIndex()
        let begun = try harness.beginImport("mine")
        for keys in [
            try ring(isLocked: true), try file.ring(rootKey: nil, available: [], classes: [.lists: .complete]),
        ] {
            harness.journal.use(keys)
            #expect(try harness.lists().map(\.name) == ["mine", "names"])
            for refused in [
                { _ = try harness.entries("mine") }, { _ = try harness.change("mine", remove: [Self.secrets[0]]) },
                { _ = try harness.removeList("mine") }, { _ = try harness.append(entries(), to: begun.id) },
                { _ = try harness.rebuildIndex() },
            ] as [() throws -> Void] {
                let error = try #require(harness.failure(refused))
                #expect(error.code == .locked && error.message.contains("complete"))
            }
        }
        // Without the key for look-ups nobody is found, which is said.
        let keyless = try file.ring(rootKey: nil, available: [], classes: [.lists: .complete])
        #expect(harness.failure { try find(harness, keyless) }?.code == .locked)
        harness.journal.use(try ring())
        try expectFilled(harness)
        try harness.change("mine", add: [CallerEntry(pattern: CallerPattern(Self.secrets[0]), label: "new")])
        #expect(try harness.change("mine", remove: [Self.secrets[1]]).entries == 301)
        #expect(try harness.entries("mine").first { $0.pattern.description == Self.secrets[0] }?.label == "new")
        try harness.append(entries(), to: begun.id)
        #expect(try harness.finishImport(begun.id).entries == 2)
    }

    @Test("are written again when protection begins, with other keys, and when it ends")
    func rekeyed() throws {
        let harness = try JournalHarness()
        try fill(harness)
        try harness.rebuildIndex()
        let plain = try CallerIndex(harness.directory.index)
        #expect(plain.hasPresentKeys)
        var changed = file
        try changed.addGeneration(of: .complete, rootKey: rootKey)
        for keys in [try ring(), try ring(changed)] {
            rekey(harness, keys)
            #expect(try !CallerIndex(harness.directory.index, RecordVault(keys)).hasPresentKeys)
            try harness.rebuildIndex()
            #expect(try CallerIndex(harness.directory.index, RecordVault(keys)).hasPresentKeys)
            try expectFilled(harness)
            #expect(try found(harness) == [])
        }
        changed.removeGenerations(of: .complete, before: 2)
        harness.keys = try ring(changed)
        try harness.reopen()
        try expectFilled(harness)
        #expect(try harness.change("mine", add: entries()).entries == 302)
        rekey(harness, KeyRing(keys: try ring(changed).keys))
        harness.keys = .off
        try harness.reopen()
        try expectFilled(harness)
        #expect(try harness.patterns("mine", page: 7) == harness.entries("mine").map(\.pattern.description).sorted())
    }

    @Test("leave nothing that SQLite may have left in the unused bytes of a page, when protection begins")
    func remains() throws {
        let harness = try JournalHarness()
        try fill(harness)
        harness.journal.close()
        let path = "\(harness.directory.path)/store.db"
        var store = try FileSystem.read(path, maximumSize: 1 << 28)
        var planted = 0
        for page in stride(from: 4_096, to: store.count, by: 4_096) where [10, 13].contains(store[page]) {
            let begin = 8 + 2 * (Int(store[page + 3]) << 8 | Int(store[page + 4]))
            let end = Int(store[page + 5]) << 8 | Int(store[page + 6])
            guard begin + 64 < end else { continue }
            store.replaceSubrange((page + begin + 16)..<(page + begin + 26), with: Array("Ada Secret".utf8))
            planted += 1
        }
        #expect(planted > 3)
        let file = try FileHandle(forWritingTo: URL(filePath: path))
        try file.write(contentsOf: Data(store))
        try file.close()
        try harness.reopen()
        rekey(harness, try ring())
        #expect(try found(harness) == [])
        try expectFilled(harness)
    }

    // What SQLite moves between pages depends on the keys, which are random, and on what is done at the same time.
    @Test(
        "leave nothing of many entries in pages that are still used, when protection begins", arguments: 0..<4)
    func manyRekeyed(_: Int) throws {
        let harness = try JournalHarness()
        try harness.createList("mine")
        for part in 0..<4 {
            try harness.change("mine", add: harness.numbers((part * 1_000)..<((part + 1) * 1_000), label: "Ada Secret"))
        }
        rekey(harness, try ring())
        #expect(try harness.lists().map(\.entries) == [4_000])
        let names = try FileSystem.entries(of: harness.directory.path)
        for name in names {
            guard let content = try? FileSystem.read("\(harness.directory.path)/\(name)", maximumSize: 1 << 28) else {
                continue
            }
            for secret in ["Ada Secret", "+49100"] {
                #expect(Data(content).range(of: Data(secret.utf8)) == nil, "\(name): \(secret)")
            }
        }
    }

    @Test("wait with a change until all of their entries have the present keys")
    func changedMeanwhile() throws {
        let harness = try JournalHarness()
        try fill(harness)
        harness.journal.use(try ring())
        // The same pattern under a hash and as it is would be two entries.
        #expect(try harness.change("mine", add: entries() + harness.numbers(0..<300)).entries == 302)
        #expect(try harness.change("mine", remove: [Self.secrets[0]]).entries == 301)
        #expect(try harness.entries("mine").count == 301)
    }

    @Test("are locked while an index is built, and the next one is built all the same")
    func lockedBuild() throws {
        var limits = JournalLimits()
        limits.listStep = 1
        let harness = try JournalHarness(limits: limits)
        harness.keys = try ring()
        try harness.reopen()
        try fill(harness)
        var results: [Result<Int, RingwakeError>] = []
        harness.journal.rebuildIndex(at: harness.directory.index, rules: .none) { results.append($0) }
        // The request is in the journal's hands, and not at its end: it has 604 steps.
        harness.loop.runOnce(timeout: .milliseconds(1))
        harness.journal.use(try ring(isLocked: true))
        harness.run { !results.isEmpty }
        harness.journal.use(try ring())
        #expect(try harness.rebuildIndex() == 604)
    }

    @Test("are looked up as their index was built, until it is built anew")
    func formerIndex() throws {
        let harness = try JournalHarness()
        try fill(harness)
        try harness.rebuildIndex()
        for keys in [try ring(), try ring(isLocked: true)] {
            #expect(try find(harness, keys).prefix(2).allSatisfy { $0?.blocked?.list == "mine" })
        }
        rekey(harness, try ring())
        try harness.rebuildIndex()
        var keys = try ring()
        keys.classes = [:]
        #expect(try find(harness, keys).prefix(2).allSatisfy { $0?.blocked?.list == "mine" })
    }

    @Test("whose key is deleted are empty")
    func deleted() throws {
        let harness = try JournalHarness()
        harness.keys = try ring()
        try harness.reopen()
        try fill(harness)
        var changed = file
        try changed.deleteKeys(of: .complete, rootKey: rootKey)
        rekey(harness, try ring(changed))
        #expect(try harness.entries("mine").isEmpty && harness.rebuildIndex() == 0)
        #expect(try harness.lists().map(\.entries) == [0, 0])
        try harness.change("mine", add: entries())
        #expect(try harness.entries("mine").count == 2 && harness.lists().map(\.entries) == [2, 0])
        // Page by page too: what nobody can read fills no page.
        #expect(try harness.patterns("mine", page: 1).count == 2)
    }
}
