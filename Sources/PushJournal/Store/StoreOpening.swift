internal import CRingwakeSQLite
internal import FileSystem
internal import RingwakeCore

/// Opens the store: creates a missing one, upgrades an older one, and rejects files that are not stores of this
/// program.
nonisolated enum StoreOpening {
    /// The size of SQLite's page cache in kilobytes.
    private static let cacheKilobytes = 1_024

    /// Opens the store in `directory`, or creates one.
    /// - Parameter vfs: the name of SQLite's file layer; nil for the default.
    /// - Throws: `system`, `conflict` or `inUse`. A rejected store is unchanged.
    static func open(
        directory: String, vfs: String?, limits: JournalLimits, clocks: JournalClocks
    ) throws(RingwakeError) -> Store {
        let file = try mapping { () throws(FileSystemError) in try StoreFile(inDirectory: directory) }
        let path = file.path
        let connection = try mapping(path) { () throws(SQLiteFailure) in try Connection(path: path, vfs: vfs) }
        do throws(RingwakeError) {
            guard !connection.isReadOnly else { throw StoreError.readOnly(path) }
            let version = try check(connection, path: path)
            try mapping(path) { () throws(SQLiteFailure) in
                try configure(connection, isNew: version == 0, limits: limits)
            }
            return try mapping(path) { () throws(SQLiteFailure) in
                try connection.rewriteLog()
                if version < Schema.version { try upgrade(connection, from: version) }
                try connection.checkpoint()
                return try Store(
                    path: path, connection: connection, statements: StoreStatements(connection), clocks: clocks,
                    limits: limits, boot: boot(named: clocks.bootID, on: connection), file: file)
            }
        } catch {
            connection.leaveLogAtClose()
            throw error
        }
    }

    /// Takes the lock for the lifetime of the connection, and checks what the file is.
    /// - Returns: its version; 0 if it is empty.
    private static func check(_ connection: Connection, path: String) throws(RingwakeError) -> Int64 {
        let (application, version, objects) = try mapping(path) { () throws(SQLiteFailure) in
            try connection.run("PRAGMA locking_mode = EXCLUSIVE")
            return (
                try connection.number("PRAGMA application_id"), try connection.number("PRAGMA user_version"),
                try connection.number("SELECT count(*) FROM sqlite_schema")
            )
        }
        if application == 0, version == 0, objects == 0 { return 0 }
        guard application == Schema.applicationID else { throw StoreError.foreign(path) }
        guard version <= Schema.version else { throw StoreError.newer(path, version: version) }
        guard version > 0 else { throw StoreError.foreign(path) }
        return version
    }

    private static func configure(
        _ connection: Connection, isNew: Bool, limits: JournalLimits
    ) throws(SQLiteFailure) {
        // This must come before the file's first page. Free pages can then be released one by one.
        if isNew { try connection.run("PRAGMA auto_vacuum = INCREMENTAL") }
        let mode = try Statement("PRAGMA journal_mode = WAL", on: connection.database)
        guard try mode.next(), mode.text() == "wal" else {
            throw SQLiteFailure(
                extendedCode: SQLITE_ERROR, text: "its file system does not allow a write-ahead log", errno: 0)
        }
        mode.reset()
        for setting in [
            // A commit is durable when it returns. The answer 200 depends on this.
            "PRAGMA synchronous = FULL",
            "PRAGMA cache_size = -\(cacheKilobytes)",
            "PRAGMA mmap_size = 0",
            "PRAGMA temp_store = MEMORY",
            // The log's file keeps its length when the log starts again: writing to allocated blocks needs no change of
            // the file system's metadata.
            "PRAGMA journal_size_limit = \((limits.largeLogPages + limits.largeLogPages / 4) * 4_096)",
            "PRAGMA trusted_schema = OFF",
            "PRAGMA cell_size_check = ON",
            // Deleted payloads are overwritten if that needs no additional page.
            "PRAGMA secure_delete = FAST",
        ] {
            try connection.run(setting)
        }
    }

    /// Creates the tables that `version` lacks, and marks the file as a store of this program, all or nothing: after a
    /// failure, closing the connection rolls it back.
    private static func upgrade(_ connection: Connection, from version: Int64) throws(SQLiteFailure) {
        try connection.run("BEGIN IMMEDIATE")
        for step in SchemaSteps.all.dropFirst(Int(clamping: version)) {
            for statement in step.statements { try connection.run(statement) }
            try step.convert?(connection)
            for statement in step.after { try connection.run(statement) }
        }
        try connection.run("PRAGMA application_id = \(Schema.applicationID)")
        try connection.run("PRAGMA user_version = \(Schema.version)")
        try connection.run("COMMIT")
        // Pages of dropped tables would make each reuse of a page among them change another page.
        try connection.run("PRAGMA incremental_vacuum")
    }

    /// The row of this boot. Removes the rows of boots that nothing refers to any more.
    private static func boot(
        named name: String, on connection: Connection
    ) throws(SQLiteFailure) -> Int64 {
        let find = try Statement("SELECT id FROM boot WHERE name = ?1", on: connection.database)
        find.bind(name)
        if let id = try find.number() { return id }
        let next = try connection.successor("SELECT max(id) FROM boot")
        let insert = try Statement("INSERT INTO boot (id, name) VALUES (?1, ?2)", on: connection.database)
        insert.bind(next)
        insert.bind(name)
        try insert.run()
        // Pushes and calls are written in the order of boots, so the oldest row of each has the oldest boot.
        let oldest = [
            "(SELECT boot FROM push ORDER BY sequence LIMIT 1)", "(SELECT boot FROM call ORDER BY number LIMIT 1)",
            "(SELECT min(boot) FROM state)",
        ]
        let kept = oldest.map { "ifnull(\($0), \(next))" }.joined(separator: ", ")
        try connection.run("DELETE FROM boot WHERE id < min(\(kept))")
        return next
    }

    private static func mapping<Value>(
        _ path: String, _ body: () throws(SQLiteFailure) -> Value
    ) throws(RingwakeError) -> Value {
        do throws(SQLiteFailure) {
            return try body()
        } catch {
            throw StoreError.of(error, path: path)
        }
    }

    private static func mapping<Value>(
        _ body: () throws(FileSystemError) -> Value
    ) throws(RingwakeError) -> Value {
        do throws(FileSystemError) {
            return try body()
        } catch {
            throw StoreError.of(error)
        }
    }
}
