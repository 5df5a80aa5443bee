internal import Glibc

/// A connected, non-blocking stream socket on a loop.
///
/// The callbacks are called from the loop, never within ``send(_:)``.
package final class StreamSocket {
    /// Why reading has ended.
    package enum End: Equatable, Sendable {
        /// The peer closed the socket, or is gone: the `errno` of the read, 0 for an orderly end.
        case closed(Int32)
        /// The peer doesn't read: too many bytes are unsent.
        case unread
        /// The loop can't watch the socket.
        case unwatched(RunLoopError)
    }

    /// Bytes per read.
    private static let readSize = 65_536
    /// Maximum reads per turn, so that a peer that sends all the time doesn't block the loop.
    private static let readsPerTurn = 8

    /// Called with received bytes.
    package var onBytes: ((ArraySlice<UInt8>) -> Void)?
    /// Called once, as the last callback; not after ``stopReading()``.
    package var onEnd: ((End) -> Void)?

    private let runLoop: RunLoop
    private let maximumUnsent: Int
    /// -1 if closed.
    private var descriptor: Int32
    private var source: ReadinessSource?
    private var unsent: ArraySlice<UInt8> = []
    /// False after the end or ``stopReading()``.
    package private(set) var isReading = true

    /// - Parameters:
    ///   - descriptor: non-blocking; closed with this object.
    ///   - maximumUnsent: maximum unsent bytes.
    package init(_ descriptor: Int32, runLoop: RunLoop, maximumUnsent: Int) {
        self.descriptor = descriptor
        self.runLoop = runLoop
        self.maximumUnsent = maximumUnsent
    }

    deinit { close() }

    /// Starts reading.
    /// - Throws: if the loop can't watch the socket.
    package func begin(cause: WakeupCause) throws(RunLoopError) {
        source = try runLoop.watch(descriptor, for: .read, cause: cause) { [weak self] in self?.ready($0) }
    }

    /// Sends the bytes after those that are unsent. If the peer is gone, they are dropped; reading finds the end, after
    /// everything that the peer sent before.
    package func send(_ bytes: [UInt8]) {
        guard descriptor >= 0 else { return }
        unsent += bytes
        flush()
    }

    /// Stops reading. Bytes are still sent while the socket accepts them. Idempotent.
    package func stopReading() {
        isReading = false
        source?.cancel()
        source = nil
    }

    /// Closes the socket, which the peer notices. Idempotent.
    package func close() {
        stopReading()
        if descriptor >= 0 { Glibc.close(descriptor) }
        descriptor = -1
    }

    private func ready(_ readiness: Readiness) {
        if readiness.contains(.write) { flush() }
        if readiness.contains(.read) { receive() }
    }

    private func flush() {
        while !unsent.isEmpty {
            let sent = unsent.withUnsafeBytes {
                Glibc.send(descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL))
            }
            if sent < 0, errno == EINTR { continue }
            if sent < 0, errno == EAGAIN { break }
            if sent > 0 { unsent.removeFirst(sent) } else { unsent = [] }
        }
        guard isReading else { return }
        guard unsent.count <= maximumUnsent else { return end(.unread) }
        do throws(RunLoopError) {
            try source?.update(unsent.isEmpty ? .read : [.read, .write])
        } catch {
            end(.unwatched(error))
        }
    }

    private func receive() {
        var buffer = [UInt8](repeating: 0, count: Self.readSize)
        for _ in 0..<Self.readsPerTurn where isReading {
            let count = recv(descriptor, &buffer, buffer.count, 0)
            if count < 0, errno == EINTR { continue }
            if count < 0, errno == EAGAIN { return }
            // If the peer was killed with unread bytes, the error is ECONNRESET.
            guard count > 0 else { return end(.closed(count == 0 ? 0 : errno)) }
            onBytes?(buffer[..<count])
        }
    }

    private func end(_ end: End) {
        guard isReading else { return }
        stopReading()
        if end == .unread { unsent = [] }
        runLoop.enqueue { [self] in
            let onEnd = onEnd
            self.onEnd = nil
            onEnd?(end)
        }
    }
}
