internal import Glibc
internal import RingwakeCore
internal import RunLoop

/// Wakes handlers that listen on a unix socket: the `socket` way.
///
/// The daemon connects, writes one line (a JSON object with the control socket, the secret of this wake and the push)
/// and keeps the connection open. While it is open, the handler holds its calls. The listener may be systemd, which
/// starts the handler at the first connection.
final class SocketHandlers {
    private let runLoop: RunLoop
    private let socketPath: String
    /// Version of the line. A handler that gets a higher one may ignore keys that it doesn't know.
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

    /// The request as one line. In the JSON payload, line ends can only be between tokens, so a space replaces them.
    func line(of request: WakeRequest, secret: String, at now: BootInstant) -> [UInt8] {
        JSONWriter(capacity: request.payload.count + 1024) { line in
            line.add("schema", Self.schema)
            line.add("socket", socketPath)
            line.add("secret", secret)
            line.add("wake", json: HandlerInput.bytes(of: request, at: now))
        }.line
    }

    private func connect(to path: String, of app: AppID) throws(RingwakeError) -> Int32 {
        guard path.hasPrefix("/") else { throw SocketCheck.badPath(path, of: app) }
        let descriptor: Int32
        do throws(RunLoopError) {
            descriptor = try UnixSocket.connect(to: path)
        } catch {
            throw SocketCheck.failure(error.errno, path: path, of: app)
        }
        // The listener gets the secret and the caller, so it has to run as root or as the daemon's user.
        let user = UnixSocket.peerUser(of: descriptor)
        guard let user, user == 0 || user == geteuid() else {
            close(descriptor)
            throw SocketCheck.stranger(user, path: path, of: app)
        }
        return descriptor
    }
}
