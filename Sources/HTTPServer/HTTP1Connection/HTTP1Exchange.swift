import HTTP1

/// One request and its answer on an HTTP/1.1 connection.
///
/// ```
/// waiting --respond--> done      waiting --beginStream--> streaming --finish--> done
///   waiting, streaming --wasClosed--> done
/// ```
final class HTTP1Exchange: HTTPExchange {
    private enum State {
        case waiting
        case streaming
        case done
    }

    var onClose: (() -> Void)?
    private(set) var keepAlive: Bool
    private let isHeadRequest: Bool
    private let isChunked: Bool
    private var state = State.waiting
    private var connection: HTTP1Connection?

    init(_ request: HTTP1Request, connection: HTTP1Connection) {
        isHeadRequest = request.method == "HEAD"
        isChunked = request.minorVersion >= 1
        keepAlive = request.keepAlive
        self.connection = connection
    }

    var isOpen: Bool { connection != nil }

    /// Whether the answer is a stream that has begun.
    var isStreaming: Bool {
        if case .streaming = state { true } else { false }
    }

    func respond(_ response: HTTPResponse) {
        guard case .waiting = state else { return }
        let bytes = HTTP1Writer.response(
            status: response.status, fields: response.fields.map(HTTP1Field.init), body: response.body,
            keepAlive: keepAlive && connection?.isDraining == false, isHeadOnly: isHeadRequest)
        end(with: bytes)
    }

    func beginStream(status: Int, fields: [HTTPField]) {
        guard case .waiting = state, let connection else { return }
        state = .streaming
        if !isChunked {
            // For HTTP/1.0 clients, closing the connection ends the body.
            keepAlive = false
        }
        let head = HTTP1Writer.streamHead(
            status: status, fields: fields.map(HTTP1Field.init), isChunked: isChunked, keepAlive: keepAlive)
        if connection.append(head) {
            connection.streamBegan()
        }
    }

    func send(_ bytes: [UInt8]) -> Bool {
        guard case .streaming = state, let connection else { return false }
        return isHeadRequest || connection.append(isChunked ? HTTP1Writer.chunk(bytes) : bytes)
    }

    func flush() { connection?.flushStream() }

    func finish() {
        guard case .streaming = state else { return }
        end(with: isChunked && !isHeadRequest ? HTTP1Writer.lastChunk : [])
    }

    /// The connection is closed.
    func wasClosed() {
        guard connection != nil else { return }
        connection = nil
        state = .done
        let onClose = onClose
        self.onClose = nil
        onClose?()
    }

    private func end(with bytes: [UInt8]) {
        state = .done
        onClose = nil
        let connection = connection
        self.connection = nil
        connection?.exchangeEnded(self, with: bytes)
    }
}

extension HTTP1Field {
    init(_ field: HTTPField) {
        self.init(name: field.name, value: field.value)
    }
}
