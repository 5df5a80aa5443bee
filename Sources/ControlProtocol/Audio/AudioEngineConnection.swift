package import RunLoop

/// One end of the line between the daemon and `ringwake-audio`: one JSON object a line, in both directions.
///
/// The callbacks are called from the loop, never from within ``send(_:)``.
package final class AudioEngineConnection<Incoming> {
    /// Why nothing more is read.
    package enum End: Equatable, Sendable {
        /// The socket's end, perhaps in the middle of a line.
        case socket(StreamSocket.End, isTorn: Bool)
        /// What came is no message, or too long: why.
        case malformed(String)
    }

    package var onMessage: ((Incoming) -> Void)?
    /// The name of a message of another version.
    package var onUnknown: ((String) -> Void)?
    /// Called once, and last.
    package var onEnd: ((End) -> Void)?

    private let socket: StreamSocket
    private let decode: ([UInt8]) throws(AudioEngineLineError) -> Incoming
    private var lines = AudioEngineLines()

    /// - Parameters:
    ///   - descriptor: A connected stream socket that does not block; it is closed with this object.
    ///   - decode: Reads one line: ``AudioEngineLine/request(_:)`` or ``AudioEngineLine/report(_:)``.
    package init(
        _ descriptor: Int32, runLoop: RunLoop, decode: @escaping ([UInt8]) throws(AudioEngineLineError) -> Incoming
    ) {
        // Larger than many turns' messages, so a full buffer means that the other end is stuck.
        socket = StreamSocket(descriptor, runLoop: runLoop, maximumUnsent: 1 << 20)
        self.decode = decode
        socket.onBytes = { [weak self] in self?.consume($0) }
        socket.onEnd = { [weak self] end in
            if let self { onEnd?(.socket(end, isTorn: lines.hasRest)) }
        }
    }

    /// Starts to read.
    /// - Throws: The loop cannot watch the socket.
    package func begin(cause: WakeupCause) throws(RunLoopError) { try socket.begin(cause: cause) }

    /// Sends a line that ``AudioEngineLine`` has encoded.
    package func send(_ line: [UInt8]) { socket.send(line) }

    /// Reads no more; lines are still sent as far as the socket takes them. Idempotent.
    package func stopReading() { socket.stopReading() }

    /// Closes the socket: the other end sees that. Idempotent.
    package func close() { socket.close() }

    private func consume(_ bytes: ArraySlice<UInt8>) {
        lines.consume(bytes)
        do throws(AudioEngineLineError) {
            while socket.isReading, let line = try lines.next() {
                do throws(AudioEngineLineError) {
                    onMessage?(try decode(line))
                } catch .unknown(let name) {
                    onUnknown?(name)
                }
            }
        } catch {
            socket.stopReading()
            onEnd?(.malformed("\(error)"))
        }
    }
}
