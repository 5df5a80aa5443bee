import CRingwakeLinux
import Glibc
import RingwakeCore

/// A blocking connection to the control socket, with a deadline on each wait.
struct ControlSocket: ~Copyable {
    /// Maximum bytes of one read.
    private static let readBytes = 64 * 1024

    /// For poll(2) together with other descriptors. Only ``receive(until:output:)`` reads it.
    let descriptor: Int32
    private let path: String

    /// Connects.
    ///
    /// - Throws: `daemonNotRunning` when nothing listens at `path`, `notPermitted` when this user may not connect.
    init(path: String, timeout: Duration) throws(RingwakeError) {
        var address = sockaddr_storage()
        let length = ringwake_unix_address(path, &address)
        guard length > 0 else {
            throw RingwakeError(
                .invalidRequest, "the socket path '\(path)' is empty or longer than 107 bytes; give a shorter one")
        }
        let descriptor = ringwake_blocking_stream_socket(AF_UNIX)
        guard descriptor >= 0 else {
            throw RingwakeError(.system, "no socket could be made: \(String(cString: strerror(errno)))")
        }
        // connect(2) blocks while the daemon's backlog is full. This limits the wait.
        let (seconds, attoseconds) = timeout.components
        var limit = timeval(tv_sec: Int(clamping: seconds), tv_usec: Int(attoseconds / 1_000_000_000_000))
        setsockopt(descriptor, SOL_SOCKET, SO_SNDTIMEO, &limit, socklen_t(MemoryLayout<timeval>.size))
        guard ringwake_connect(descriptor, &address, length) == 0 else {
            let error = ControlSocket.connectError(errno, path)
            close(descriptor)
            throw error
        }
        self.descriptor = descriptor
        self.path = path
    }

    deinit {
        close(descriptor)
    }

    /// Sends all of `bytes`. A closed connection is no error here: the daemon may have answered first.
    func send(_ bytes: [UInt8], until deadline: Deadline) throws(RingwakeError) {
        var offset = 0
        while offset < bytes.count {
            let sent = bytes[offset...].withUnsafeBytes {
                Glibc.send(descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL | MSG_DONTWAIT))
            }
            if sent > 0 {
                offset += sent
                continue
            }
            switch errno {
            case EINTR: continue
            case EAGAIN: _ = try wait(for: POLLOUT, until: deadline, output: nil)
            case EPIPE, ECONNRESET: return
            default: throw broken(errno)
            }
        }
    }

    /// The result of a wait for bytes.
    enum Received {
        case bytes([UInt8])
        /// The daemon closed the connection.
        case closed
        /// The reader of this program's output has left.
        case outputClosed
    }

    /// Waits for the next bytes.
    ///
    /// - Parameter output: the wait also ends if the reader of this descriptor leaves; nil: it doesn't.
    /// - Throws: `timedOut` at the deadline.
    func receive(until deadline: Deadline?, output: Int32?) throws(RingwakeError) -> Received {
        while true {
            guard try wait(for: POLLIN, until: deadline, output: output) else { return .outputClosed }
            var buffer = [UInt8](repeating: 0, count: ControlSocket.readBytes)
            let count = recv(descriptor, &buffer, buffer.count, Int32(MSG_DONTWAIT))
            if count > 0 {
                buffer.removeLast(buffer.count - count)
                return .bytes(buffer)
            }
            if count == 0 { return .closed }
            switch errno {
            case EINTR, EAGAIN: continue
            case ECONNRESET: return .closed
            default: throw broken(errno)
            }
        }
    }

    /// Returns false if the reader of `output` left first.
    private func wait(
        for events: Int32, until deadline: Deadline?, output: Int32?
    ) throws(RingwakeError) -> Bool {
        while true {
            var entries = [pollfd(fd: descriptor, events: Int16(events), revents: 0)]
            if let output {
                // Request no events: poll(2) always reports POLLERR, the sign of a closed reading end.
                entries.append(pollfd(fd: output, events: 0, revents: 0))
            }
            let ready = poll(&entries, nfds_t(entries.count), deadline?.pollTimeout ?? -1)
            if ready > 0 {
                if entries[0].revents != 0 { return true }
                return false
            }
            if ready < 0, errno != EINTR { throw broken(errno) }
            if let deadline, deadline.hasPassed {
                throw RingwakeError(
                    .timedOut, "the daemon at '\(path)' did not answer in time; its log shows what it is doing")
            }
        }
    }

    private func broken(_ error: Int32) -> RingwakeError {
        RingwakeError(
            .unreachable,
            "the connection to '\(path)' broke: \(String(cString: strerror(error))); "
                + "see the daemon's log")
    }

    static func notPermitted(_ path: String) -> RingwakeError {
        RingwakeError(
            .notPermitted,
            "this user may not use the socket '\(path)'; run as root or as the daemon's user, or let root add you to its "
                + "group (for the system's daemon: usermod --append --groups ringwake-control USER), and log in again")
    }

    private static func connectError(_ error: Int32, _ path: String) -> RingwakeError {
        switch error {
        case ENOENT, ENOTDIR:
            RingwakeError(
                .daemonNotRunning,
                "no daemon runs: there is no socket '\(path)'; start 'ringwaked' (or 'systemctl start ringwaked'), "
                    + "or give its socket with --socket")
        case ECONNREFUSED:
            RingwakeError(
                .daemonNotRunning,
                "no daemon listens on '\(path)'; start 'ringwaked' (or 'systemctl start ringwaked'), or give its socket with "
                    + "--socket")
        case EACCES, EPERM:
            notPermitted(path)
        case EAGAIN, ETIMEDOUT:
            RingwakeError(.timedOut, "the daemon at '\(path)' accepts no connection; its log shows what it is doing")
        default:
            RingwakeError(.unreachable, "the socket '\(path)' cannot be used: \(String(cString: strerror(error)))")
        }
    }
}
