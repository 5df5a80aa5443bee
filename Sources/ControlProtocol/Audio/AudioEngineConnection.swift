package import RunLoop

/// One end of the connection between the daemon and `ringwake-audio`: JSON objects, one per line, in both directions.
///
/// The callbacks are called from the loop, never from within ``send(_:)``.
package final class AudioEngineConnection<Incoming> {
    /// Why reading has ended.
    package enum End: Equatable, Sendable {
        /// The socket has ended, perhaps in the middle of a line.
        case socket(StreamSocket.End, isTorn: Bool)
        /// A line was no message or too long, for this reason.
        case malformed(String)
    }

    package var onMessage: ((Incoming) -> Void)?
    /// Called with the name of a message that this version doesn't know.
    package var onUnknown: ((String) -> Void)?
    /// Called once, as the last callback.
    package var onEnd: ((End) -> Void)?

    private let socket: StreamSocket
    private let decode: ([UInt8]) throws(AudioEngineLineError) -> Incoming
    private var lines = AudioEngineLines()

    /// - Parameters:
    ///   - descriptor: a connected, non-blocking stream socket. This object closes it.
    ///   - decode: parses a line: ``AudioEngineLine/request(_:)`` or ``AudioEngineLine/report(_:)``.
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

    /// Starts reading.
    /// - Throws: if the loop can't watch the socket.
    package func begin(cause: WakeupCause) throws(RunLoopError) { try socket.begin(cause: cause) }

    /// Sends a line that ``AudioEngineLine`` has encoded.
    package func send(_ line: [UInt8]) { socket.send(line) }

    /// Stops reading. Lines are still sent while the socket accepts them. Idempotent.
    package func stopReading() { socket.stopReading() }

    /// Closes the socket, which the other end notices. Idempotent.
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
