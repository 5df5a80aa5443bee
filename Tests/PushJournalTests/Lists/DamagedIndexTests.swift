import CRingwakeSQLite
import FileSystem
import Glibc
import PushJournal
import RingwakeCore
import Testing

@Suite("An index that is damaged")
struct DamagedIndexTests {
    let folder: IndexFolder
    let callers = ["+49900123", "+499001", "+4911", "alice@example.org", "x@spam.example", nil]

    init() throws { folder = try IndexFolder() }

    /// An index with each kind of entry, and its bytes.
    func whole() throws -> [UInt8] {
        let numbers = (0..<600).map { "+49\(1_000 + $0)=label \($0)" }
        _ = try folder.build([
            ("spam", .block, numbers + ["+49900*", "alice@example.org=Alice", "*@spam.example", "anonymous"]),
            ("names", .identify, ["+49900123=Bob"]),
        ])
        return try FileSystem.read(folder.index, maximumSize: 1 << 20)
    }

    /// Looks everybody up in an index of these bytes; false when that is refused.
    func use(_ bytes: [UInt8]) throws -> Bool {
        try FileSystem.replace(folder.index, with: bytes, mode: 0o600)
        do throws(RingwakeError) {
            let index = try CallerIndex(folder.index)
            for caller in callers { _ = try index.lookup(CallerHandle(caller)) }
            return true
        } catch {
            #expect(error.code == .failed || error.code == .system)
            #expect(error.message.contains(folder.index))
            return false
        }
    }

    @Test("A file that is cut anywhere is refused")
    func cut() throws {
        let bytes = try whole()
        #expect(try use(bytes))
        for length in stride(from: 0, to: bytes.count, by: 97) { #expect(try !use(Array(bytes[..<length]))) }
        #expect(try !use(bytes + [0]))
    }

    @Test("Bytes changed at random give an error or an answer, and never a trap")
    func random() throws {
        let bytes = try whole()
        var random = SplitMix(state: 3)
        var refused = 0
        for _ in 0..<200 {
            var changed = bytes
            for _ in 0..<Int.random(in: 1...64, using: &random) {
                changed[Int.random(in: 0..<changed.count, using: &random)] = UInt8.random(in: 0...255, using: &random)
            }
            if try !use(changed) { refused += 1 }
        }
        #expect(refused > 50)
    }

    @Test("Bytes of the first page changed, or each page put in the place of another, give an error or an answer")
    func pages() throws {
        let bytes = try whole()
        for place in Array(0..<108) + stride(from: 108, to: 4_096, by: 13) {
            var changed = bytes
            changed[place] = ~changed[place]
            _ = try use(changed)
        }
        for page in 0..<(bytes.count / 4_096) {
            for other in 0..<(bytes.count / 4_096) {
                var changed = bytes
                let copied = bytes[(other * 4_096)..<((other + 1) * 4_096)]
                changed.replaceSubrange((page * 4_096)..<((page + 1) * 4_096), with: copied)
                _ = try use(changed)
            }
        }
    }

    @Test("A page that was overwritten is an error of the look-up, and the others answer")
    func page() throws {
        var bytes = try whole()
        let text = Array("alice@example.org".utf8)
        let place = try #require(bytes.indices.first { bytes[$0...].starts(with: text) })
        for index in (place / 4_096 * 4_096)..<((place / 4_096 + 1) * 4_096) { bytes[index] = 0 }
        try FileSystem.replace(folder.index, with: bytes, mode: 0o600)
        let index = try CallerIndex(folder.index)
        #expect(try index.lookup(CallerHandle("+491000"))?.blocked?.label == "label 0")
        let error = #expect(throws: RingwakeError.self) { try index.lookup(CallerHandle("alice@example.org")) }
        #expect(error?.message.contains("is damaged") == true)
    }

    @Test("Databases of others are refused: none of them is read for long, or run")
    func foreign() throws {
        let caller = "CREATE TABLE caller (key TEXT NOT NULL, kind INTEGER NOT NULL, list INTEGER NOT NULL, label TEXT)"
        let endless = "CREATE VIEW built AS WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x FROM n) SELECT x FROM n"
        for statements in [
            [], [caller], [caller, endless], (0..<5_000).map { "CREATE TABLE t\($0) (x)" },
        ] {
            _ = try whole()
            try FileSystem.remove(folder.index)
            try FileSystem.create(folder.index, mode: 0o600)
            try run(statements)
            #expect(throws: RingwakeError.self) { try CallerIndex(folder.index) }
        }
        // The right tables, and one more thing.
        _ = try whole()
        try run(["CREATE TRIGGER t AFTER INSERT ON list BEGIN SELECT 1; END"])
        #expect(throws: RingwakeError.self) { try CallerIndex(folder.index) }
        // A label that is too large, and a list that is not there.
        for change in ["label = zeroblob(100000)", "list = 99", "list = -1"] {
            _ = try whole()
            try run(["UPDATE caller SET \(change) WHERE key = CAST('alice@example.org' AS BLOB)"])
            let index = try CallerIndex(folder.index)
            #expect(try index.lookup(CallerHandle("+491000"))?.blocked != nil)
            let error = #expect(throws: RingwakeError.self) { try index.lookup(CallerHandle("alice@example.org")) }
            #expect(error?.code == .failed)
        }
    }

    /// Changes the index by SQLite itself.
    private func run(_ statements: [String]) throws {
        var database: OpaquePointer?
        defer { sqlite3_close(database) }
        try #require(sqlite3_open(folder.index, &database) == SQLITE_OK)
        for statement in ["BEGIN"] + statements + ["COMMIT"] {
            try #require(sqlite3_exec(database, statement, nil, nil, nil) == SQLITE_OK, "\(statement)")
        }
    }

    @Test("A file that is cut while it is open is an error, where a mapping would end the process")
    func cutWhileOpen() throws {
        _ = try whole()
        let index = try CallerIndex(folder.index)
        truncate(folder.index, 5_000)
        #expect(throws: RingwakeError.self) { try index.lookup(CallerHandle("+491000")) }
    }

    @Test("What is no file, or not there, is an error")
    func noFile() throws {
        let error = #expect(throws: RingwakeError.self) { try CallerIndex(folder.path + "/none") }
        #expect(error?.code == .notFound)
        #expect(throws: RingwakeError.self) { try CallerIndex(folder.path) }
        mkfifo(folder.path + "/pipe", 0o600)
        #expect(throws: RingwakeError.self) { try CallerIndex(folder.path + "/pipe") }
        #expect(throws: RingwakeError.self) { try CallerIndex("/dev/zero") }
        #expect(throws: RingwakeError.self) { try CallerIndex("a\u{0}") }
    }
}
