internal import CRingwakeSQLite
internal import Database
internal import StoreMigration

/// How the store is opened and created.
nonisolated enum StoreSettings {
    /// `PRAGMA application_id`: "Ring".
    static let applicationID: Int64 = 0x5269_6e67
    /// The size of SQLite's page cache in kilobytes.
    private static let cacheKilobytes = 1_024

    /// Takes the lock for the lifetime of the connection, and looks what the file is.
    /// - Returns: its version; 0 if it is empty.
    /// - Throws: `damaged` if it is another program's, or the error of reading it.
    static func lock(_ connection: Connection) throws(SQLiteFailure) -> Int64 {
        try connection.run("PRAGMA locking_mode = EXCLUSIVE")
        let application = try connection.number("PRAGMA application_id")
        let version = try connection.number("PRAGMA user_version")
        let objects = try connection.number("SELECT count(*) FROM sqlite_schema")
        if application == 0, version == 0, objects == 0 { return 0 }
        guard application == applicationID, version > 0 else { throw .damaged("it is a database of another program") }
        return version
    }

    /// Sets up a locked connection for writing.
    static func configure(_ connection: Connection, isNew: Bool, limits: JournalLimits) throws(SQLiteFailure) {
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

    /// Creates the tables of an empty store, and marks it as one, all or nothing: after a failure, closing the connection
    /// rolls it back.
    static func create(_ model: StoreModel, on connection: Connection) throws(SQLiteFailure) {
        try connection.run("BEGIN IMMEDIATE")
        for statement in model.statements { try connection.run(statement) }
        try connection.run("PRAGMA application_id = \(applicationID)")
        try connection.run("PRAGMA user_version = \(model.version)")
        try connection.run("COMMIT")
    }

    /// How far a store is committed.
    static func position(of connection: Connection, logPages: Int64) throws(SQLiteFailure) -> StorePosition {
        StorePosition(
            store: try connection.number("SELECT store FROM epoch"),
            epoch: try connection.successor("SELECT number FROM epoch") - 1, logPages: logPages,
            newestPush: try connection.successor("SELECT max(sequence) FROM push") - 1)
    }
}
