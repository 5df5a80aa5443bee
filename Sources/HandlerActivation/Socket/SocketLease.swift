internal import Glibc
internal import RingwakeCore
internal import RunLoop

/// The connection to a handler that listened for it.
final class SocketLease: LivingLease {
    /// A handler has nothing to say on this connection. What it says all the same is read, or its end would not be
    /// seen; but not for ever.
    static let maximumBytesRead = 65_536

    let wake: WakeID
    private let descriptor: Int32
    private let path: String
    let life: LeaseLife
    private let runLoop: RunLoop
    private var source: ReadinessSource?
    /// What the socket has not taken yet.
    private var unsent: ArraySlice<UInt8> = []
    private var bytesRead = 0

    /// - Parameter descriptor: Connected; closed at the end.
    init(descriptor: Int32, wake: WakeID, path: String, life: LeaseLife, runLoop: RunLoop) {
        self.descriptor = descriptor
        self.wake = wake
        self.path = path
        self.life = life
        self.runLoop = runLoop
        // Asked to end, it sees the end of what we send; by force, of what it can send.
        life.ask = { [weak self] in _ = self.map { shutdown($0.descriptor, Int32(SHUT_WR)) } }
        life.force = { [weak self] in self?.end("was stopped") }
    }

    deinit {
        close(descriptor)
    }

    /// Not known: who listens may be systemd, for a handler that it starts.
    var pid: Int32? { nil }
    /// The connection is lost with the daemon.
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

    /// False with errno when the connection is of no use any more.
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
        // The handler sees it now, whoever holds this object still.
        shutdown(descriptor, Int32(SHUT_RDWR))
        life.ended(.left(how))
    }
}

extension WakeupCause {
    /// A handler that listened for us answered, or closed its connection.
    static let handlerSocket = WakeupCause("handler-socket")
}
