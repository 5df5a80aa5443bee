/// Limits of a listener's connections: sizes, counts and deadlines.
///
/// Every deadline is total for its stage: a peer that sends slowly doesn't extend it.
package nonisolated struct ConnectionLimits: Sendable {
    /// Maximum connections. At the limit no more are accepted on a Unix socket; they wait in the kernel's backlog. On a
    /// provider port see ``maximumUnprovenConnections``.
    package var maximumConnections = 4096
    /// On a provider port: maximum connections, of ``maximumConnections``, that have not proven who they are. At the limit
    /// a new one takes the place of the oldest.
    package var maximumUnprovenConnections = 512
    /// On a provider port: maximum of these that one network (``PeerNetwork``) has.
    package var maximumUnprovenConnectionsOfNetwork = 64
    /// On a provider port: how long a connection may prove nothing, once half of their places are taken.
    package var unprovenIdleTime: Duration = .seconds(10)
    /// On a Unix socket: maximum connections of one ``PlaceHolder`` that isn't the owner.
    package var maximumConnectionsOfOne = 4096
    /// On a Unix socket: maximum connections of all users together, apart from the owner and apps. One user gets half of
    /// them at most.
    package var maximumConnectionsOfUsers = 4096
    /// On a Unix socket: maximum streamed answers. The other places are for requests, so that a handler always gets
    /// through with its report.
    package var maximumStreams = 4096
    /// On a Unix socket: maximum streamed answers of one ``PlaceHolder`` that isn't the owner.
    package var maximumStreamsOfOne = 4096
    /// On a Unix socket: as ``maximumConnectionsOfUsers``.
    package var maximumStreamsOfUsers = 4096
    /// Maximum HTTP/2 streams of a connection, as announced. Apple announces 1000.
    package var maximumConcurrentStreams: UInt32 = 1000
    /// Maximum bytes of a request's decoded field list, with 32 bytes added for each field (RFC 9113 section 6.5.2). A
    /// longer list is answered with 431.
    package var maximumHeaderListBytes = 16 * 1024
    /// Maximum bytes of an HTTP/2 field block, counted in the same way. Above this the stream is reset and the rest is
    /// ignored: a one-byte index can stand for 4 KiB (RFC 7541 section 7.3), so 431 must not wait for the end.
    package var maximumFieldBlockBytes = 64 * 1024
    /// Maximum fields of a request. More are answered with 431.
    package var maximumHeaderFields = 100
    /// Maximum bytes of a request's body. HTTP/2 discards the rest and marks the request; HTTP/1.1 answers with 413.
    package var maximumBodyBytes = 64 * 1024
    /// Maximum discarded bytes of an HTTP/2 body. Above this the request is answered before its end.
    package var maximumDiscardedBodyBytes = 1024 * 1024
    /// Maximum unread bytes of a streamed answer. Above this the slow client is disconnected.
    package var maximumBufferedStreamBytes = 256 * 1024
    /// Maximum stream resets by either end of an HTTP/2 connection in ``glitchPeriod``. Above this it is closed.
    package var maximumGlitches = 1000
    /// The period for ``maximumGlitches``.
    package var glitchPeriod: Duration = .seconds(30)

    /// From the accept to the end of the TLS handshake.
    package var handshakeDeadline: Duration = .seconds(10)
    /// From the end of the handshake to the client's HTTP/2 preface with its SETTINGS.
    package var prefaceDeadline: Duration = .seconds(10)
    /// From a request's first byte to its last.
    package var requestDeadline: Duration = .seconds(15)
    /// From an answer's submission until the kernel has accepted its last byte.
    package var writeDeadline: Duration = .seconds(30)
    /// From `drain()` until a client that has connected, and has sent no request yet, is closed. A request that was on
    /// its way is served.
    package var drainGrace: Duration = .seconds(1)
    /// From `drain()` until connections that still wait for answers are closed.
    package var drainDeadline: Duration = .seconds(5)
    /// Time for the peer to read the last bytes of a closed connection.
    package var lingerDeadline: Duration = .seconds(2)
    /// A deadline may fire this much late, so that several share one wakeup.
    package var deadlineTolerance: Duration = .seconds(1)

    /// Limits of the provider API.
    package init() {}

    /// Limits of a provider port.
    ///
    /// - Parameter available: how many connections the process has descriptors for.
    package static func provider(available: Int) -> ConnectionLimits {
        var limits = ConnectionLimits()
        limits.maximumConnections = max(2, min(limits.maximumConnections, available))
        limits.maximumUnprovenConnections = max(1, limits.maximumConnections / 8)
        limits.maximumUnprovenConnectionsOfNetwork = max(1, limits.maximumUnprovenConnections / 8)
        return limits
    }

    /// Limits of the control socket: a stream and a request at the same time for each of 768 handlers of one app.
    ///
    /// - Parameter available: how many connections the process has descriptors for. With fewer, all places get fewer.
    package static func control(available: Int = .max) -> ConnectionLimits {
        let connections = min(2048, available)
        var limits = ConnectionLimits()
        limits.maximumConnections = connections
        limits.maximumConnectionsOfOne = connections * 3 / 4
        limits.maximumConnectionsOfUsers = connections * 3 / 4
        limits.maximumStreams = connections / 2
        limits.maximumStreamsOfOne = connections * 3 / 8
        limits.maximumStreamsOfUsers = connections * 3 / 8
        limits.maximumHeaderFields = 64
        // Enough for several hundred simultaneous calls with callers of maximum length, for a handler that processes
        // one after the other.
        limits.maximumBufferedStreamBytes = 1024 * 1024
        limits.requestDeadline = .seconds(10)
        return limits
    }

    /// Limits of the status socket, where each client is a stranger.
    package static var status: ConnectionLimits {
        var limits = ConnectionLimits()
        limits.maximumConnections = 64
        limits.maximumConnectionsOfOne = 8
        limits.maximumStreams = 16
        limits.maximumStreamsOfOne = 4
        limits.maximumHeaderFields = 64
        limits.maximumBufferedStreamBytes = 64 * 1024
        limits.requestDeadline = .seconds(5)
        limits.writeDeadline = .seconds(5)
        return limits
    }

    /// Maximum connections of a holder.
    func connections(of holder: PlaceHolder) -> Int {
        Self.share(of: holder, maximumConnectionsOfOne, maximumConnectionsOfUsers)
    }

    /// Maximum streamed answers of a holder.
    func streams(of holder: PlaceHolder) -> Int { Self.share(of: holder, maximumStreamsOfOne, maximumStreamsOfUsers) }

    private static func share(of holder: PlaceHolder, _ ofOne: Int, _ ofUsers: Int) -> Int {
        switch holder {
        case .owner: .max
        case .app: ofOne
        case .user: min(ofOne, ofUsers / 2)
        }
    }
}
