internal import ControlProtocol
internal import Glibc
internal import Logging
internal import RingwakeCore
internal import RunLoop

/// The line to `ringwake-audio`: requests out, reports in, one JSON object a line.
///
/// When this end closes, however that comes, the other end undoes all that it did to the server, and leaves.
final class AudioLine {
    var onReport: ((AudioEngineReport) -> Void)?
    /// The other end is gone, for this reason. Once, and nothing is reported after it; not after ``close()``.
    var onEnd: ((String) -> Void)?

    private let descriptor: Int32
    private let logger: Logger
    private var source: ReadinessSource?
    private var lines = AudioEngineLines()
    /// What the socket has not taken yet.
    private var unsent: ArraySlice<UInt8> = []
    private var isOver = false

    /// Larger than the plans of many turns: a fuller buffer means that the other end is stuck.
    private static let maximumUnsent = 1 << 20
    private static let readSize = 65_536
    /// One that never stops reporting does not keep the daemon from everything else.
    private static let readsPerTurn = 8

    /// - Parameter descriptor: a connected stream socket that does not block; it is this object's from now on.
    init(_ descriptor: Int32, logger: Logger) {
        self.descriptor = descriptor
        self.logger = logger
    }

    func begin(on runLoop: RunLoop) throws(RunLoopError) {
        source = try runLoop.watch(descriptor, for: .read, cause: .audio) { [weak self] in self?.ready($0) }
    }

    deinit { Glibc.close(descriptor) }

    /// Sends a request. What cannot be sent ends the line.
    func send(_ request: AudioEngineRequest) {
        guard !isOver else { return }
        unsent += AudioEngineLine.encoded(request)
        flush()
    }

    /// Ends the line: the other end undoes what it did and leaves. Nothing is reported any more.
    func close() {
        guard !isOver else { return }
        isOver = true
        source?.cancel()
        source = nil
        // The object may live on in a callback for a moment; the other end is to see the end now.
        shutdown(descriptor, Int32(SHUT_RDWR))
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
            // Its last words, why it gave up perhaps, are still to be read.
            guard sent > 0 else { return receive() }
            unsent.removeFirst(sent)
        }
        guard unsent.count <= AudioLine.maximumUnsent else { return end("it does not read its requests") }
        do throws(RunLoopError) {
            try source?.update(unsent.isEmpty ? .read : [.read, .write])
        } catch {
            end("its line cannot be watched: \(error)")
        }
    }

    private func receive() {
        var buffer = [UInt8](repeating: 0, count: AudioLine.readSize)
        for _ in 0..<AudioLine.readsPerTurn where !isOver {
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
            // A program of a later version may report more.
            logger.debug("ringwake-audio reports something unknown", metadata: ["what": "\(name)"])
        }
    }

    private func end(_ why: String) {
        guard !isOver else { return }
        close()
        onEnd?(why)
    }
}

extension WakeupCause {
    /// `ringwake-audio` reported something.
    static let audio = WakeupCause("audio")
}
