import HTTPServer

/// Keeps the requests it gets; answers as it is told.
@MainActor final class RecordingHandler: HTTPConnectionHandler {
    let peer: PeerInfo
    var holder: PlaceHolder?
    var account: String?
    var revocation: String?
    /// What is done at the head of each request; nil: read its body.
    var onHead: (HTTPRequest) -> HTTPResponse? = { _ in nil }
    private(set) var requests: [HTTPRequest] = []
    private(set) var exchanges: [any HTTPExchange] = []
    private(set) var isClosed = false
    private let onRequest: (HTTPRequest, any HTTPExchange) -> Void

    init(peer: PeerInfo, onRequest: @escaping (HTTPRequest, any HTTPExchange) -> Void) {
        self.peer = peer
        self.onRequest = onRequest
    }

    func judge(_ head: HTTPRequest) -> HeadVerdict {
        if let refusal = head.isHeadTooLarge ? HTTPResponse(status: 431) : onHead(head) { return .refuse(refusal) }
        return .read { self.received($0, on: $1) }
    }

    func received(_ request: HTTPRequest, on exchange: any HTTPExchange) {
        requests.append(request)
        exchanges.append(exchange)
        onRequest(request, exchange)
    }

    func connectionClosed() {
        isClosed = true
    }
}

extension HTTPResponse {
    /// An answer as the push service gives when it accepts.
    static let accepted = HTTPResponse(
        status: 200, fields: [HTTPField(name: "apns-id", value: "eabeae54-14a8-11e5-b60b-1697f925ec7b")])

    /// One as it gives when it refuses.
    static let refused = HTTPResponse(
        status: 400,
        fields: [
            HTTPField(name: "apns-id", value: "eabeae54-14a8-11e5-b60b-1697f925ec7b"),
            HTTPField(name: "content-type", value: "application/json"),
        ],
        body: Array("{\"reason\":\"BadDeviceToken\"}".utf8))
}
