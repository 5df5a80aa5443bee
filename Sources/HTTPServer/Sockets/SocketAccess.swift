import Glibc

/// Who may connect to a Unix socket, by its file (unix(7)).
package nonisolated enum SocketAccess: Equatable, Sendable {
    /// Root, and the user of the process that made it.
    case owner
    /// These, and the members of a group.
    case group(UInt32)
    /// Every local user.
    case everybody

    /// Sets group and mode of the file. Returns false, with errno, if the kernel refuses.
    func apply(to path: String) -> Bool {
        switch self {
        case .owner: chmod(path, 0o600) == 0
        case .group(let group): chown(path, uid_t.max, group) == 0 && chmod(path, 0o660) == 0
        case .everybody: chmod(path, 0o666) == 0
        }
    }

    /// The group that may connect, by the file at a path; nil if there is none.
    package static func group(of path: String) -> UInt32? {
        var status = stat()
        guard stat(path, &status) == 0, status.st_mode & S_IWGRP != 0 else { return nil }
        return status.st_gid
    }
}
