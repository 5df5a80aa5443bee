internal import ControlProtocol
internal import Glibc
internal import RingwakeCore
internal import RunLoop

/// The connection to the daemon: requests in, reports out, on one socket.
///
/// Nothing blocks: unsent reports are queued, in order, up to a limit; a daemon that does not read counts as gone.
final class AgentLine {
    /// Why it ended.
    enum End: Equatable {
        /// The other end closed it, perhaps in the middle of a line.
        case closed(isTorn: Bool)
        /// What came is no request, or too long: why.
        case malformed(String)
        /// The other end does not read, or the socket failed: why.
        case broken(String)
    }

    /// Maximum bytes of unsent reports: a daemon reads each at once.
    static let maximumUnsent = 1 << 20
    /// Bytes per read.
    private static let readSize = 65_536
    /// Reads per turn; the rest follows in the next.
    private static let readsPerTurn = 8

    var onRequest: ((AudioEngineRequest) -> Void)?
    /// The name of a request of a later version.
    var onUnknown: ((String) -> Void)?
    /// Called once, and last.
    var onEnd: ((End) -> Void)?

    private let descriptor: Int32
    private let runLoop: RunLoop
    private var source: ReadinessSource?
    private var lines = AudioEngineLines()
    private var unsent: ArraySlice<UInt8> = []
    private var isOver = false

    /// - Parameter descriptor: A connected stream socket that does not block. The caller keeps it, and closes it after
    ///   this.
    /// - Throws: It cannot be watched.
    init(_ descriptor: Int32, runLoop: RunLoop) throws(RunLoopError) {
        self.descriptor = descriptor
        self.runLoop = runLoop
        source = try runLoop.watch(descriptor, for: .read, cause: WakeupCause("line")) { [weak self] in
            self?.ready($0)
        }
    }

    deinit { close() }

    /// Stops reading; reports are still sent as far as the socket takes them. Idempotent.
    func close() {
        isOver = true
        source?.cancel()
        source = nil
    }

    func send(_ report: AudioEngineReport) {
        // After the end too: the other end may have closed only its half.
        unsent += AudioEngineLine.encoded(report)
        flush()
    }

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
            guard sent > 0 else {
                unsent = []
                // What the other end sent before it closed is still read, and then its end.
                return
            }
            unsent.removeFirst(sent)
        }
        guard !isOver else { return }
        guard unsent.count <= AgentLine.maximumUnsent else {
            unsent = []
            return end(.broken("the daemon does not read what it is told"))
        }
        do throws(RunLoopError) {
            try source?.update(unsent.isEmpty ? .read : [.read, .write])
        } catch {
            end(.broken("its socket cannot be watched: \(error)"))
        }
    }

    private func receive() {
        var buffer = [UInt8](repeating: 0, count: AgentLine.readSize)
        for _ in 0..<AgentLine.readsPerTurn where !isOver {
            let count = recv(descriptor, &buffer, buffer.count, 0)
            if count < 0, errno == EINTR { continue }
            if count < 0, errno == EAGAIN { return }
            // A daemon that was killed with reports unread shows as ECONNRESET.
            guard count > 0 else { return end(.closed(isTorn: lines.hasRest)) }
            lines.consume(buffer[..<count])
            takeLines()
        }
    }

    private func takeLines() {
        do throws(AudioEngineLineError) {
            while !isOver, let line = try lines.next() {
                do throws(AudioEngineLineError) {
                    onRequest?(try AudioEngineLine.request(line))
                } catch .unknown(let name) {
                    onUnknown?(name)
                }
            }
        } catch {
            end(.malformed("\(error)"))
        }
    }

    /// Called from the loop, never from within ``send(_:)``.
    private func end(_ end: End) {
        guard !isOver else { return }
        close()
        runLoop.enqueue { [self] in
            let onEnd = onEnd
            self.onEnd = nil
            onEnd?(end)
        }
    }
}
