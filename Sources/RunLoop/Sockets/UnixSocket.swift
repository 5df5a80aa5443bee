internal import CRingwakeLinux
internal import Glibc

/// Unix stream sockets that listen at a path.
package enum UnixSocket {
    /// Connects without waiting: to a unix socket that is done at once or not at all.
    ///
    /// - Returns: A descriptor that does not block, the caller's to close.
    /// - Throws: What socket(2) and connect(2) give: EAGAIN where too many wait to be accepted; ENAMETOOLONG for a path
    ///   that is empty, holds a NUL or has more than 107 bytes.
    package static func connect(to path: String) throws(RunLoopError) -> Int32 {
        var address = sockaddr_storage()
        let length = path.utf8.contains(0) ? 0 : ringwake_unix_address(path, &address)
        guard length > 0 else { throw RunLoopError(operation: "connect", errno: ENAMETOOLONG) }
        let descriptor = ringwake_stream_socket(AF_UNIX)
        guard descriptor >= 0 else { throw RunLoopError(operation: "socket", errno: errno) }
        var result: Int32
        repeat { result = ringwake_connect(descriptor, &address, length) } while result != 0 && errno == EINTR
        guard result == 0 else {
            let error = RunLoopError(operation: "connect", errno: errno)
            close(descriptor)
            throw error
        }
        return descriptor
    }

    /// The user at the other end of a connection; nil where the kernel does not say.
    package static func peerUser(of descriptor: Int32) -> UInt32? {
        var (process, user, group): (pid_t, uid_t, gid_t) = (0, 0, 0)
        return ringwake_peer_credentials(descriptor, &process, &user, &group) == 0 ? user : nil
    }
}
