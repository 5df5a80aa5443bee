internal import Glibc

/// A connected stream socket on a loop: bytes in, bytes out, each in their order. Nothing blocks.
///
/// The callbacks are called from the loop, never from within ``send(_:)``.
package final class StreamSocket {
    /// Why nothing more is read.
    package enum End: Equatable, Sendable {
        /// The peer closed it, or is gone: the `errno` of the read, 0 for an orderly end.
        case closed(Int32)
        /// The peer does not read: too much waits to be sent.
        case unread
        /// The loop cannot watch it.
        case unwatched(RunLoopError)
    }

    /// Bytes per read.
    private static let readSize = 65_536
    /// Reads per turn: a peer that never stops sending does not keep the loop from everything else.
    private static let readsPerTurn = 8

    /// What the peer has sent.
    package var onBytes: ((ArraySlice<UInt8>) -> Void)?
    /// Called once, and last; not after ``stopReading()``.
    package var onEnd: ((End) -> Void)?

    private let runLoop: RunLoop
    private let maximumUnsent: Int
    /// -1 when it is closed.
    private var descriptor: Int32
    private var source: ReadinessSource?
    private var unsent: ArraySlice<UInt8> = []
    /// False once it has ended, or ``stopReading()`` was called.
    package private(set) var isReading = true

    /// - Parameters:
    ///   - descriptor: It does not block, and is closed with this object.
    ///   - maximumUnsent: The most bytes that may wait to be sent.
    package init(_ descriptor: Int32, runLoop: RunLoop, maximumUnsent: Int) {
        self.descriptor = descriptor
        self.runLoop = runLoop
        self.maximumUnsent = maximumUnsent
    }

    deinit { close() }

    /// Starts to read.
    /// - Throws: The loop cannot watch it.
    package func begin(cause: WakeupCause) throws(RunLoopError) {
        source = try runLoop.watch(descriptor, for: .read, cause: cause) { [weak self] in self?.ready($0) }
    }

    /// Sends the bytes behind those that wait. Bytes for a peer that is gone are dropped: its end is found by reading,
    /// behind what it sent before.
    package func send(_ bytes: [UInt8]) {
        guard descriptor >= 0 else { return }
        unsent += bytes
        flush()
    }

    /// Reads no more; bytes are still sent as far as the socket takes them. Idempotent.
    package func stopReading() {
        isReading = false
        source?.cancel()
        source = nil
    }

    /// Closes it: the peer sees the end. Idempotent.
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
            // A peer that was killed with bytes unread shows as ECONNRESET.
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
