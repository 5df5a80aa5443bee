internal import ControlProtocol

/// A connection to a daemon: a unix socket, or, in an app's tests, a daemon that is simulated in the same process.
///
/// It belongs to one client. Everything is called on the client's thread, and nothing here blocks. It reports events to
/// ``ClientQueue/deliver(_:)``, from any thread, in order, and never from within a call.
package protocol ControlTransport: AnyObject {
    /// Opens a stream: a handler's, which makes this process one, or a user's, with the events of all apps. Each sender
    /// has one at a time: the one before has ended, or was closed.
    ///
    /// Reports `streamOpened` once the daemon has answered 200, then `streamLine` for each line, then `streamEnded`
    /// once; or `streamRefused`, or `streamEnded` if there is no daemon.
    func openStream(_ number: UInt64, _ request: ControlRequest)

    /// Closes the stream. Later events of it are ignored.
    func closeStream(_ number: UInt64)

    /// Sends a request after the earlier ones of its sender. Reports `answered` or `failed`, once.
    func send(_ number: UInt64, _ request: ControlRequest)

    /// Gives up a request. Later events of it are ignored.
    func cancel(_ number: UInt64)

    /// Ends everything. The last call.
    func close()
}

/// A request of the control API.
package struct ControlRequest: Hashable, Sendable {
    /// The header `User-Agent` of each request: this library's version, and what it uses.
    package static let userAgent = PeerVersion.own.userAgent

    /// Requests of one sender are answered in order. The senders are independent: a user's request completes only
    /// after the handler's, and both may come from one process.
    package enum Sender: Hashable, Sendable, CaseIterable {
        /// A handler, with its secret.
        case handler
        /// A user, with the rights of the process's user.
        case user
    }

    package var sender: Sender
    /// `GET`, `POST`, `PUT` or `DELETE`.
    package var method: String
    /// Path and query, percent-encoded.
    package var target: String
    /// For `Authorization: Bearer SECRET`.
    package var secret: String?
    /// Nil for none; empty for a POST without content.
    package var body: [UInt8]?
    /// Whether `body` is JSON; else it is octets.
    package var isJSON = true

    package init(
        _ sender: Sender, _ method: String, _ target: String, secret: String? = nil, body: [UInt8]? = nil,
        isJSON: Bool = true
    ) {
        self.sender = sender
        self.method = method
        self.target = target
        self.secret = secret
        self.body = body
        self.isJSON = isJSON
    }
}

/// A complete answer of the control API.
package struct ControlAnswer: Hashable, Sendable {
    package var status: Int
    package var body: [UInt8]

    package init(status: Int, body: [UInt8]) {
        self.status = status
        self.body = body
    }
}

/// An event of a transport. The numbers are those that were given to ``ControlTransport``.
package enum TransportEvent: Sendable {
    /// The daemon has answered 200.
    case streamOpened(UInt64)
    /// One line of JSON, without its end.
    case streamLine(UInt64, [UInt8])
    /// The daemon refuses the stream. The answer says why.
    case streamRefused(UInt64, ControlAnswer)
    /// The stream ended, or no daemon runs.
    case streamEnded(UInt64, RingwakeKitError)
    case answered(UInt64, ControlAnswer)
    /// There is no answer. `wasSent`: the daemon may have carried out the request.
    case failed(UInt64, RingwakeKitError, wasSent: Bool)
}

/// The limits of every transport.
package enum TransportLimits {
    /// Maximum bytes of a line of the stream.
    package static let lineBytes = 1 << 20
    /// Maximum bytes of an answer.
    package static let answerBytes = 8 << 20
    /// Maximum waiting requests.
    package static let requests = 256
}
