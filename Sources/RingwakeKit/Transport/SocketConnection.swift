internal import CRingwakeLinux
internal import Glibc
internal import RunLoop

/// A connection to a unix socket, on the loop. Delivers bytes and its end, never from within a call.
final class SocketConnection {
    enum Event {
        case bytes(ArraySlice<UInt8>)
        /// Once, and nothing after it.
        case ended(RingwakeKitError)
    }

    /// Bytes that one read takes at most.
    private static let readBytes = 64 << 10

    private let runLoop: RunLoop
    private let path: String
    private let deliver: (Event) -> Void
    private var descriptor: Int32 = -1
    private var source: ReadinessSource?
    private var unsent: ArraySlice<UInt8> = []
    private var isOver = false
    /// Whether there was a daemon to send to.
    private(set) var wasConnected = false

    /// Connects. A failure is delivered too.
    init(path: String, runLoop: RunLoop, deliver: @escaping (Event) -> Void) {
        self.path = path
        self.runLoop = runLoop
        self.deliver = deliver
        do throws(RingwakeKitError) {
            try connect()
        } catch {
            runLoop.enqueue { [weak self] in self?.end(error) }
        }
    }

    deinit { close() }

    private func connect() throws(RingwakeKitError) {
        var address = sockaddr_storage()
        let length = ringwake_unix_address(path, &address)
        guard length > 0 else {
            throw RingwakeKitError(.invalidRequest, "the socket path '\(path)' is empty or longer than 107 bytes")
        }
        descriptor = ringwake_stream_socket(AF_UNIX)
        guard descriptor >= 0 else {
            throw RingwakeKitError(.system, "no socket could be made: \(String(cString: strerror(errno)))")
        }
        // A connect to a unix socket is done at once, or refused.
        guard ringwake_connect(descriptor, &address, length) == 0 else {
            throw SocketConnection.refusal(errno, path)
        }
        wasConnected = true
        do throws(RunLoopError) {
            source = try runLoop.watch(descriptor, for: .read, cause: .init("daemon")) { [unowned self] readiness in
                ready(readiness)
            }
        } catch {
            throw RingwakeKitError(refusedBySystem: error)
        }
    }

    /// Sends after what was given before.
    func send(_ bytes: [UInt8]) {
        guard !isOver, descriptor >= 0 else { return }
        unsent += bytes
        flush()
    }

    /// Ends it without an event. Idempotent.
    func close() {
        isOver = true
        source?.cancel()
        source = nil
        if descriptor >= 0 { Glibc.close(descriptor) }
        descriptor = -1
    }

    private func end(_ error: RingwakeKitError) {
        guard !isOver else { return }
        close()
        deliver(.ended(error))
    }

    private func ready(_ readiness: Readiness) {
        if readiness.contains(.write) { flush() }
        if readiness.contains(.read), !isOver { read() }
    }

    private func flush() {
        while !unsent.isEmpty {
            let count = unsent.withUnsafeBytes {
                Glibc.send(descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL))
            }
            if count < 0 {
                if errno == EINTR { continue }
                // What breaks it shows when it is read, with what the daemon said before.
                if errno != EAGAIN { unsent = [] }
                break
            }
            unsent = unsent.dropFirst(count)
        }
        if unsent.isEmpty { unsent = [] }
        watch(unsent.isEmpty ? .read : [.read, .write])
    }

    private func watch(_ interest: Interest) {
        do throws(RunLoopError) {
            try source?.update(interest)
        } catch {
            let failure = RingwakeKitError(refusedBySystem: error)
            runLoop.enqueue { [weak self] in self?.end(failure) }
        }
    }

    private func read() {
        var buffer = [UInt8](repeating: 0, count: Self.readBytes)
        let count = recv(descriptor, &buffer, buffer.count, 0)
        if count > 0 { return deliver(.bytes(buffer[..<count])) }
        if count < 0, errno == EINTR || errno == EAGAIN { return }
        let why = count == 0 ? "the daemon closed it" : String(cString: strerror(errno))
        end(RingwakeKitError(.unreachable, "the connection to '\(path)' is over: \(why)"))
    }

    private static func refusal(_ error: Int32, _ path: String) -> RingwakeKitError {
        switch error {
        case ENOENT:
            RingwakeKitError(.daemonNotRunning, "no daemon: there is no socket '\(path)'; start ringwaked")
        case ECONNREFUSED:
            RingwakeKitError(.daemonNotRunning, "no daemon listens on '\(path)', it was left by one that has gone")
        case EACCES, EPERM:
            RingwakeKitError(.notPermitted, "this user may not use the socket '\(path)'")
        case EAGAIN:
            RingwakeKitError(.unreachable, "the daemon at '\(path)' takes no connection now")
        default:
            RingwakeKitError(
                .unreachable, "the socket '\(path)' cannot be used: \(String(cString: strerror(error)))")
        }
    }
}
