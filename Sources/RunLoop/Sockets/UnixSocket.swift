internal import CRingwakeLinux
internal import Glibc

/// Unix stream sockets that listen at a path.
package enum UnixSocket {
    /// Connects without blocking: on a Unix socket that succeeds or fails at once.
    ///
    /// - Returns: a non-blocking descriptor, which the caller closes.
    /// - Throws: the error of socket(2) or connect(2): EAGAIN if the backlog is full; ENAMETOOLONG if the path is
    ///   empty, contains a NUL or has more than 107 bytes.
    package static func connect(to path: String) throws(RunLoopError) -> Int32 {
        var address = sockaddr_storage()
        let length = path.utf8.contains(0) ? 0 : ringwake_unix_address(path, &address)
        guard length > 0 else { throw RunLoopError(operation: "connect", errno: ENAMETOOLONG) }
        let descriptor = ringwake_stream_socket(AF_UNIX)
        guard descriptor >= 0 else { throw RunLoopError(operation: "socket", errno: errno) }
        guard ringwake_connect(descriptor, &address, length) == 0 else {
            let error = RunLoopError(operation: "connect", errno: errno)
            close(descriptor)
            throw error
        }
        return descriptor
    }

    /// The user of the peer; nil if the kernel doesn't report it.
    package static func peerUser(of descriptor: Int32) -> UInt32? {
        var (process, user, group): (pid_t, uid_t, gid_t) = (0, 0, 0)
        return ringwake_peer_credentials(descriptor, &process, &user, &group) == 0 ? user : nil
    }
}
