internal import CRingwakeSQLite
internal import Database
internal import FileSystem
internal import Glibc
internal import RingwakeCore
internal import StoreMigration

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

    static func newer(_ path: String, version: Int64, current: Int64) -> RingwakeError {
        RingwakeError(
            .conflict,
            "\(path) was written by a newer version of Ringwake: it has store version \(version), and this program reads "
                + "up to \(current). Install the newer version again, restore a backup, or move the file away.")
    }

    static func older(_ path: String, version: Int64, oldest: Int64) -> RingwakeError {
        RingwakeError(
            .conflict,
            "\(path) has store version \(version), and the oldest that this program reads is \(oldest). Start a version of "
                + "Ringwake between the two once, which migrates it, or move the file away.")
    }

    /// The data does not fit the next version.
    static func notMigrated(_ path: String, _ why: String) -> RingwakeError {
        RingwakeError(
            .failed,
            "\(path) can't be migrated to this version, and is unchanged: \(why). Install the former version of Ringwake "
                + "again, and report this as a bug.")
    }

    static func noRoomToMigrate(_ path: String, needed: Int64, free: Int64) -> RingwakeError {
        RingwakeError(
            .system,
            "there is no room to migrate \(path): the disk is full. It needs \(needed >> 10) kB beside it, and \(free >> 10) kB "
                + "are free; pushes are refused until there is room. Free some space.")
    }

    static func noRoomToCopy(_ path: String, needed: Int64, free: Int64) -> RingwakeError {
        RingwakeError(
            .system,
            "there is no room for a copy of the store in \(FileSystem.split(path).directory): it needs \(needed >> 10) kB, and "
                + "\(free >> 10) kB are free. Free some space.")
    }

    /// A store whose tables were changed by somebody else.
    static func describe(_ differences: [ModelDifference], version: Int64) -> String {
        let shown = differences.prefix(3).map(\.description).joined(separator: "; ")
        let more = differences.count > 3 ? "; and \(differences.count - 3) more differences" : ""
        return "its tables are not those of store version \(version): \(shown)\(more)"
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
