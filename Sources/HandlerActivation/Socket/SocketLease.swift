internal import Glibc
internal import RingwakeCore
internal import RunLoop

/// The connection to a handler that listens on a socket.
final class SocketLease: LivingLease {
    /// A handler has nothing to send. If it sends anyway, we read it, or we wouldn't see the connection end; but only
    /// up to this many bytes.
    static let maximumBytesRead = 65_536

    let wake: WakeID
    private let descriptor: Int32
    private let path: String
    let life: LeaseLife
    private let runLoop: RunLoop
    private var source: ReadinessSource?
    /// Bytes that the socket hasn't accepted yet.
    private var unsent: ArraySlice<UInt8> = []
    private var bytesRead = 0

    /// - Parameter descriptor: connected; closed at the end.
    init(descriptor: Int32, wake: WakeID, path: String, life: LeaseLife, runLoop: RunLoop) {
        self.descriptor = descriptor
        self.wake = wake
        self.path = path
        self.life = life
        self.runLoop = runLoop
        // `ask` closes our sending direction, so the handler reads the end. `force` closes both directions.
        life.ask = { [weak self] in _ = self.map { shutdown($0.descriptor, Int32(SHUT_WR)) } }
        life.force = { [weak self] in self?.end("was stopped") }
    }

    deinit {
        close(descriptor)
    }

    /// Unknown: the listener may be systemd, which starts the handler.
    var pid: Int32? { nil }
    /// The connection ends with the daemon.
    var mark: HandlerMark? { nil }

    /// Sends the line and watches the connection.
    func begin(_ line: [UInt8], of app: AppID) throws(RingwakeError) {
        unsent = line[...]
        guard send() else { throw SocketCheck.failure(errno, path: path, of: app) }
        do throws(RunLoopError) {
            let interest: Interest = unsent.isEmpty ? .read : [.read, .write]
            source = try runLoop.watch(descriptor, for: interest, cause: .handlerSocket) { [self] readiness in
                ready(readiness)
            }
        } catch {
            throw RingwakeError(
                .system,
                "the handler of \(app) was not woken: \(LogText.harmless(path)) cannot be watched: \(error); raise"
                    + " LimitNOFILE= of the service")
        }
        runLoop.enqueue { [weak self] in self?.life.started(pid: nil) }
    }

    private func ready(_ readiness: Readiness) {
        if readiness.contains(.write), !unsent.isEmpty {
            guard send() else { return end("closed its connection") }
            if unsent.isEmpty { try? source?.update(.read) }
        }
        if readiness.contains(.read) { receive() }
    }

    /// Sends pending bytes. False with errno if the connection is broken.
    private func send() -> Bool {
        while !unsent.isEmpty {
            let sent = unsent.withUnsafeBytes {
                Glibc.send(descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL))
            }
            if sent < 0, errno == EINTR { continue }
            if sent < 0 { return errno == EAGAIN }
            unsent = unsent.dropFirst(sent)
        }
        return true
    }

    private func receive() {
        let count = withUnsafeTemporaryAllocation(byteCount: 4_096, alignment: 1) {
            read(descriptor, $0.baseAddress, $0.count)
        }
        if count < 0, errno == EAGAIN || errno == EINTR { return }
        if count < 0 { return end("closed its connection, with the push unread") }
        if count == 0 { return end("closed its connection") }
        bytesRead += count
        if bytesRead > Self.maximumBytesRead {
            end("sent more than \(Self.maximumBytesRead) bytes that nobody asked for, and was left")
        }
    }

    private func end(_ how: String) {
        source?.cancel()
        source = nil
        // Close now, so that the handler sees it even while this object is still referenced.
        shutdown(descriptor, Int32(SHUT_RDWR))
        life.ended(.left(how))
    }
}

extension WakeupCause {
    /// A handler on a socket sent something or closed its connection.
    static let handlerSocket = WakeupCause("handler-socket")
}
