/// What one listener allows its peers: sizes, counts and deadlines.
///
/// Every deadline is a total for its stage: a peer that trickles bytes does not extend it.
package nonisolated struct ConnectionLimits: Sendable {
    /// Connections at a time; while there are so many, no further one is accepted (it waits in the kernel's backlog).
    package var maximumConnections = 4096
    /// Of these, on a Unix socket, those of users who are neither root nor the process's own; more are refused. Else
    /// any local user could take all of them, and no handler could report its call.
    package var maximumConnectionsOfOtherUsers = 4096
    /// HTTP/2 streams at a time on one connection, as announced; Apple announces 1000.
    package var maximumConcurrentStreams: UInt32 = 1000
    /// Bytes of a request's decoded field list, each field counted with 32 bytes more (RFC 9113 section 6.5.2);
    /// a longer list is answered 431.
    package var maximumHeaderListBytes = 16 * 1024
    /// Bytes of an HTTP/2 field block, counted likewise, after which its stream is reset and the rest is not looked
    /// at: an index of one byte can stand for 4 KiB (RFC 7541 section 7.3), so 431 must not wait for the end.
    package var maximumFieldBlockBytes = 64 * 1024
    /// Fields of one request; more are answered 431.
    package var maximumHeaderFields = 100
    /// Bytes of one request's body that are kept. HTTP/2 discards the rest and says so; HTTP/1.1 answers 413.
    package var maximumBodyBytes = 64 * 1024
    /// Bytes of one HTTP/2 request's body that are discarded before it is answered without waiting for its end.
    package var maximumDiscardedBodyBytes = 1024 * 1024
    /// Bytes that the requests of each HTTP/2 connection may hold beside the server's ``BufferBudget``: two usual
    /// pushes. So peers that use the budget up cannot lock out the others.
    package var guaranteedBufferBytes = 16 * 1024
    /// Bytes of a streamed answer that may wait for a slow reader before it is dropped.
    package var maximumBufferedStreamBytes = 256 * 1024
    /// Streams reset by either end on one HTTP/2 connection in ``glitchPeriod`` before it is closed.
    package var maximumGlitches = 1000
    /// The period for ``maximumGlitches``.
    package var glitchPeriod: Duration = .seconds(30)

    /// From accept to the end of the TLS handshake.
    package var handshakeDeadline: Duration = .seconds(10)
    /// From the end of the handshake to the client's HTTP/2 preface with its SETTINGS.
    package var prefaceDeadline: Duration = .seconds(10)
    /// From a request's first byte to its last.
    package var requestDeadline: Duration = .seconds(15)
    /// From an answer's submission to its last byte leaving for the kernel.
    package var writeDeadline: Duration = .seconds(30)
    /// From `drain()` to the end of the connections that still wait for answers.
    package var drainDeadline: Duration = .seconds(5)
    /// How long a closed connection's last bytes may take to be fetched by the peer.
    package var lingerDeadline: Duration = .seconds(2)
    /// How much later than due a deadline may be noticed, so that many are met in one wakeup.
    package var deadlineTolerance: Duration = .seconds(1)

    /// The width for the provider API.
    package init() {}

    /// The width for the control socket.
    package static var control: ConnectionLimits {
        var limits = ConnectionLimits()
        limits.maximumConnections = 128
        limits.maximumConnectionsOfOtherUsers = 32
        limits.maximumHeaderFields = 64
        // Several hundred calls that come at once, each with a caller of full length, for a handler that does one
        // thing after the other.
        limits.maximumBufferedStreamBytes = 1024 * 1024
        limits.requestDeadline = .seconds(10)
        return limits
    }
}
