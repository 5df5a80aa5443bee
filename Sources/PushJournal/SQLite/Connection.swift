internal import CRingwakeSQLite
internal import Glibc

/// A connection to one file, without locks of its own: it belongs to the thread that made it.
nonisolated final class Connection {
    enum Access {
        /// To read and to write.
        case readWrite
        /// To read a file that nobody changes: SQLite takes no locks and looks for no journal.
        case immutable
    }

    let database: OpaquePointer
    /// Pages in the write-ahead log after the last commit. In memory of its own, because SQLite writes to it.
    private let logPagesCell: UnsafeMutablePointer<Int32>

    /// Opens an existing file.
    /// - Parameters:
    ///   - path: The file.
    ///   - vfs: The name of SQLite's layer that reads and writes files; nil for the system's.
    init(path: String, vfs: String? = nil, access: Access = .readWrite) throws(SQLiteFailure) {
        var opened: OpaquePointer?
        let flags = SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE
        let code =
            switch access {
            case .readWrite: sqlite3_open_v2(path, &opened, flags | SQLITE_OPEN_READWRITE, vfs)
            case .immutable:
                sqlite3_open_v2(
                    "file:\(Self.escaped(path))?immutable=1", &opened,
                    flags | SQLITE_OPEN_READONLY | SQLITE_OPEN_URI, vfs)
            }
        guard code == SQLITE_OK, let opened else {
            let failure = SQLiteFailure(code, opened)
            sqlite3_close_v2(opened)
            throw failure
        }
        database = opened
        logPagesCell = .allocate(capacity: 1)
        logPagesCell.initialize(to: 0)
        // This takes the place of SQLite's own checkpoints, which would be made within a commit.
        sqlite3_wal_hook(
            opened,
            { cell, _, _, pages in
                cell?.assumingMemoryBound(to: Int32.self).pointee = pages
                return SQLITE_OK
            }, logPagesCell)
    }

    deinit {
        // Every statement is finalized by then, or finalizes itself later: v2 waits for them.
        sqlite3_close_v2(database)
        logPagesCell.deallocate()
    }

    /// A path as a part of a URI.
    private static func escaped(_ path: String) -> String {
        path.unicodeScalars.map { scalar in
            switch scalar {
            case "%": "%25"
            case "?": "%3f"
            case "#": "%23"
            default: String(scalar)
            }
        }.joined()
    }

    /// Makes rows and values of more bytes an error.
    func limitValues(_ bytes: Int32) {
        sqlite3_limit(database, SQLITE_LIMIT_LENGTH, bytes)
    }

    /// Ends each statement after so many steps of SQLite's machine; nil: no longer.
    func limitSteps(_ steps: Int32?) {
        sqlite3_progress_handler(database, steps ?? 0, { _ in 1 }, nil)
    }

    /// The statements that made what is in the file, up to `limit`.
    func schema(limit: Int) throws(SQLiteFailure) -> [String] {
        let select = try statement("SELECT sql FROM sqlite_schema ORDER BY rowid LIMIT ?1", limit)
        var statements: [String] = []
        while try select.next() { statements.append(select.text()) }
        return statements
    }

    /// Pages in the write-ahead log after the last commit.
    var logPages: Int { Int(logPagesCell.pointee) }

    /// Rows that the last INSERT, UPDATE or DELETE changed.
    var changes: Int { Int(sqlite3_changes(database)) }

    /// Rows that were changed since the connection was opened, also by what was rolled back.
    var totalChanges: Int64 { Int64(sqlite3_total_changes64(database)) }

    /// Whether a transaction is open.
    var isInTransaction: Bool { sqlite3_get_autocommit(database) == 0 }

    /// Whether the file can only be read: SQLite opens such a one without complaint.
    var isReadOnly: Bool { sqlite3_db_readonly(database, "main") == 1 }

    /// A statement that is used often.
    func keep(_ sql: String) throws(SQLiteFailure) -> Statement {
        try Statement(sql, on: database, isKept: true)
    }

    /// A statement that is used once, with its values. `sql` is ours, without a value of anybody else's.
    func statement(_ sql: String, _ values: any SQLiteValue...) throws(SQLiteFailure) -> Statement {
        try bound(sql, values)
    }

    /// Runs one statement once.
    func run(_ sql: String, _ values: any SQLiteValue...) throws(SQLiteFailure) {
        try bound(sql, values).run()
    }

    /// Runs one statement once for the number that it answers; 0 for none.
    func number(_ sql: String, _ values: any SQLiteValue...) throws(SQLiteFailure) -> Int64 {
        try bound(sql, values).number() ?? 0
    }

    private func bound(_ sql: String, _ values: [any SQLiteValue]) throws(SQLiteFailure) -> Statement {
        let statement = try Statement(sql, on: database)
        statement.bind(values)
        return statement
    }

    /// Moves the write-ahead log into the store, so that the next commit starts it anew.
    func checkpoint() throws(SQLiteFailure) {
        let code = sqlite3_wal_checkpoint_v2(database, "main", SQLITE_CHECKPOINT_PASSIVE, nil, nil)
        guard code == SQLITE_OK else { throw SQLiteFailure(code, database) }
        logPagesCell.pointee = 0
    }

    /// Writes the log over itself, byte for byte, and forces it to the disk.
    ///
    /// The run before may have ended after an `fdatasync` that failed. What it had written is in the page cache then,
    /// is read from there, and is not on the disk; nor would a new `fdatasync` take it there. Written again it is
    /// durable before anything is built on it. Call it when the lock is held, and the log has been read.
    func rewriteLog() throws(SQLiteFailure) {
        var found: UnsafeMutablePointer<sqlite3_file>?
        let code = sqlite3_file_control(database, "main", SQLITE_FCNTL_JOURNAL_POINTER, &found)
        guard code == SQLITE_OK else { throw SQLiteFailure(code, database) }
        // Without methods it is not open: there is no log.
        guard let log = found, let methods = log.pointee.pMethods?.pointee, let size = methods.xFileSize,
            let read = methods.xRead, let write = methods.xWrite, let sync = methods.xSync
        else { return }
        var length: Int64 = 0
        errno = 0
        var result = size(log, &length)
        var buffer = [UInt8](repeating: 0, count: 65_536)
        var offset: Int64 = 0
        while result == SQLITE_OK, offset < length {
            let count = Int32(min(Int64(buffer.count), length - offset))
            result = read(log, &buffer, count, offset)
            if result == SQLITE_OK { result = write(log, buffer, count, offset) }
            offset += Int64(count)
        }
        if result == SQLITE_OK, length > 0 { result = sync(log, SQLITE_SYNC_NORMAL) }
        guard result == SQLITE_OK else {
            let reason = errno
            throw SQLiteFailure(extendedCode: result, text: String(cString: sqlite3_errstr(result)), errno: reason)
        }
    }

    /// From now on closing leaves file and log as they are.
    func leaveLogAtClose() {
        ringwake_sqlite_keep_log_at_close(database)
    }
}
