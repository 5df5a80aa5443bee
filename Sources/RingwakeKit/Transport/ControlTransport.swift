/// The way to a daemon: a unix socket, or, in an app's tests, a daemon that is simulated in the same process.
///
/// It belongs to one client. Everything is called on the client's thread, and nothing here waits. What comes of it is
/// told to the ``ClientPort`` that it was made with (``ClientPort/tell(_:)``), from any thread, in the order that it
/// happened; also what is known at once is told so, and not by calling back.
package protocol ControlTransport: AnyObject {
    /// Opens the stream of a connected handler. There is one at a time: the one before has ended, or was closed.
    ///
    /// Told of it: `streamOpened` once the daemon has answered 200, then `streamLine` for each line, then once
    /// `streamEnded`; or at once `streamRefused`, or `streamEnded` when there is no daemon.
    func openStream(_ number: UInt64, _ request: ControlRequest)

    /// Closes the stream. What is told of it after this is passed over.
    func closeStream(_ number: UInt64)

    /// Sends a request after those of its lane that were sent before. Told of it, once: `answered` or `failed`.
    func send(_ number: UInt64, _ request: ControlRequest)

    /// Nobody waits for this answer any more. What is told of it after this is passed over.
    func cancel(_ number: UInt64)

    /// Ends everything. Nothing is called after it.
    func close()
}

/// A request of the control API.
package struct ControlRequest: Hashable, Sendable {
    /// Which requests wait for each other. The two must not: what a user asks for is done when the handler has done its
    /// part, and both may be in one process.
    package enum Lane: Hashable, Sendable, CaseIterable {
        /// What a handler says, with its secret.
        case handler
        /// What a user asks for, by the right of the process's user.
        case user
    }

    package var lane: Lane
    /// `GET`, `POST`, `PUT` or `DELETE`.
    package var method: String
    /// Path and query, percent-encoded.
    package var target: String
    /// For `Authorization: Bearer SECRET`.
    package var secret: String?
    /// Nil for none; empty for a POST that says nothing.
    package var body: [UInt8]?
    /// Whether `body` is JSON; else it is octets.
    package var isJSON = true

    package init(
        _ lane: Lane, _ method: String, _ target: String, secret: String? = nil, body: [UInt8]? = nil,
        isJSON: Bool = true
    ) {
        self.lane = lane
        self.method = method
        self.target = target
        self.secret = secret
        self.body = body
        self.isJSON = isJSON
    }
}

/// An answer of the control API, whole.
package struct ControlAnswer: Hashable, Sendable {
    package var status: Int
    package var body: [UInt8]

    package init(status: Int, body: [UInt8]) {
        self.status = status
        self.body = body
    }
}

/// What a transport tells. Numbers are those that it was given.
package enum TransportEvent: Sendable {
    /// The daemon has answered 200.
    case streamOpened(UInt64)
    /// One line of JSON, without its end.
    case streamLine(UInt64, [UInt8])
    /// The daemon does not give the stream, and says why.
    case streamRefused(UInt64, ControlAnswer)
    /// It is over, or there is no daemon.
    case streamEnded(UInt64, RingwakeKitError)
    case answered(UInt64, ControlAnswer)
    /// There is no answer. `wasSent`: the daemon may have got the request, and done what it asks for.
    case failed(UInt64, RingwakeKitError, wasSent: Bool)
}

/// Bounds of every transport.
package enum TransportLimits {
    /// Bytes of a line of the stream.
    package static let lineBytes = 1 << 20
    /// Bytes of an answer.
    package static let answerBytes = 8 << 20
    /// Requests that wait.
    package static let requests = 256
}
