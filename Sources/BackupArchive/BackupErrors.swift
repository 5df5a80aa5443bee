internal import FileSystem
internal import Glibc
package import RingwakeCore

extension RingwakeError {
    /// A backup that isn't as its writer made it.
    static func damagedBackup(_ archive: String, _ why: String) -> RingwakeError {
        RingwakeError(
            .failed,
            "\(archive) is damaged or incomplete: \(why); copy it again from where it was made, or use another backup")
    }

    static let backupCancelled = RingwakeError(.failed, "cancelled; nothing was changed")

    /// A file that was to be backed up.
    static func unreadableSource(_ error: FileSystemError) -> RingwakeError {
        let code: Code = error.isMissing ? .notFound : error.isDenied ? .notPermitted : .system
        let advice = error.isDenied ? "run it as root or as the daemon's user" : "try again"
        return RingwakeError(code, "\(error), so there is no backup; \(advice)")
    }

    /// A file that changed between the two times that it was read.
    package static func changedSource(_ path: String) -> RingwakeError {
        RingwakeError(.conflict, "\(path) changed while it was backed up, so there is no backup; try again")
    }

    /// A backup, or a directory that one is unpacked into, that can't be written.
    static func unwritable(_ path: String, _ number: Int32) -> RingwakeError {
        let reason = String(cString: strerror(number))
        switch number {
        case ENOSPC, EDQUOT, EFBIG:
            return RingwakeError(
                .system, "\(path) has no room (\(reason)); free some, or choose another disk. Nothing was changed")
        case EEXIST:
            return RingwakeError(.conflict, "\(path) exists already, and nothing is replaced; choose another name")
        case ENOENT, ENOTDIR:
            return RingwakeError(.notFound, "\(path) cannot be written: its directory does not exist; create it first")
        case EACCES, EPERM, EROFS:
            return RingwakeError(
                .notPermitted, "\(path) cannot be written: \(reason); choose another directory, or run it as its owner")
        default:
            return RingwakeError(.system, "\(path) cannot be written: \(reason); choose another directory")
        }
    }
}
