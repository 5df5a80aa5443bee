internal import CRingwakeSQLite
internal import FileSystem
internal import Glibc
internal import RingwakeCore

/// The errors of a store that cannot be used: what happened, and what to do.
nonisolated enum StoreError {
    /// A call of SQLite on the store at `path` failed.
    static func of(_ failure: SQLiteFailure, path: String) -> RingwakeError {
        switch failure.code {
        case SQLITE_FULL:
            return RingwakeError(
                .system,
                "there is no room to write \(path): the disk is full; pushes are refused until there is. "
                    + "Free some space.")
        case SQLITE_READONLY, SQLITE_PERM:
            return readOnly(path)
        case _ where failure.isBusy:
            return RingwakeError(
                .inUse, "\(path) is in use by another process: another ringwaked, or a tool that has it open; end that."
            )
        case _ where failure.isDamage:
            return RingwakeError(
                .system,
                "\(path) is damaged (\(failure.text)). It is set aside, and what can be read of it is copied into a new one; "
                    + "until then pushes are refused.")
        case SQLITE_IOERR where failure.errno == EDQUOT:
            return RingwakeError(
                .system,
                "there is no room to write \(path): the user's disk quota is used up; pushes are refused until it is "
                    + "not. Free some space.")
        case SQLITE_CANTOPEN where failure.errno == EACCES || failure.errno == EPERM:
            return RingwakeError(
                .system, "\(path) may not be opened: give it to the user that ringwaked runs as, with mode 0600.")
        case SQLITE_IOERR, SQLITE_CANTOPEN:
            let reason = failure.errno == 0 ? failure.text : String(cString: strerror(failure.errno))
            return RingwakeError(
                .system, "the disk cannot \(operation(failure)) \(path): \(reason). Look into the kernel's log.")
        default:
            return RingwakeError(.system, "\(path) cannot be used: \(failure.text) (SQLite \(failure.extendedCode)).")
        }
    }

    /// A system call on the store failed.
    static func of(_ error: FileSystemError) -> RingwakeError {
        let advice =
            switch error.errno {
            case ENOSPC, EDQUOT: "The disk is full, or the user's quota is used up. Free some space."
            case EIO: "The kernel's log says more."
            default: "The journal needs a directory of its own that it may write to."
            }
        return RingwakeError(.system, "\(error.description). \(advice)")
    }

    static func readOnly(_ path: String) -> RingwakeError {
        RingwakeError(
            .system,
            "\(path) can only be read: give it to the user that ringwaked runs as, or mount its file system for writing."
        )
    }

    static func newer(_ path: String, version: Int64) -> RingwakeError {
        RingwakeError(
            .conflict,
            "\(path) was written by a newer version of Ringwake (store version \(version), this one knows "
                + "\(Schema.version)); install that one, or move the file away.")
    }

    static func fullOfState(_ path: String) -> RingwakeError {
        RingwakeError(
            .limitReached, "\(path) holds as much state of apps and calls as it may; remove some of it first.")
    }

    static func moved(_ path: String) -> RingwakeError {
        RingwakeError(
            .system,
            "\(path) or \(path)-wal was moved, replaced or deleted while in use: what is written now would be lost. "
                + "Put it back, or restart ringwaked.")
    }

    private static func operation(_ failure: SQLiteFailure) -> String {
        switch failure.extendedCode {
        case RINGWAKE_SQLITE_IOERR_FSYNC, RINGWAKE_SQLITE_IOERR_DIR_FSYNC: "make durable what was written to"
        case RINGWAKE_SQLITE_IOERR_READ: "read"
        default: failure.code == SQLITE_CANTOPEN ? "open" : "write"
        }
    }
}
