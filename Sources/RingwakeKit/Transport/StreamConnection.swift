internal import ControlProtocol
internal import FoundationEssentials
internal import HTTP1
internal import RunLoop

/// The connection of one event stream. Splits the stream into lines. It is shared with requests if the daemon can do
/// that: then the stream has a line for the answer to each.
final class StreamConnection {
    let number: UInt64
    private let deliver: (TransportEvent) -> Void
    private var connection: SocketConnection?
    private var parser = HTTP1ResponseParser(
        requestMethod: "GET", limits: HTTP1Limits(maximumBodyBytes: .max), isUpgradeExpected: true)
    private var lines = LineSplitter(
        maximumBytes: TransportLimits.lineBytes,
        tooLong: StreamConnection.bad("a line longer than \(TransportLimits.lineBytes) bytes"))
    /// Status and received body of an answer other than 200.
    private var refusal: (status: Int, body: [UInt8])?
    private var isOver = false
    /// Whether the stream has answers too.
    private var isShared = false
    /// Whether requests can be sent here.
    var takesRequests: Bool { isShared && !isOver }
    /// The requests without an answer. The first was sent; without a number, it was given up.
    private var waiting: [(number: UInt64?, message: ControlRequest)] = []

    init(
        _ number: UInt64, _ request: ControlRequest, path: String, runLoop: RunLoop,
        deliver: @escaping (TransportEvent) -> Void
    ) {
        self.number = number
        self.deliver = deliver
        let connection = SocketConnection(path: path, runLoop: runLoop) { [unowned self] in take($0) }
        self.connection = connection
        connection.send(request.sharedBytes)
    }

    func send(_ request: UInt64, _ message: ControlRequest) {
        waiting.append((request, message))
        if waiting.count == 1 { connection?.send(message.bytes) }
    }

    func cancel(_ request: UInt64) {
        guard let index = waiting.firstIndex(where: { $0.number == request }) else { return }
        if index == 0 { waiting[0].number = nil } else { waiting.remove(at: index) }
    }

    /// Closes the connection without an event. Idempotent.
    /// - Returns: the failures of the requests that have no answer.
    @discardableResult
    func close() -> [TransportEvent] {
        isOver = true
        connection?.close()
        let error = RingwakeKitError(.unreachable, "the stream ended before the answer")
        defer { waiting = [] }
        return waiting.enumerated().compactMap { index, request in
            request.number.map { .failed($0, error, wasSent: index == 0) }
        }
    }

    private func end(_ event: TransportEvent) {
        guard !isOver else { return }
        let failures = close()
        deliver(event)
        for failure in failures { deliver(failure) }
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
            isShared =
                head.status == 101 && head.fields.contains(HTTP1Field(name: "upgrade", value: HTTP1Upgrade.lines))
            guard head.status != 101 || isShared else {
                return end(.streamEnded(number, StreamConnection.bad("another protocol")))
            }
            if isShared || head.status == 200 { deliver(.streamOpened(number)) } else { refusal = (head.status, []) }
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
            while !isOver, let line = try lines.next() {
                if isShared, let status = JSONSlice.member("answer", of: line) {
                    takeAnswer(line, status)
                } else {
                    deliver(.streamLine(number, line))
                }
            }
        } catch {
            end(.streamEnded(number, error))
        }
    }

    private func takeAnswer(_ line: [UInt8], _ status: Range<Int>) {
        guard !waiting.isEmpty, let status = Int(String(decoding: line[status], as: UTF8.self)) else {
            return end(.streamEnded(number, StreamConnection.bad("an answer to nothing, or without a status")))
        }
        var body = JSONSlice.member("body", of: line).map { Array(line[$0]) } ?? []
        if let text = JSONSlice.member("octets", of: line) {
            body = Data(base64Encoded: Data(line[text].dropFirst().dropLast())).map(Array.init) ?? []
        }
        let answered = waiting.removeFirst().number
        if let next = waiting.first { connection?.send(next.message.bytes) }
        if let answered { deliver(.answered(answered, ControlAnswer(status: status, body: body))) }
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
