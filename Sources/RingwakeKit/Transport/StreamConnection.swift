internal import ControlProtocol
internal import HTTP1
internal import RunLoop

/// The connection of one event stream. Splits the stream into lines.
final class StreamConnection {
    let number: UInt64
    private let deliver: (TransportEvent) -> Void
    private var connection: SocketConnection?
    private var parser = HTTP1ResponseParser(requestMethod: "GET", limits: HTTP1Limits(maximumBodyBytes: .max))
    private var lines = LineSplitter(
        maximumBytes: TransportLimits.lineBytes,
        tooLong: StreamConnection.bad("a line longer than \(TransportLimits.lineBytes) bytes"))
    /// Status and received body of an answer other than 200.
    private var refusal: (status: Int, body: [UInt8])?
    private var isOver = false

    init(
        _ number: UInt64, _ request: ControlRequest, path: String, runLoop: RunLoop,
        deliver: @escaping (TransportEvent) -> Void
    ) {
        self.number = number
        self.deliver = deliver
        let connection = SocketConnection(path: path, runLoop: runLoop) { [unowned self] in take($0) }
        self.connection = connection
        connection.send(request.bytes)
    }

    /// Closes the connection without an event. Idempotent.
    func close() {
        isOver = true
        connection?.close()
    }

    private func end(_ event: TransportEvent) {
        guard !isOver else { return }
        close()
        deliver(event)
    }

    private func take(_ event: SocketConnection.Event) {
        switch event {
        case .bytes(let bytes):
            parser.consume(bytes)
            takeEvents()
        case .ended(let error):
            // A daemon that stops or is killed closes the connection in the middle of the stream.
            end(.streamEnded(number, error))
        }
    }

    private func takeEvents() {
        do throws(HTTP1Error) {
            while !isOver, let event = try parser.next() { take(event) }
        } catch {
            end(.streamEnded(number, StreamConnection.bad(error.message)))
        }
    }

    private func take(_ event: HTTP1ResponseEvent) {
        switch event {
        case .head(let head):
            if head.status == 200 { deliver(.streamOpened(number)) } else { refusal = (head.status, []) }
        case .body(let bytes):
            guard refusal == nil else { return takeRefusal(bytes) }
            takeLines(bytes)
        case .end:
            if let refusal {
                end(.streamRefused(number, ControlAnswer(status: refusal.status, body: refusal.body)))
            } else {
                end(.streamEnded(number, RingwakeKitError(.unreachable, "the daemon ended the stream")))
            }
        }
    }

    private func takeLines(_ bytes: [UInt8]) {
        lines.consume(bytes)
        do throws(RingwakeKitError) {
            while !isOver, let line = try lines.next() { deliver(.streamLine(number, line)) }
        } catch {
            end(.streamEnded(number, error))
        }
    }

    private func takeRefusal(_ bytes: [UInt8]) {
        refusal?.body += bytes
        if let count = refusal?.body.count, count > TransportLimits.lineBytes {
            end(.streamEnded(number, StreamConnection.bad("a refusal of more than \(TransportLimits.lineBytes) bytes")))
        }
    }

    private static func bad(_ what: String) -> RingwakeKitError {
        RingwakeKitError(.badAnswer, "the daemon's stream is not as it should be: \(what)")
    }
}
