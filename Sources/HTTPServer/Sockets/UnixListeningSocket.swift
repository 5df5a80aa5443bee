import CRingwakeLinux
import Glibc
package import RingwakeCore
import RunLoop

/// A listening Unix socket that appears at its path only when it listens and has its mode.
///
/// It is bound to a temporary path and then linked to its path, which fails if that exists (link(2)). So two daemons
/// that start at the same time can't both have it, and no client finds a socket that doesn't listen yet.
package struct UnixListeningSocket {
    let descriptor: Int32
    let path: String
    /// The file to remove at the end; nil if another process opened the socket.
    private let identity: FileIdentity?

    /// The identity of the file at a path.
    private struct FileIdentity: Equatable {
        let device: dev_t
        let inode: ino_t
    }

    /// Maximum bytes of a path in `sockaddr_un`, without the NUL (unix(7)).
    private static let maximumPathBytes = 107
    /// Number of attempts if another process changes the path at the same time.
    private static let maximumAttempts = 3

    /// - Parameters:
    ///   - access: who may connect.
    ///   - backlog: maximum connections that wait in the kernel; nil: ``Acceptor/backlog``.
    /// - Throws: `inUse` if a living process answers at the path, or the path isn't a socket; `badConfiguration` if the
    ///   path is too long; `notPermitted`, `system`.
    package static func open(
        _ path: String, access: SocketAccess, backlog: Int32? = nil
    ) throws(RingwakeError) -> UnixListeningSocket {
        let temporaryPath = "\(path).\(getpid())"
        var address = sockaddr_storage()
        let length = ringwake_unix_address(temporaryPath, &address)
        guard length > 0, !path.isEmpty else {
            let maximum = maximumPathBytes - (temporaryPath.utf8.count - path.utf8.count)
            throw RingwakeError(
                .badConfiguration,
                "the socket path '\(path)' has \(path.utf8.count) bytes and the kernel takes 1 to \(maximum) here; "
                    + "configure a shorter one, for example in $XDG_RUNTIME_DIR")
        }
        // Left by a dead process with our PID.
        unlink(temporaryPath)
        let descriptor = ringwake_stream_socket(AF_UNIX)
        guard descriptor >= 0 else { throw failure(.last, path) }
        defer { unlink(temporaryPath) }
        guard ringwake_bind(descriptor, &address, length) == 0, access.apply(to: temporaryPath),
            listen(descriptor, backlog ?? Acceptor.backlog) == 0, let identity = identity(of: temporaryPath)
        else {
            let error = SystemCallError.last
            close(descriptor)
            throw failure(error, path)
        }
        do {
            try place(temporaryPath, at: path)
        } catch {
            close(descriptor)
            throw error
        }
        return UnixListeningSocket(descriptor: descriptor, path: path, identity: identity)
    }

    /// Takes a listening socket that another process opened at `path`, and whose file that process removes.
    ///
    /// - Throws: `system` if the descriptor can't be used.
    package static func adopt(_ descriptor: Int32, path: String) throws(RingwakeError) -> UnixListeningSocket {
        guard ringwake_set_nonblocking(descriptor) == 0 else {
            throw RingwakeError(.system, "descriptor \(descriptor) cannot be used: \(SystemCallError.last.reason)")
        }
        return UnixListeningSocket(descriptor: descriptor, path: path, identity: nil)
    }

    /// Removes the file, unless the path now has the socket of a later daemon.
    func removeFile() {
        if let identity, UnixListeningSocket.identity(of: path) == identity {
            unlink(path)
        }
    }

    private static func place(_ temporaryPath: String, at path: String) throws(RingwakeError) {
        for _ in 0..<maximumAttempts {
            if link(temporaryPath, path) == 0 { return }
            let error = SystemCallError.last
            guard error.number == EEXIST else { throw failure(error, path) }
            try removeStaleSocket(path)
        }
        throw RingwakeError(
            .inUse, "the socket '\(path)' is being replaced by other processes; stop them and start again")
    }

    private static func removeStaleSocket(_ path: String) throws(RingwakeError) {
        var status = stat()
        guard lstat(path, &status) == 0 else { return }
        guard status.st_mode & S_IFMT == S_IFSOCK else {
            throw RingwakeError(
                .inUse, "'\(path)' exists and is not a socket, so it is not deleted; move it or configure another path")
        }
        let probed = FileIdentity(device: status.st_dev, inode: status.st_ino)
        guard try isStale(path) else {
            throw RingwakeError(
                .inUse,
                "another ringwaked answers at '\(path)'; stop it first, or configure another control socket for this one"
            )
        }
        if identity(of: path) == probed {
            unlink(path)
        }
    }

    /// Whether no process listens at a socket's path any more.
    private static func isStale(_ path: String) throws(RingwakeError) -> Bool {
        do throws(RunLoopError) {
            close(try UnixSocket.connect(to: path))
            return false
        } catch {
            switch error.errno {
            case ECONNREFUSED, ENOENT: return true
            // Its backlog is full (unix(7)), so a process listens.
            case EAGAIN: return false
            default: throw failure(SystemCallError(number: error.errno), path)
            }
        }
    }

    private static func identity(of path: String) -> FileIdentity? {
        var status = stat()
        guard lstat(path, &status) == 0 else { return nil }
        return FileIdentity(device: status.st_dev, inode: status.st_ino)
    }

    private static func failure(_ error: SystemCallError, _ path: String) -> RingwakeError {
        switch error.number {
        case EACCES, EPERM, EROFS:
            return RingwakeError(
                .notPermitted,
                "the socket '\(path)' cannot be made: \(error.reason); make its directory writable for this "
                    + "user or configure another path")
        case ENOENT, ENOTDIR:
            return RingwakeError(
                .system,
                "the socket '\(path)' cannot be made: its directory does not exist; create it or configure "
                    + "another path")
        default:
            return RingwakeError(
                .system, "the socket '\(path)' cannot be made: \(error.reason); configure another path")
        }
    }
}
