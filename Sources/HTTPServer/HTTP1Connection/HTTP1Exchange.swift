import HTTP1
import RingwakeCore

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
    /// Whether a stream that it begins leaves the connection to further requests.
    let isShared: Bool
    /// Its answer is a line of the stream that the connection has.
    private let isBesideStream: Bool
    private var state = State.waiting
    private var connection: HTTP1Connection?

    private static let tooManyStreams = HTTPResponse.refusal(
        .limitReached, "as many streams are open as may be; close one, or try again later")
    private static let secondStream = HTTPResponse.refusal(
        .conflict, "this connection has a stream; ask for another one on a connection of its own")

    /// - Parameter besideStream: whether the connection has a stream.
    init(_ request: HTTP1Request, connection: HTTP1Connection, besideStream: Bool) {
        isHeadRequest = request.method == "HEAD"
        isShared = request.asks(toUpgradeTo: HTTP1Upgrade.lines) && !besideStream
        isChunked = request.minorVersion >= 1 && !isShared
        isBesideStream = besideStream
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
        if isBesideStream { return end(with: SharedStream.answer(response)) }
        let isKept = keepAlive && connection?.isDraining == false
        end(with: response.bytes(keepAlive: isKept, isHeadOnly: isHeadRequest))
    }

    func beginStream(status: Int, fields: [HTTPField]) {
        guard case .waiting = state, let connection else { return }
        if isBesideStream { return respond(HTTP1Exchange.secondStream) }
        guard connection.takeStreamPlace() else {
            keepAlive = false
            return respond(HTTP1Exchange.tooManyStreams)
        }
        state = .streaming
        if !isChunked, !isShared {
            // For HTTP/1.0 clients, closing the connection ends the body.
            keepAlive = false
        }
        let head =
            isShared
            ? HTTP1Writer.upgradeHead(to: HTTP1Upgrade.lines)
            : HTTP1Writer.streamHead(
                status: status, fields: fields.map(HTTP1Field.init), isChunked: isChunked, keepAlive: keepAlive)
        if connection.append(head) { connection.streamBegan(self) }
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

    func abort() { connection?.close() }

    func endConnection(reason: String) { keepAlive = false }

    /// The connection is closed.
    func wasClosed() {
        guard let connection else { return }
        if isStreaming { connection.releaseStreamPlace() }
        self.connection = nil
        state = .done
        let onClose = onClose
        self.onClose = nil
        onClose?()
    }

    private func end(with bytes: [UInt8]) {
        if isStreaming { connection?.releaseStreamPlace() }
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
