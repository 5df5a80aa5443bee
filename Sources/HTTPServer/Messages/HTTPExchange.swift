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

    /// Called once if the exchange ends without ``respond(_:)`` or ``finish()``: the client left or reset it, a
    /// deadline passed, or the server closed the connection.
    var onClose: (() -> Void)? { get set }
}

extension HTTPExchange {
    package func flush() {}
}

/// Receives the requests of one connection.
package protocol HTTPConnectionHandler: AnyObject {
    /// A complete request has arrived. HTTP/2 may deliver many before the first is answered, HTTP/1.1 one at a time.
    func received(_ request: HTTPRequest, on exchange: any HTTPExchange)

    /// The connection ended; called once, after the last exchange was closed.
    func connectionClosed()

    /// Who holds the connection; nil: the user of its peer.
    var holder: PlaceHolder? { get }
}

extension HTTPConnectionHandler {
    package var holder: PlaceHolder? { nil }
}
