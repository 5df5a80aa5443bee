import Logging
import RingwakeCore
import RunLoop

/// Shared by the connections of a listener.
final class HTTP2ListenerContext {
    let runLoop: RunLoop
    let limits: ConnectionLimits
    let budget: BufferBudget
    let bounds: BoundCounters
    let handshakes: HandshakeQueue
    let logger: Logger
    let makeHandler: (PeerInfo) -> any HTTPConnectionHandler
    let onFailure: (FailedConnection) -> Void
    let template: HTTP2SessionTemplate
    /// Where connections of another protocol go.
    let handOff: ProtocolHandOff?
    /// Gives a connection a place of an account; returns false if there is none.
    var prove: (HTTP2Connection, String) -> Bool = { _, _ in true }
    /// Buffer into which TLS decrypts, used by one connection at a time.
    let input = ScratchBuffer(byteCount: HTTP2ListenerContext.inputBytes)
    /// Buffer for frames before TLS encrypts them, used by one connection at a time.
    let output = ScratchBuffer(byteCount: HTTP2ListenerContext.outputBytes)

    private nonisolated struct BoundOfNetwork: Hashable {
        let bound: ConnectionBound
        let network: PeerNetwork
    }

    private var throttle = LogThrottle<BoundOfNetwork>()

    /// More than one TLS record.
    private static let inputBytes = 32 * 1024
    /// Two frames of maximum size: an answer's HEADERS and DATA are sent together.
    private static let outputBytes = 2 * HTTP2Session.maximumChunkBytes

    init(
        runLoop: RunLoop, limits: ConnectionLimits, budget: BufferBudget, bounds: BoundCounters, logger: Logger,
        makeHandler: @escaping (PeerInfo) -> any HTTPConnectionHandler,
        onFailure: @escaping (FailedConnection) -> Void = { _ in }, handOff: ProtocolHandOff? = nil
    ) throws(RingwakeError) {
        self.runLoop = runLoop
        self.limits = limits
        self.budget = budget
        self.bounds = bounds
        handshakes = HandshakeQueue(runLoop: runLoop, highPressure: limits.maximumUnprovenConnections / 4)
        self.logger = logger
        self.makeHandler = makeHandler
        self.onFailure = onFailure
        self.handOff = handOff
        template = try HTTP2SessionTemplate()
    }

    /// Counts a bound that cost a client its connection, and logs it, but not each of many.
    func report(_ bound: ConnectionBound, of connection: HTTP2Connection) {
        bounds.count(bound)
        let kind = BoundOfNetwork(bound: bound, network: connection.network)
        guard let before = throttle.note(kind, at: runLoop.now) else { return }
        logger.notice(
            "a connection is closed, because it met a limit",
            metadata: ["peer": "\(connection.address)", "limit": "\(bound.rawValue)", "others-before": "\(before)"])
    }
}
