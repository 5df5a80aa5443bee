/// One request's answer, on either protocol.
///
/// Answer with ``respond(_:)``, at once or later; or, on HTTP/1.1, with a stream of chunks.
/// On an exchange that is not open every call is ignored, so a late answer does no harm.
package protocol HTTPExchange: AnyObject {
    /// Whether an answer can still be given, or a begun stream continued.
    var isOpen: Bool { get }

    /// Sends the whole answer. The exchange is not open afterwards.
    func respond(_ response: HTTPResponse)

    /// Begins an answer whose body comes in pieces.
    ///
    /// HTTP/1.1 sends each piece when it is given. HTTP/2 gathers them, up to the same bound, and sends them at the end.
    func beginStream(status: Int, fields: [HTTPField])

    /// Sends a piece of a begun stream.
    ///
    /// - Returns: false when the client is gone or read so slowly that more than
    ///   ``ConnectionLimits/maximumBufferedStreamBytes`` waited; the exchange is closed then.
    func send(_ bytes: [UInt8]) -> Bool

    /// Sends now what was given, as far as the client takes it, and not at the end of the loop's turn. HTTP/2 has no
    /// need of it.
    func flush()

    /// Ends a begun stream. The exchange is not open afterwards.
    func finish()

    /// Called once when the exchange ends otherwise than by ``respond(_:)`` or ``finish()``: the client left or
    /// reset it, a deadline passed, the server closed the connection.
    var onClose: (() -> Void)? { get set }
}

extension HTTPExchange {
    package func flush() {}
}

/// Receives the requests of one connection.
package protocol HTTPConnectionHandler: AnyObject {
    /// A complete request arrived. HTTP/2 may deliver many before the first is answered, HTTP/1.1 one at a time.
    func received(_ request: HTTPRequest, on exchange: any HTTPExchange)

    /// The connection ended; called once, after the last exchange was closed.
    func connectionClosed()
}
