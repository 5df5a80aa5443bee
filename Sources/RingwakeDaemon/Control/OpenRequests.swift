internal import CallService
internal import ControlProtocol
internal import HTTPServer

/// Unanswered control requests, and open streams.
final class OpenRequests {
    /// Called when a client leaves before its request is answered or its stream ends.
    var onLeave: ((RequestID) -> Void)?

    private var exchanges: [RequestID: any HTTPExchange] = [:]
    private var streams: Set<RequestID> = []
    private var lastNumber: UInt64 = 0

    /// A new request number.
    func nextID() -> RequestID {
        lastNumber += 1
        return RequestID(number: lastNumber)
    }

    func add(_ exchange: any HTTPExchange) -> RequestID {
        let id = nextID()
        exchanges[id] = exchange
        exchange.onClose = { [weak self] in self?.leave(id) }
        return id
    }

    /// Transfers the exchange to the caller, which answers it.
    func take(_ id: RequestID) -> (any HTTPExchange)? {
        streams.remove(id)
        let exchange = exchanges.removeValue(forKey: id)
        exchange?.onClose = nil
        return exchange
    }

    func respond(_ id: RequestID, status: Int, json: [UInt8]) { take(id)?.respond(status: status, json: json) }

    /// Answers 429.
    func refuse(_ id: RequestID, for wait: Duration, json: [UInt8]) {
        take(id)?.refuse(for: wait, json: json)
    }

    func respond(_ id: RequestID, bytes: [UInt8]) {
        take(id)?.respond(
            HTTPResponse(
                status: 200, fields: [HTTPField(name: "content-type", value: "application/octet-stream")], body: bytes))
    }

    func begin(_ id: RequestID) {
        guard let exchange = exchanges[id] else { return }
        exchange.beginLines()
        streams.insert(id)
        // `onClose` isn't called for a client that has already left.
        if !exchange.isOpen { leave(id) }
    }

    /// Sends to a stream. A client that doesn't read is disconnected.
    ///
    /// - Parameter now: send at once, not at the end of the loop's turn.
    func send(_ id: RequestID, _ bytes: [UInt8], now: Bool) {
        guard let exchange = exchanges[id] else { return }
        if !exchange.send(bytes) {
            leave(id)
        } else if now {
            exchange.flush()
        }
    }

    func end(_ id: RequestID) { take(id)?.finish() }

    /// Ends every stream properly, because the daemon is stopping.
    func endStreams() {
        for id in streams { end(id) }
    }

    private func leave(_ id: RequestID) {
        guard take(id) != nil else { return }
        onLeave?(id)
    }
}
