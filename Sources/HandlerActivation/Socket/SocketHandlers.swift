internal import CRingwakeLinux
internal import Glibc
internal import RingwakeCore
internal import RunLoop

/// Wakes handlers that listen on a unix socket: the `socket` way.
///
/// The daemon connects, writes one line (a JSON object that names the control socket, the secret of this wake and the
/// push) and keeps the connection: while it is open, the handler holds its calls. Who listens may be systemd, which
/// starts the handler with the first connection.
final class SocketHandlers {
    private let runLoop: RunLoop
    private let socketPath: String
    /// The version of the line. A handler that finds a higher one may ignore what it does not know.
    static let schema = 1

    init(runLoop: RunLoop, socketPath: String) {
        self.runLoop = runLoop
        self.socketPath = socketPath
    }

    /// - Throws: ``RingwakeError/Code/badConfiguration``, ``RingwakeError/Code/unreachable``,
    ///   ``RingwakeError/Code/limitReached``, ``RingwakeError/Code/notPermitted``, ``RingwakeError/Code/system``.
    func wake(
        _ request: WakeRequest, path: String, secret: String, events: HandlerEvents
    ) throws(RingwakeError) -> SocketLease {
        let descriptor = try connect(to: path, of: request.app)
        let line = line(of: request, secret: secret, at: BootInstant(nanoseconds: BootClock.now().nanoseconds))
        let life = LeaseLife(runLoop: runLoop, events: events)
        let lease = SocketLease(descriptor: descriptor, wake: request.wake, path: path, life: life, runLoop: runLoop)
        try lease.begin(line, of: request.app)
        return lease
    }

    /// One line. The payload is JSON, in which a line's end can stand between tokens only: there a space is the same.
    func line(of request: WakeRequest, secret: String, at now: BootInstant) -> [UInt8] {
        var bytes: [UInt8] = []
        bytes += #"{"schema":\#(Self.schema),"socket":"#.utf8
        HandlerInput.appendString(socketPath, to: &bytes)
        bytes += #","secret":"#.utf8
        HandlerInput.appendString(secret, to: &bytes)
        bytes += #","wake":"#.utf8
        for byte in HandlerInput.bytes(of: request, at: now) {
            let endsLine = byte == UInt8(ascii: "\n") || byte == UInt8(ascii: "\r")
            bytes.append(endsLine ? UInt8(ascii: " ") : byte)
        }
        bytes += "}\n".utf8
        return bytes
    }

    /// Connects without waiting: to a unix socket that is done at once or not at all.
    private func connect(to path: String, of app: AppID) throws(RingwakeError) -> Int32 {
        var address = sockaddr_storage()
        let length = path.utf8.contains(0) ? 0 : ringwake_unix_address(path, &address)
        guard length > 0, path.hasPrefix("/") else { throw SocketCheck.badPath(path, of: app) }
        let descriptor = ringwake_stream_socket(AF_UNIX)
        guard descriptor >= 0 else { throw SocketCheck.failure(errno, path: path, of: app) }
        var result: Int32
        repeat { result = ringwake_connect(descriptor, &address, length) } while result != 0 && errno == EINTR
        guard result == 0 else {
            let reason = errno
            close(descriptor)
            throw SocketCheck.failure(reason, path: path, of: app)
        }
        var pid: pid_t = 0
        var user: uid_t = 0
        var group: gid_t = 0
        let isKnown = ringwake_peer_credentials(descriptor, &pid, &user, &group) == 0
        // The secret and the caller are told to whoever listens.
        guard isKnown, user == 0 || user == geteuid() else {
            close(descriptor)
            throw SocketCheck.stranger(user, path: path, of: app)
        }
        return descriptor
    }
}
