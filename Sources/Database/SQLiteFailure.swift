internal import CRingwakeSQLite
internal import Glibc

/// A failed call of SQLite.
package struct SQLiteFailure: Error, Equatable {
    /// The extended result code, such as `SQLITE_IOERR_FSYNC`.
    package let extendedCode: Int32
    /// SQLite's error message.
    package let text: String
    /// The `errno` of the failed system call; 0 if there was none.
    package let errno: Int32

    package init(extendedCode: Int32, text: String, errno: Int32 = 0) {
        self.extendedCode = extendedCode
        self.text = text
        self.errno = errno
    }

    /// The error of the last call on `database`, which returned `code`. `database` is nil if SQLite had no memory for
    /// it.
    package init(_ code: Int32, _ database: OpaquePointer?) {
        // Read this first: the next call may change it. SQLite does not keep it when a COMMIT fails, but the step
        // leaves the thread's `errno` as the system call set it.
        let threadErrno = Glibc.errno
        guard let database else {
            self.init(extendedCode: code, text: String(cString: sqlite3_errstr(code)))
            return
        }
        let systemErrno = sqlite3_system_errno(database)
        // The connection's error has more detail than the code, unless it is from another call.
        let detailed = sqlite3_extended_errcode(database)
        let isOfThisCall = detailed & 0xff == code & 0xff
        self.init(
            extendedCode: isOfThisCall ? detailed : code,
            text: String(cString: isOfThisCall ? sqlite3_errmsg(database) : sqlite3_errstr(code)),
            errno: systemErrno == 0 && code & 0xff == SQLITE_IOERR ? threadErrno : systemErrno)
    }

    /// A file whose contents SQLite accepts but we do not.
    package static func damaged(_ what: String) -> SQLiteFailure {
        SQLiteFailure(extendedCode: SQLITE_CORRUPT, text: what)
    }

    /// The text to print: the error of the failed system call, otherwise SQLite's message.
    package var reason: String { errno == 0 ? text : String(cString: strerror(errno)) }

    /// The primary result code, such as `SQLITE_IOERR`.
    package var code: Int32 { extendedCode & 0xff }

    /// Whether there is no room on the disk, or no more for this user.
    package var isFull: Bool { code == SQLITE_FULL || (code == SQLITE_IOERR && errno == EDQUOT) }

    /// Whether another process has the file open.
    package var isBusy: Bool { code == SQLITE_BUSY || code == SQLITE_LOCKED || code == SQLITE_PROTOCOL }

    /// Whether the file itself is damaged, so that no retry can succeed. A read past the end of a file means that it was
    /// cut.
    package var isDamage: Bool {
        code == SQLITE_CORRUPT || code == SQLITE_NOTADB || extendedCode == RINGWAKE_SQLITE_IOERR_SHORT_READ
    }
}
