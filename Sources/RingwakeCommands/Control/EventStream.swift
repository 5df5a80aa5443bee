import ControlProtocol
import FoundationEssentials
import HTTP1
import RingwakeCore

/// The lines of `GET /v1/events`, one after another.
struct EventStream: ~Copyable {
    /// Maximum bytes of a line.
    static let maximumLineBytes = 64 * 1024

    /// The result of a wait for a line.
    enum Next: Equatable {
        /// One event as JSON, without its newline.
        case line([UInt8])
        /// The daemon ended the stream.
        case ended
        /// The deadline passed.
        case timedOut
        /// The reader of this program's output has left.
        case outputClosed
    }

    /// Decodes a line.
    ///
    /// - Parameter what: names the message in the error.
    static func message<Message: Decodable>(_ line: [UInt8], _ what: String) throws(RingwakeError) -> Message {
        if let message = try? JSONDecoder().decode(Message.self, from: Data(line)) { return message }
        throw RingwakeError(
            .unreachable,
            "the daemon sent \(what) that this version does not know; install the same version of both")
    }

    private let socket: ControlSocket
    private var parser: HTTP1ResponseParser
    private let path: String
    private var lines: LineSplitter<RingwakeError>
    private var isAtEnd = false

    /// For poll(2): readable if ``nextAtOnce()`` may find an event.
    var descriptor: Int32 { socket.descriptor }

    init(socket: consuming ControlSocket, parser: HTTP1ResponseParser, path: String) {
        self.socket = socket
        self.parser = parser
        self.path = path
        lines = LineSplitter(
            maximumBytes: EventStream.maximumLineBytes,
            tooLong: RingwakeError(
                .unreachable,
                "'\(path)' sent an event longer than \(EventStream.maximumLineBytes) bytes; is it ringwaked?"))
    }

    /// Waits for the next event, until `deadline` (nil: forever) or until the reader of `output` leaves.
    mutating func next(until deadline: Deadline?, output: Int32?) throws(RingwakeError) -> Next {
        while true {
            if let next = try buffered() { return next }
            if let deadline, deadline.hasPassed { return .timedOut }
            if let end = try receive(until: deadline, output: output) { return end }
        }
    }

    /// The next event that has arrived already or can be read without waiting; `timedOut` if there is none.
    mutating func nextAtOnce() throws(RingwakeError) -> Next {
        if let next = try buffered() { return next }
        if let end = try receive(until: Deadline(after: .zero), output: nil) { return end }
        return try buffered() ?? .timedOut
    }

    /// The next event in the buffer; nil if there is no complete one.
    private mutating func buffered() throws(RingwakeError) -> Next? {
        while true {
            if let line = try lines.next() { return .line(line) }
            if isAtEnd { return .ended }
            guard try readBody() else { return nil }
        }
    }

    /// Reads once. Nil if bytes or the end of the stream arrived.
    private mutating func receive(until deadline: Deadline?, output: Int32?) throws(RingwakeError) -> Next? {
        do throws(RingwakeError) {
            switch try socket.receive(until: deadline, output: output) {
            case .bytes(let bytes): parser.consume(bytes)
            // A daemon that stops or is killed closes the connection in the middle of the stream.
            case .closed: isAtEnd = true
            case .outputClosed: return .outputClosed
            }
        } catch {
            guard error.code == .timedOut else { throw error }
            return .timedOut
        }
        return nil
    }

    /// Moves the next part of the body to `lines`. False if the parser needs more bytes.
    private mutating func readBody() throws(RingwakeError) -> Bool {
        do throws(HTTP1Error) {
            switch try parser.next() {
            case .body(let bytes):
                lines.consume(bytes)
                return true
            case .end:
                isAtEnd = true
                return true
            case .head: return true
            case nil: return false
            }
        } catch {
            throw RingwakeError(
                .unreachable, "'\(path)' broke the event stream: \(error.message); see the daemon's log")
        }
    }
}
