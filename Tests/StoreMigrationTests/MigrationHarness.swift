import CRingwakeSQLite
import Database
import Glibc
import StoreMigration

/// A store of an old version in a folder, and what a migration makes of it.
final class MigrationHarness {
    private let directory: String
    let old: Connection
    private(set) var progress: [MigrationProgress] = []
    private var newPath: String { directory + "/new" }

    init(_ model: StoreModel) throws {
        var template = Array("/tmp/ringwake-test-XXXXXX".utf8CString)
        guard mkdtemp(&template) != nil else { throw MigrationFailure.wrongData("no folder") }
        directory = String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
        old = try Connection(path: try Self.empty(directory + "/old"))
        try old.run("PRAGMA locking_mode = EXCLUSIVE")
        try old.run("PRAGMA journal_mode = WAL")
        for statement in model.statements { try old.run(statement) }
        try old.run("PRAGMA user_version = \(model.version)")
    }

    deinit {
        for name in ["new", "old", "old-wal"] { unlink("\(directory)/\(name)") }
        rmdir(directory)
    }

    private static func empty(_ path: String) throws -> String {
        unlink(path)
        guard let file = fopen(path, "w") else { throw MigrationFailure.wrongData("no file") }
        fclose(file)
        return path
    }

    func migrate(_ step: MigrationStep, finally last: String = "SELECT 1") throws {
        var migrator = try Migrator(step, on: old) { self.progress.append($0) }
        try migrator.make(try Self.empty(newPath), applicationID: 7, finally: last)
    }

    /// The new store. Nobody else has it open.
    func made() throws -> Connection { try Connection(path: newPath) }
}

extension Connection {
    /// All rows of a statement.
    func rows(_ sql: String) throws -> [[StoreValue]] {
        let select = try statement(sql)
        var rows: [[StoreValue]] = []
        while try select.next() { rows.append((0..<select.columnCount).map { _ in select.value() }) }
        return rows
    }
}
