internal import CRingwakeSQLite
internal import Glibc

/// A call of SQLite that failed.
nonisolated struct SQLiteFailure: Error, Equatable {
    /// The result code with its detail: `SQLITE_IOERR_FSYNC`.
    let extendedCode: Int32
    /// What SQLite says.
    let text: String
    /// The `errno` of the system call that failed; 0 when none did.
    let errno: Int32

    init(extendedCode: Int32, text: String, errno: Int32 = 0) {
        self.extendedCode = extendedCode
        self.text = text
        self.errno = errno
    }

    /// What `database` says of its last call, which answered `code`. `database` is nil when there is no memory for it.
    init(_ code: Int32, _ database: OpaquePointer?) {
        // First of all: the next call may change it. SQLite does not keep it when a COMMIT fails; a step leaves the
        // thread's own as the system call set it.
        let threadErrno = Glibc.errno
        guard let database else {
            self.init(extendedCode: code, text: String(cString: sqlite3_errstr(code)))
            return
        }
        let systemErrno = sqlite3_system_errno(database)
        // The state of the connection tells more than the code, unless it is that of another call.
        let detailed = sqlite3_extended_errcode(database)
        let isOfThisCall = detailed & 0xff == code & 0xff
        self.init(
            extendedCode: isOfThisCall ? detailed : code,
            text: String(cString: isOfThisCall ? sqlite3_errmsg(database) : sqlite3_errstr(code)),
            errno: systemErrno == 0 && code & 0xff == SQLITE_IOERR ? threadErrno : systemErrno)
    }

    /// A file whose contents SQLite accepts, and we do not.
    static func damaged(_ what: String) -> SQLiteFailure { SQLiteFailure(extendedCode: SQLITE_CORRUPT, text: what) }

    /// What to print: the error of the system call if one failed, else what SQLite says.
    var reason: String { errno == 0 ? text : String(cString: strerror(errno)) }

    /// The kind of failure, without its detail: `SQLITE_IOERR`.
    var code: Int32 { extendedCode & 0xff }

    /// Whether the file itself is at fault, and nothing that comes later can mend it.
    var isDamage: Bool { code == SQLITE_CORRUPT || code == SQLITE_NOTADB }
}
