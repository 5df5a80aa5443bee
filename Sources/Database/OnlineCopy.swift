internal import CRingwakeSQLite

/// A copy of an open file, made in small steps while the file is written to. What its own connection writes meanwhile gets
/// into the copy too, so that the copy is what the file is when the last step has been taken. See "SQLite Backup API".
package final class OnlineCopy {
    private let source: Connection
    private let target: Connection
    private let backup: OpaquePointer

    /// - Parameter path: an empty file. It isn't synced: after a crash it is worthless.
    package init(of source: Connection, to path: String, vfs: String? = nil) throws(SQLiteFailure) {
        self.source = source
        target = try Connection(path: path, vfs: vfs)
        for setting in ["journal_mode = OFF", "synchronous = OFF", "locking_mode = EXCLUSIVE", "cache_size = -1024"] {
            try target.run("PRAGMA \(setting)")
        }
        guard let backup = sqlite3_backup_init(target.database, "main", source.database, "main") else {
            throw SQLiteFailure(sqlite3_errcode(target.database), target.database)
        }
        self.backup = backup
    }

    deinit {
        // Ends a copy that isn't finished; the error of a failed step has been thrown.
        sqlite3_backup_finish(backup)
    }

    /// Copies up to this many pages. Not within a transaction.
    /// - Returns: whether more are to be copied.
    package func step(pages: Int32) throws(SQLiteFailure) -> Bool {
        let code = sqlite3_backup_step(backup, pages)
        guard code == SQLITE_OK || code == SQLITE_DONE else { throw SQLiteFailure(code, target.database) }
        return code == SQLITE_OK
    }

    /// Pages that are left to be copied, and those of the file, as of the last step.
    package var remainingPages: Int { Int(sqlite3_backup_remaining(backup)) }
    package var allPages: Int { Int(sqlite3_backup_pagecount(backup)) }
}
