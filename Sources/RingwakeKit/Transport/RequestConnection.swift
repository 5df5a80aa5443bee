internal import HTTP1
internal import RunLoop

/// Sends requests one at a time over a persistent connection, each after the answer to the previous one.
final class RequestConnection {
    private struct Waiting {
        let number: UInt64
        let request: ControlRequest
    }

    private let path: String
    private let runLoop: RunLoop
    private let deliver: (TransportEvent) -> Void
    private var connection: SocketConnection?
    /// Requests without an answer. The first was sent if ``isSent``.
    private var waiting: [Waiting] = []
    private var isSent = false
    private var parser = HTTP1ResponseParser(requestMethod: "GET", limits: .init())
    private var answer: ControlAnswer?
    private var isLast = false

    init(path: String, runLoop: RunLoop, deliver: @escaping (TransportEvent) -> Void) {
        self.path = path
        self.runLoop = runLoop
        self.deliver = deliver
    }

    func send(_ number: UInt64, _ request: ControlRequest) {
        waiting.append(Waiting(number: number, request: request))
        sendNext()
    }

    /// Cancels a request. If it was sent, also closes the connection: its answer would be taken for the next
    /// request's.
    func cancel(_ number: UInt64) {
        guard let index = waiting.firstIndex(where: { $0.number == number }) else { return }
        waiting.remove(at: index)
        guard index == 0, isSent else { return }
        drop()
        sendNext()
    }

    /// Closes the connection without an event. Idempotent.
    func close() {
        waiting = []
        drop()
    }

    private func drop() {
        connection?.close()
        connection = nil
        isSent = false
        answer = nil
    }

    private func sendNext() {
        guard !isSent, let first = waiting.first else { return }
        isSent = true
        answer = nil
        isLast = false
        parser = HTTP1ResponseParser(
            requestMethod: first.request.method, limits: HTTP1Limits(maximumBodyBytes: TransportLimits.answerBytes))
        let connection = connection ?? SocketConnection(path: path, runLoop: runLoop) { [unowned self] in take($0) }
        self.connection = connection
        connection.send(first.request.bytes)
    }

    private func take(_ event: SocketConnection.Event) {
        switch event {
        case .bytes(let bytes):
            guard isSent else { return drop() }
            parser.consume(bytes)
            takeEvents()
        case .ended(let error):
            // The daemon may close an idle connection. The next request opens another.
            guard isSent else { return drop() }
            guard connection?.wasConnected == true else { return fail(error) }
            do throws(HTTP1Error) {
                if try parser.connectionClosed() == .end { return finish() }
                fail(error)
            } catch {
                fail(RingwakeKitError(.unreachable, "the daemon at '\(path)' broke off before its answer"))
            }
        }
    }

    private func takeEvents() {
        do throws(HTTP1Error) {
            while isSent, let event = try parser.next() {
                switch event {
                case .head(let head):
                    answer = ControlAnswer(status: head.status, body: [])
                    isLast = head.fields.contains { $0.name == "connection" && $0.value.lowercased() == "close" }
                case .body(let bytes): answer?.body += bytes
                case .end: finish()
                }
            }
        } catch {
            fail(RingwakeKitError(.badAnswer, "'\(path)' gave no answer of ringwaked's: \(error.message)"))
        }
    }

    private func finish() {
        guard let first = waiting.first, let answer else { return drop() }
        waiting.removeFirst()
        isSent = false
        self.answer = nil
        if isLast { drop() }
        deliver(.answered(first.number, answer))
        sendNext()
    }

    /// The connection failed, and with it all its requests. ``RequestQueue`` decides which of them to send again.
    private func fail(_ error: RingwakeKitError) {
        let wasConnected = connection?.wasConnected ?? false
        let failed = waiting
        waiting = []
        drop()
        for (index, entry) in failed.enumerated() {
            deliver(.failed(entry.number, error, wasSent: index == 0 && wasConnected))
        }
    }
}
