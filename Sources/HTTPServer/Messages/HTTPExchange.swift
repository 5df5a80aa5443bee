/// The answer to one request, for both protocols.
///
/// Answer with ``respond(_:)``, at once or later, or with a stream. On an exchange that isn't open every call is
/// ignored, so a late answer does no harm.
package protocol HTTPExchange: AnyObject {
    /// Whether an answer can still be sent, or a stream continued.
    var isOpen: Bool { get }

    /// Sends the complete answer and closes the exchange.
    func respond(_ response: HTTPResponse)

    /// Begins an answer whose body is sent in pieces.
    ///
    /// HTTP/1.1 sends each piece at once. HTTP/2 collects them, up to the same limit, and sends them at the end. If there
    /// are too many streams already, the client is told so, and the exchange is closed.
    func beginStream(status: Int, fields: [HTTPField])

    /// Sends a piece of a begun stream.
    ///
    /// - Returns: false if the client has left, or more than ``ConnectionLimits/maximumBufferedStreamBytes`` are
    ///   unread; the exchange is then closed.
    func send(_ bytes: [UInt8]) -> Bool

    /// Sends the pieces now, as far as the client accepts them, and not at the end of the loop's turn. HTTP/2 ignores
    /// it.
    func flush()

    /// Ends a begun stream and closes the exchange.
    func finish()

    /// Closes the exchange without an answer: HTTP/2 resets the stream with INTERNAL_ERROR (RFC 9113 section 7), HTTP/1.1
    /// closes the connection.
    func abort()

    /// Closes the connection when its open requests are answered; HTTP/2 sends GOAWAY with this reason before that.
    func endConnection(reason: String)

    /// Called once if the exchange ends without ``respond(_:)`` or ``finish()``: the client left or reset it, a
    /// deadline passed, or the server closed the connection.
    var onClose: (() -> Void)? { get set }
}

extension HTTPExchange {
    package func flush() {}
}

/// What a handler decides when the head of a request has arrived, before any of its body is kept.
package enum HeadVerdict {
    /// The body is kept, and the function gets the complete request.
    case read((HTTPRequest, any HTTPExchange) -> Void)
    /// The request gets this answer, and its body is discarded.
    case refuse(HTTPResponse)
}

/// Receives the requests of one connection.
package protocol HTTPConnectionHandler: AnyObject {
    /// A complete request has arrived. HTTP/2 may deliver many before the first is answered, HTTP/1.1 one at a time.
    func received(_ request: HTTPRequest, on exchange: any HTTPExchange)

    /// Judges a request by its head. HTTP/2 only; HTTP/1.1 calls ``received(_:on:)``.
    func judge(_ head: HTTPRequest) -> HeadVerdict

    /// The account that the peer has proven to belong to, by a certificate or a token; nil if it has proven nothing yet.
    /// Once it isn't nil it stays the same. Asked at the beginning of a connection and after each ``judge(_:)``.
    var account: String? { get }

    /// Why the peer must no longer be connected: what it has proven is no longer valid. Nil if it still is.
    var revocation: String? { get }

    /// The connection ended; called once, after the last exchange was closed.
    func connectionClosed()

    /// Who holds the connection; nil: the user of its peer.
    var holder: PlaceHolder? { get }
}

extension HTTPConnectionHandler {
    package var holder: PlaceHolder? { nil }
    package var account: String? { nil }
    package var revocation: String? { nil }

    package func judge(_ head: HTTPRequest) -> HeadVerdict {
        head.isHeadTooLarge
            ? .refuse(HTTPResponse(status: 431)) : .read { request, exchange in self.received(request, on: exchange) }
    }
}
