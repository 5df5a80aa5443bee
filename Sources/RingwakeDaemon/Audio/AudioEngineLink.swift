internal import CRingwakeLinux
internal import ControlProtocol
internal import Glibc
internal import Logging
internal import RingwakeCore
internal import RunLoop

/// The line to whoever holds the connection to the audio server: `ringwake-audio`, as a child or as a unit of the user.
///
/// When this end closes, however that comes, the other end undoes all that it did to the server, and leaves.
final class AudioEngineLink {
    /// What it tells.
    var onReport: ((AudioEngineReport) -> Void)?
    /// It is gone, for this reason. Once, and nothing is told after it; not after ``close()``.
    var onGone: ((String) -> Void)?

    private let runLoop: RunLoop
    private let logger: Logger
    private let descriptor: Int32
    private var source: ReadinessSource?
    private var lines = AudioEngineLines()
    /// What the socket has not taken yet.
    private var unsent: ArraySlice<UInt8> = []
    private var isOver = false
    /// The child; nil for one that listens, and once it has been reaped.
    private(set) var child: Int32?
    private var forceful: Timer?

    /// What a child gets between the end of its line and SIGKILL: it bounds itself to less.
    private static let grace = Duration.seconds(5)
    /// More than the plans of many turns have: who does not read them is stuck.
    private static let maximumUnsent = 1 << 20
    private static let readSize = 65_536
    /// One that never stops telling is not to keep the daemon from everything else.
    private static let readsPerTurn = 8

    /// - Parameter whenExited: for a child: it is reaped, so that another may be started.
    /// - Throws: it cannot be started or reached: why, and what to do.
    init(
        _ way: AudioEngineWay, runLoop: RunLoop, logger: Logger, whenExited: @escaping () -> Void
    ) throws(RingwakeError) {
        self.runLoop = runLoop
        self.logger = logger
        switch way {
        case .program(let path, let journal):
            let started = try AudioEngineLink.start(path, journal: journal)
            (descriptor, child) = (started.descriptor, started.pid)
            try watch(started.pid, whenExited)
        case .socket(let path):
            descriptor = try AudioEngineLink.connect(to: path)
        }
        do throws(RunLoopError) {
            source = try runLoop.watch(descriptor, for: .read, cause: .audio) { [weak self] in self?.ready($0) }
        } catch {
            // The descriptor goes with this object.
            throw RingwakeError(.system, "the line to ringwake-audio cannot be watched: \(error)")
        }
    }

    deinit {
        Glibc.close(descriptor)
    }

    /// Sends a request. What cannot be sent ends the line.
    func send(_ request: AudioEngineRequest) {
        guard !isOver else { return }
        unsent += AudioEngineLine.encoded(request)
        flush()
    }

    /// Ends the line: the other end undoes what it did and leaves. Nothing is told any more.
    func close() {
        guard !isOver else { return }
        isOver = true
        source?.cancel()
        source = nil
        // The object may live on in a callback for a moment; the other end is to see the end now.
        shutdown(descriptor, Int32(SHUT_RDWR))
        guard child != nil else { return }
        // It keeps this object until then, or until the child has ended.
        forceful = runLoop.schedule(
            at: runLoop.now.advanced(by: AudioEngineLink.grace), tolerance: .seconds(1)
        ) { [self] in
            forceful = nil
            guard let child else { return }
            logger.error("ringwake-audio does not end and is killed", metadata: ["pid": "\(child)"])
            kill(child, SIGKILL)
        }
    }

    // MARK: - The line

    private func ready(_ readiness: Readiness) {
        if readiness.contains(.write), !unsent.isEmpty { flush() }
        if !isOver, readiness.contains(.read) { receive() }
    }

    private func flush() {
        while !unsent.isEmpty {
            let sent = unsent.withUnsafeBytes {
                Glibc.send(descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL))
            }
            if sent < 0, errno == EINTR { continue }
            if sent < 0, errno == EAGAIN { break }
            // What it had to say last, why it gave up perhaps, is to be read still.
            guard sent > 0 else { return receive() }
            unsent.removeFirst(sent)
        }
        guard unsent.count <= AudioEngineLink.maximumUnsent else { return end("it does not read its requests") }
        do throws(RunLoopError) {
            try source?.update(unsent.isEmpty ? .read : [.read, .write])
        } catch {
            end("its line cannot be watched: \(error)")
        }
    }

    private func receive() {
        var buffer = [UInt8](repeating: 0, count: AudioEngineLink.readSize)
        for _ in 0..<AudioEngineLink.readsPerTurn where !isOver {
            let count = recv(descriptor, &buffer, buffer.count, 0)
            if count < 0, errno == EINTR { continue }
            if count < 0, errno == EAGAIN { return }
            guard count > 0 else { return end("it has ended") }
            lines.consume(buffer[..<count])
            do throws(AudioEngineLineError) {
                while !isOver, let line = try lines.next() { try take(line) }
            } catch {
                return end("it says what cannot be read: \(error)")
            }
        }
    }

    private func take(_ line: [UInt8]) throws(AudioEngineLineError) {
        do throws(AudioEngineLineError) {
            onReport?(try AudioEngineLine.report(line))
        } catch .unknown(let name) {
            // A program of a later version may tell more.
            logger.debug("ringwake-audio tells something unknown", metadata: ["what": "\(name)"])
        }
    }

    private func end(_ why: String) {
        guard !isOver else { return }
        close()
        onGone?(why)
    }

    // MARK: - Reaching it

    private static func start(
        _ path: String, journal: String
    ) throws(RingwakeError) -> (descriptor: Int32, pid: Int32) {
        var pair: [Int32] = [-1, -1]
        guard ringwake_stream_socket_pair(&pair) == 0 else {
            throw RingwakeError(.system, "no socket for ringwake-audio: \(String(cString: strerror(errno)))")
        }
        defer { Glibc.close(pair[1]) }
        do throws(RunLoopError) {
            let pid = try RunLoop.start(
                [path, "--journal", journal], variables: inheritedVariables(), input: pair[1], output: STDERR_FILENO)
            return (pair[0], pid)
        } catch {
            Glibc.close(pair[0])
            throw RingwakeError(
                .system,
                "\(path) cannot be started: \(error); install it, name it in [audio] program, or write "
                    + "backend = \"none\" there")
        }
    }

    /// Sees the child's end, and reaps it.
    private func watch(_ pid: Int32, _ whenExited: @escaping () -> Void) throws(RingwakeError) {
        do throws(RunLoopError) {
            try runLoop.watchStarted(pid, beforeReaping: { [weak self] in self?.child = nil }) {
                [weak self, logger] exit in
                if exit != .exited(0) {
                    logger.warning("ringwake-audio ended", metadata: ["pid": "\(pid)", "how": "\(exit)"])
                }
                self?.forgetForce()
                whenExited()
            }
        } catch {
            throw RingwakeError(.system, "ringwake-audio cannot be watched: \(error)")
        }
    }

    private func forgetForce() {
        if let forceful { runLoop.cancel(forceful) }
        forceful = nil
    }

    /// The server is found by what the environment says: its socket, its cookie, the session bus.
    static func inheritedVariables() -> [String] { processEnvironment().map { "\($0.key)=\($0.value)" } }

    private static func connect(to path: String) throws(RingwakeError) -> Int32 {
        var address = sockaddr_storage()
        let length = path.utf8.contains(0) ? 0 : ringwake_unix_address(path, &address)
        guard length > 0 else {
            throw RingwakeError(
                .badConfiguration, "[audio] socket: '\(path)' is no path of at most 107 bytes, as sockets have")
        }
        let descriptor = ringwake_stream_socket(AF_UNIX)
        guard descriptor >= 0 else {
            throw RingwakeError(.system, "no socket for ringwake-audio: \(String(cString: strerror(errno)))")
        }
        var result: Int32
        repeat { result = ringwake_connect(descriptor, &address, length) } while result != 0 && errno == EINTR
        guard result == 0 else {
            let (number, reason) = (errno, String(cString: strerror(errno)))
            Glibc.close(descriptor)
            guard number != EAGAIN else {
                throw RingwakeError(.limitReached, "too many wait to connect to \(path) ([audio] socket)")
            }
            throw RingwakeError(
                .unreachable,
                "nobody listens on \(path) ([audio] socket): \(reason); its user enables it with "
                    + "'systemctl --user enable --now ringwake-audio.socket'")
        }
        guard let user = listener(of: descriptor), isTrusted(user, at: path) else {
            Glibc.close(descriptor)
            throw RingwakeError(
                .notPermitted,
                "\(path) ([audio] socket) belongs to a user who is neither root, nor the daemon's own, nor the one that it is "
                    + "called after (UID.sock), and would be told of calls; remove it")
        }
        return descriptor
    }

    private static func listener(of descriptor: Int32) -> UInt32? {
        var pid: pid_t = 0
        var user: uid_t = 0
        var group: gid_t = 0
        return ringwake_peer_credentials(descriptor, &pid, &user, &group) == 0 ? user : nil
    }

    /// The folder of these sockets is open to all users: whoever comes first could take another's name there.
    static func isTrusted(_ user: UInt32, at path: String, own: UInt32 = geteuid()) -> Bool {
        user == 0 || user == own || path.hasSuffix("/\(user).sock")
    }
}

extension WakeupCause {
    /// `ringwake-audio` told something.
    static let audio = WakeupCause("audio")
}
