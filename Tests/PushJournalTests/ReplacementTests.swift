import FileSystem
import Glibc
import Logging
import PushJournal
import RingwakeCore
import Testing

@MainActor @Suite("A damaged store is replaced by what can be read of it")
struct ReplacementTests {
    /// A journal with 400 calls that go on, closed.
    private func filled() throws -> JournalHarness {
        let harness = try JournalHarness()
        for number in 0..<400 {
            let push = harness.push("\(number)")
            let call = harness.call(Int64(number) + 1, "\(number)")
            _ = try harness.append(push, payload: [UInt8](repeating: 1, count: 300), call: call)
        }
        harness.journal.close()
        return harness
    }

    private static let noise = [UInt8](repeating: 0xff, count: 4_096)

    /// Where a page in the middle of a table begins.
    private func page(of table: String, in store: String) throws -> Int64 {
        let page = try StoreProbe(store).number(
            "SELECT pageno FROM dbstat WHERE name = '\(table)' AND pagetype = 'leaf' ORDER BY path LIMIT 1 OFFSET 3")
        try #require(page > 2)
        return (page - 1) * 4_096
    }

    private func damage(_ table: String, of store: String) throws {
        OutsideWriter.write(Self.noise, to: store, at: try page(of: table, in: store))
    }

    @Test("each call that is left and has not ended is found by a start", arguments: ["payload", "call"])
    func openCalls(table: String) throws {
        let harness = try filled()
        try damage(table, of: harness.directory.store)
        try harness.reopen()
        #expect(harness.contents.damage.count == 1)
        let open = Set(harness.contents.open.map(\.record.number))
        #expect(try harness.calls(CallQuery(limit: 500)).allSatisfy { open.contains($0.record.number) })
        #expect(harness.contents.open.contains { $0.payloads.isEmpty } == (table == "payload"))
        #expect((300..<400).contains(open.count) == (table == "call"))
        harness.journal.close()
        let probe = try StoreProbe(harness.directory.store)
        #expect(
            try probe.number("SELECT count(*) FROM payload WHERE call NOT IN (SELECT number FROM call)") == 0,
            "a later call would get it")
    }

    @Test("a store of a former version is replaced too, and then migrated")
    func formerVersion() throws {
        let harness = try filled()
        try FileSystem.remove("\(harness.directory.path)/store.seal")
        try damage("call", of: harness.directory.store)
        harness.versions = NextStore.versions()
        try harness.reopen()
        #expect(harness.contents.damage.map { $0.contains("copied into a new store") } == [true])
        #expect(harness.contents.open.count > 300)
        #expect(harness.contents.open.allSatisfy { $0.payload.count == 300 && $0.record.provenance.sender == "TEAM" })
        #expect(try harness.append(harness.push("399")) == .repeated)
        harness.journal.close()
        #expect(try StoreProbe(harness.directory.store).number("PRAGMA user_version") == NextStore.version)
    }

    /// A change of the tables from outside, and what is said about it.
    nonisolated struct Change: CustomTestStringConvertible {
        let sql: String
        let difference: String
        var testDescription: String { sql }

        static let all = [
            Change(sql: "ALTER TABLE push DROP COLUMN topic", difference: "the table 'push' lacks the column 'topic'"),
            Change(sql: "ALTER TABLE call ADD COLUMN mine TEXT", difference: "'call' has an unknown column 'mine'"),
            Change(sql: "DROP INDEX call_key", difference: "the index 'call_key' of the table 'call' is missing"),
            Change(sql: "DROP TABLE device", difference: "the table 'device' is missing"),
            Change(sql: "CREATE TABLE mine (a)", difference: "there is an unknown table 'mine'"),
            Change(
                sql: "CREATE TRIGGER mine AFTER INSERT ON push BEGIN DELETE FROM push; END",
                difference: "there is an unknown trigger 'mine'"),
            Change(
                sql: "DROP INDEX call_missed; CREATE INDEX call_missed ON call (app)",
                difference: "the index 'call_missed' of the table 'call' was changed"),
            Change(
                sql:
                    "DROP TABLE list_stamp; CREATE TABLE list_stamp (id INTEGER PRIMARY KEY, stamp INTEGER NOT NULL) STRICT",
                difference: "the constraints of the table 'list_stamp' were changed"),
        ]
    }

    @Test(
        "tables that somebody changed are named, and all rows go on in a store of the right ones", arguments: Change.all
    )
    func changedTables(change: Change) throws {
        let harness = try filled()
        try StoreProbe(harness.directory.store).run(change.sql)
        try harness.reopen()
        let damage = try #require(harness.contents.damage.first)
        #expect(damage.contains("its tables are not those of store version") && damage.contains(change.difference))
        #expect(harness.contents.open.count == 400)
        #expect(try harness.append(harness.push("399")) == .repeated)
        try harness.reopen()
        #expect(harness.contents.damage.isEmpty)
    }

    // MARK: - Interrupted

    /// A moment of a replacement.
    enum Moment: CaseIterable {
        /// The new store is being made.
        case begun
        case whole
        case storeAside, logAside
        case inPlace
    }

    @Test("a kill at any moment costs nothing that could be read", arguments: Moment.allCases)
    func interrupted(moment: Moment) throws {
        let harness = try filled()
        try harness.reopen()
        for number in 400..<420 { _ = try harness.append(harness.push("\(number)")) }
        // As a kill leaves it: a damaged store, and its log.
        let names = ["store.db", "store.db-wal", "store.seal"]
        var files: [String: [UInt8]] = [:]
        for name in names { files[name] = try read("\(harness.directory.path)/\(name)") }
        harness.journal.close()
        let page = Int(try page(of: "call", in: harness.directory.store))
        files["store.db"]?.replaceSubrange(page..<page + 4_096, with: Self.noise)
        let folder = try folder(files)

        // What a replacement that is not interrupted makes of it.
        let other = try self.folder(files)
        try other.reopen()
        let pushes = other.journal.statistics.pushes
        #expect(pushes > 300)
        other.journal.close()
        let new = try read(other.directory.store)

        switch moment {
        case .begun:
            try write(["store.new": Array(new.prefix(8_192)), "store.new-wal": [1, 2, 3]], to: folder)
        case .whole:
            try write(["store.next": new], to: folder)
        case .storeAside, .logAside:
            try write(["store.next": new], to: folder)
            let aside = moment == .storeAside ? ["store.db"] : ["store.db", "store.db-wal"]
            try DamageFolder(stateDirectory: folder.directory.path)
                .add(aside.map { "\(folder.directory.path)/\($0)" }, why: "damaged")
        case .inPlace:
            try DamageFolder(stateDirectory: folder.directory.path)
                .add(["store.db", "store.db-wal"].map { "\(folder.directory.path)/\($0)" }, why: "damaged")
            try write(["store.db": new], to: folder)
        }
        try folder.reopen()
        #expect(folder.journal.statistics.pushes == pushes)
        #expect(folder.contents.damage.count == 1)
        let cases = try DamageFolder(stateDirectory: folder.directory.path).cases()
        let asides = cases.flatMap(\.files)
        for name in ["store.db", "store.db-wal"] {
            let aside = try #require(asides.first { $0.hasSuffix("-" + name) })
            #expect(try read(aside) == files[name])
        }
        for name in ["store.new", "store.new-wal", "store.next"] {
            #expect(!FileSystem.exists("\(folder.directory.path)/\(name)"))
        }
        try folder.reopen()
        #expect(folder.contents.damage.isEmpty && folder.journal.statistics.pushes == pushes)
    }

    /// A closed journal with these files.
    private func folder(_ files: [String: [UInt8]]) throws -> JournalHarness {
        let harness = try JournalHarness()
        harness.journal.close()
        try write(files, to: harness)
        return harness
    }

    private func write(_ files: [String: [UInt8]], to harness: JournalHarness) throws {
        for (name, bytes) in files {
            try FileSystem.replace("\(harness.directory.path)/\(name)", with: bytes, mode: 0o600)
        }
    }

    private func read(_ path: String) throws -> [UInt8] { try FileSystem.read(path, maximumSize: 1 << 26) }

    @Test("while a damaged store cannot be set aside it stays where it is, and is replaced when it can")
    func cannotBeSetAside() throws {
        let harness = try filled()
        try harness.reopen()
        let folder = "\(harness.directory.path)/\(DamageFolder.name)"
        try FileSystem.replace(folder, with: [], mode: 0o600)
        OutsideWriter.write([UInt8](repeating: 0, count: 16_384), to: harness.directory.store, at: 0)
        let damaged = try read(harness.directory.store)
        for _ in 0..<3 {
            #expect(throws: RingwakeError.self) { try harness.append(harness.push("new")) }
            #expect(try read(harness.directory.store) == damaged)
        }
        try FileSystem.remove(folder)
        #expect(try harness.append(harness.push("new")) == .new)
        for name in ["store.new", "store.next"] {
            #expect(!FileSystem.exists("\(harness.directory.path)/\(name)"))
        }
        #expect(try DamageFolder(stateDirectory: harness.directory.path).cases().count == 1)
        #expect(harness.log.messages(.error).filter { $0 == "journal damaged" }.count == 1)
    }
}
