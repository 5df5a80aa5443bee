internal import CRingwakeSQLite
internal import Glibc

/// A connection to one file, without locking: it belongs to the thread that made it.
package final class Connection {
    package enum Access {
        /// For reading and writing.
        case readWrite
        /// For reading a file that never changes: SQLite takes no locks and looks for no journal.
        case immutable
    }

    package let database: OpaquePointer
    /// Pages in the write-ahead log after the last commit. Allocated separately, because SQLite writes to it.
    private let logPagesCell: UnsafeMutablePointer<Int32>

    /// Opens an existing file.
    /// - Parameters:
    ///   - vfs: the name of SQLite's file layer; nil for the default.
    package init(path: String, vfs: String? = nil, access: Access = .readWrite) throws(SQLiteFailure) {
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
        // This replaces SQLite's own checkpoints, which would run within a commit.
        sqlite3_wal_hook(
            opened,
            { cell, _, _, pages in
                cell?.assumingMemoryBound(to: Int32.self).pointee = pages
                return SQLITE_OK
            }, logPagesCell)
    }

    deinit {
        // Every statement has been finalized by then, or will be later: v2 waits for them.
        sqlite3_close_v2(database)
        logPagesCell.deallocate()
    }

    /// Escapes a path for a URI.
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

    /// Makes larger rows and values an error.
    package func limitValues(_ bytes: Int32) {
        sqlite3_limit(database, SQLITE_LIMIT_LENGTH, bytes)
    }

    /// Ends each statement after this many virtual machine steps; nil: no limit.
    package func limitSteps(_ steps: Int32?) {
        sqlite3_progress_handler(database, steps ?? 0, { _ in 1 }, nil)
    }

    /// The SQL statements of the file's schema, up to `limit`.
    package func schema(limit: Int) throws(SQLiteFailure) -> [String] {
        let select = try statement("SELECT sql FROM sqlite_schema ORDER BY rowid LIMIT ?1", limit)
        var statements: [String] = []
        while try select.next() { statements.append(select.text()) }
        return statements
    }

    /// Pages in the write-ahead log after the last commit.
    package var logPages: Int { Int(logPagesCell.pointee) }

    /// The number of rows that the last INSERT, UPDATE or DELETE changed.
    package var changes: Int { Int(sqlite3_changes(database)) }

    /// The number of rows changed since the connection was opened, including rolled-back changes.
    package var totalChanges: Int64 { Int64(sqlite3_total_changes64(database)) }

    /// Whether a transaction is open.
    package var isInTransaction: Bool { sqlite3_get_autocommit(database) == 0 }

    /// Whether the file is read-only: SQLite opens such a file without an error.
    package var isReadOnly: Bool { sqlite3_db_readonly(database, "main") == 1 }

    /// A statement for frequent use.
    package func keep(_ sql: String) throws(SQLiteFailure) -> Statement {
        try Statement(sql, on: database, isKept: true)
    }

    /// A statement for one use, with its values. `sql` must not contain values from outside.
    package func statement(_ sql: String, _ values: any SQLiteValue...) throws(SQLiteFailure) -> Statement {
        try bound(sql, values)
    }

    /// Runs one statement once.
    package func run(_ sql: String, _ values: any SQLiteValue...) throws(SQLiteFailure) {
        try bound(sql, values).run()
    }

    /// Runs one statement once, and returns the number in its first column; 0 if there is none.
    package func number(_ sql: String, _ values: any SQLiteValue...) throws(SQLiteFailure) -> Int64 {
        try bound(sql, values).number() ?? 0
    }

    /// One more than the number that `sql` selects: the next number of a row.
    package func successor(_ sql: String) throws(SQLiteFailure) -> Int64 {
        let number = try number(sql)
        guard (0..<Self.highestNumber).contains(number) else {
            throw SQLiteFailure(
                extendedCode: SQLITE_CORRUPT, text: "'\(sql)' is \(number), and rows are never numbered so")
        }
        return number + 1
    }

    /// More rows than a device ever writes, and far from overflow.
    private static let highestNumber: Int64 = 1 << 62

    private func bound(_ sql: String, _ values: [any SQLiteValue]) throws(SQLiteFailure) -> Statement {
        let statement = try Statement(sql, on: database)
        statement.bind(values)
        return statement
    }

    /// Moves the write-ahead log into the store, so that the next commit starts the log again.
    /// - Returns: the number of pages that were in it.
    @discardableResult
    package func checkpoint() throws(SQLiteFailure) -> Int64 {
        var (found, moved): (Int32, Int32) = (0, 0)
        let code = sqlite3_wal_checkpoint_v2(database, "main", SQLITE_CHECKPOINT_PASSIVE, &found, &moved)
        guard code == SQLITE_OK else { throw SQLiteFailure(code, database) }
        logPagesCell.pointee = 0
        return Int64(max(0, found))
    }

    /// The two files of a store.
    package enum File {
        case store, log
    }

    /// Bytes of a file as it is on the disk, past SQLite's cache. Nothing else may open the store: closing any
    /// descriptor of it would release its locks.
    /// - Throws: `damaged` if there are fewer.
    package func read(_ file: File, _ count: Int, at offset: Int64) throws(SQLiteFailure) -> [UInt8] {
        var bytes = [UInt8](repeating: 0, count: count)
        guard let file = try open(file), let read = file.pointee.pMethods?.pointee.xRead else {
            throw .damaged("it has no log")
        }
        errno = 0
        let code = read(file, &bytes, Int32(count), offset)
        guard code != RINGWAKE_SQLITE_IOERR_SHORT_READ else { throw .damaged("it or its log was cut") }
        guard code == SQLITE_OK else { throw Self.failure(code) }
        return bytes
    }

    /// Overwrites bytes of the store's file with zeros, past SQLite's cache.
    package func clear(_ count: Int, at offset: Int64) throws(SQLiteFailure) {
        guard let file = try open(.store), let write = file.pointee.pMethods?.pointee.xWrite else { return }
        errno = 0
        let code = write(file, [UInt8](repeating: 0, count: count), Int32(clamping: count), offset)
        guard code == SQLITE_OK else { throw Self.failure(code) }
    }

    /// Syncs the store's file to the disk.
    package func syncStore() throws(SQLiteFailure) {
        guard let file = try open(.store), let sync = file.pointee.pMethods?.pointee.xSync else { return }
        errno = 0
        let code = sync(file, SQLITE_SYNC_NORMAL)
        guard code == SQLITE_OK else { throw Self.failure(code) }
    }

    /// The size of a file in bytes.
    package func size(_ file: File) throws(SQLiteFailure) -> Int64 {
        guard let file = try open(file), let size = file.pointee.pMethods?.pointee.xFileSize else { return 0 }
        var bytes: Int64 = 0
        errno = 0
        let code = size(file, &bytes)
        guard code == SQLITE_OK else { throw Self.failure(code) }
        return bytes
    }

    /// - Returns: nil if it is not open: there is no log.
    private func open(_ file: File) throws(SQLiteFailure) -> UnsafeMutablePointer<sqlite3_file>? {
        var found: UnsafeMutablePointer<sqlite3_file>?
        let request = file == .store ? SQLITE_FCNTL_FILE_POINTER : SQLITE_FCNTL_JOURNAL_POINTER
        let code = sqlite3_file_control(database, "main", request, &found)
        guard code == SQLITE_OK else { throw SQLiteFailure(code, database) }
        return found?.pointee.pMethods == nil ? nil : found
    }

    private static func failure(_ code: Int32) -> SQLiteFailure {
        let reason = errno
        return SQLiteFailure(extendedCode: code, text: String(cString: sqlite3_errstr(code)), errno: reason)
    }

    /// Writes the log over itself, byte for byte, and syncs it to disk.
    ///
    /// The previous run may have ended after a failed `fdatasync`. Its data is then in the page cache, is read from
    /// there, but is not on disk, and another `fdatasync` would not write it. After this rewrite it is durable before
    /// anything depends on it. Call this while the lock is held, after the log has been read.
    package func rewriteLog() throws(SQLiteFailure) {
        guard let log = try open(.log), let methods = log.pointee.pMethods?.pointee, let read = methods.xRead,
            let write = methods.xWrite, let sync = methods.xSync
        else { return }
        let length = try size(.log)
        errno = 0
        var result = SQLITE_OK
        var buffer = [UInt8](repeating: 0, count: 65_536)
        var offset: Int64 = 0
        while result == SQLITE_OK, offset < length {
            let count = Int32(min(Int64(buffer.count), length - offset))
            result = read(log, &buffer, count, offset)
            if result == SQLITE_OK { result = write(log, buffer, count, offset) }
            offset += Int64(count)
        }
        if result == SQLITE_OK, length > 0 { result = sync(log, SQLITE_SYNC_NORMAL) }
        guard result == SQLITE_OK else { throw Self.failure(result) }
    }

    /// Closing the connection leaves the file and its log unchanged from now on.
    package func leaveLogAtClose() {
        ringwake_sqlite_keep_log_at_close(database)
    }
}
