import DataProtection
import FileSystem
import FoundationEssentials
import Glibc
import PushJournal
import RingwakeCore
import Testing

@MainActor @Suite("Records that other programs read")
struct PortableTests {
    /// A closed journal on a store that a daemon of version 7 left.
    private func folder(_ name: String) throws -> JournalHarness {
        let harness = try JournalHarness()
        harness.journal.close()
        for name in ["store.db", "store.db-wal", "store.seal"] { unlink("\(harness.directory.path)/\(name)") }
        let file = URL(filePath: #filePath).deletingLastPathComponent()
            .appending(path: "../Fixtures/store/version-7/\(name).db")
        try FileSystem.replace(harness.directory.store, with: Array(try Data(contentsOf: file)), mode: 0o600)
        let store = try IdleStore(
            inDirectory: harness.directory.path, limits: JournalLimits(), clocks: harness.clock.clocks())
        #expect(try store.migrate { _ in } == [])
        return harness
    }

    private func export(_ harness: JournalHarness) throws -> [String] {
        var export = try PortableExport(copy: harness.directory.store, keys: .off) { $0.add("program", "test") }
        var lines: [String] = []
        while let line = try export.next() { lines.append(String(decoding: line.dropLast(), as: UTF8.self)) }
        #expect(export.records == Int64(lines.count - 2))
        return lines
    }

    @discardableResult
    private func load(_ lines: [String], into harness: JournalHarness) throws -> PortableImport.Outcome {
        var rest = lines[...]
        return try PortableImport.run(
            inDirectory: harness.directory.path, limits: JournalLimits(), clocks: harness.clock.clocks()
        ) { () throws(RingwakeError) in rest.popFirst().map { Array($0.utf8) } }
    }

    private func empty() throws -> JournalHarness {
        let harness = try JournalHarness()
        harness.journal.close()
        return harness
    }

    @Test("are the same after an import into an empty store", arguments: ["device", "gateway"])
    func roundTrip(name: String) throws {
        let lines = try export(folder(name))
        let target = try empty()
        let outcome = try load(lines, into: target)
        #expect(outcome.skipped.isEmpty && outcome.added.values.reduce(0, +) == lines.count - 2)
        #expect(try export(target) == lines)
        if name == "gateway" { #expect(outcome.added == ["device": 1, "mail": 2]) }
        // A second time nothing is new.
        let again = try load(lines, into: target)
        #expect(again.added.isEmpty && again.skipped == outcome.added)
        #expect(try export(target) == lines)
    }

    @Test("make a store from which a daemon starts: no call goes on, and each push is known")
    func started() throws {
        let target = try empty()
        try load(export(folder("device")), into: target)
        // A minute after the last push.
        target.clock.setWall(1_795_802_928_000)
        try target.reopen(bootID: "later")
        #expect(target.contents.damage.isEmpty && target.contents.open.count == 3)
        #expect(target.contents.open.allSatisfy { $0.origin == .otherBoot(isTimeKnown: true) && !$0.payload.isEmpty })
        #expect(target.contents.lists.map(\.entries) == [1] && target.contents.nextCallNumber == 7)
        #expect(target.contents.states.map(\.path).contains("device/dnd"))
        let known = try target.pushes()
        #expect(known.count == 6)
        #expect(try known.allSatisfy { try target.append($0.push) == .repeated })
    }

    @Test("join what the store has, which stays, and calls get other numbers")
    func merged() throws {
        let target = try JournalHarness()
        _ = try target.append(target.push("mine"), call: target.call(5, "mine"))
        try target.keep([1, 2], at: "device/dnd")
        target.journal.close()
        let outcome = try load(export(folder("device")), into: target)
        #expect(outcome.skipped == ["state": 1] && outcome.added["call"] == 6)
        try target.reopen()
        #expect(try target.records().map(\.number) == [11, 10, 9, 8, 7, 6, 5])
        #expect(target.contents.open.count == 4)
        #expect(target.contents.states.first { $0.path == "device/dnd" }?.data == [1, 2])
    }

    @Test("of a store that a killed daemon left have what is in its log only")
    func log() throws {
        let harness = try JournalHarness()
        let idle = try empty()
        _ = try harness.append(harness.push("in the log"), call: harness.call(1, "in the log"))
        for name in ["store.db", "store.db-wal"] {
            let bytes = try FileSystem.read("\(harness.directory.path)/\(name)", maximumSize: 1 << 26)
            try FileSystem.replace("\(idle.directory.path)/\(name)", with: bytes, mode: 0o600)
        }
        let store = try IdleStore(
            inDirectory: idle.directory.path, limits: JournalLimits(), clocks: idle.clock.clocks())
        var export = try store.export(keys: .off) { _ in }
        while try export.next() != nil {}
        #expect(export.records == 3)
    }

    @Test("of a damaged call don't keep the others from being imported")
    func damagedCall() throws {
        let source = try folder("device")
        try StoreProbe(source.directory.store).run("UPDATE call SET snapshot = '{\"attempt\":' WHERE number = 2")
        let outcome = try load(export(source), into: empty())
        #expect(outcome.added["call"] == 5 && outcome.added["push"] == 6 && outcome.skipped == ["call": 1])
    }

    /// What may be wrong with an export.
    nonisolated enum Mistake: CaseIterable {
        case empty, noHeader, cut, noEnd, afterEnd, newer, noJSON, missingMember, unknownApp, hugeNumber, noBase64
    }

    @Test("that are wrong are refused with the line, and nothing of them is imported", arguments: Mistake.allCases)
    func wrong(mistake: Mistake) throws {
        let good = try export(folder("device"))
        var lines = good
        let call = try #require(lines.firstIndex { $0.contains("\"kind\":\"call\"") })
        let payload = try #require(lines.firstIndex { $0.contains("\"kind\":\"payload\"") })
        var number: Int? = call + 1
        switch mistake {
        case .empty: (lines, number) = ([], nil)
        case .noHeader:
            lines.removeFirst()
            number = 1
        case .cut:
            lines.remove(at: 2)
            number = nil
        case .noEnd:
            lines.removeLast()
            number = nil
        case .afterEnd:
            lines.append(lines[call])
            number = lines.count
        case .newer:
            lines[0] = lines[0].replacing("\"schema\":1", with: "\"schema\":2")
            number = 1
        case .noJSON: lines[call] = String(lines[call].dropLast(2))
        case .missingMember: lines[call] = lines[call].replacing("\"sender\"", with: "\"sander\"")
        case .unknownApp: lines[call] = lines[call].replacing("\"app\":\"com.example", with: "\"app\":\"..")
        case .hugeNumber: lines[call] = lines[call].replacing("\"number\":1,", with: "\"number\":9223372036854775807,")
        case .noBase64:
            lines[payload] = lines[payload].replacing("\"data\":\"", with: "\"data\":\"!")
            number = payload + 1
        }
        #expect(lines != good)
        let target = try empty()
        let error = #expect(throws: RingwakeError.self) { try load(lines, into: target) }
        let message = try #require(error?.message)
        #expect(error?.code == .invalidRequest && message.contains("nothing was imported"))
        if let number { #expect(message.contains("line \(number) ")) }
        #expect(try export(target).count == 2)
    }

    @Test("of a later version may have more kinds and members")
    func laterVersion() throws {
        let lines = try export(folder("device"))
        var later = lines
        later.insert("{\"kind\":\"aquarium\",\"fish\":[1,{}]}", at: 3)
        later[1] = later[1].replacing("\"kind\":", with: "\"new\":{\"a\":[null,1.5]},\"kind\":")
        later[later.count - 1] = later[later.count - 1].replacing("\(lines.count - 2)", with: "\(lines.count - 1)")
        let target = try empty()
        #expect(try load(later, into: target).skipped == ["unknown": 1])
        #expect(try export(target) == lines)
    }
}
