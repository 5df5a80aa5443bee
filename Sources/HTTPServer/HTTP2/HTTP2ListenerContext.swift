import Logging
import RingwakeCore
import RunLoop

/// Shared by the connections of a listener.
final class HTTP2ListenerContext {
    let runLoop: RunLoop
    let limits: ConnectionLimits
    let budget: BufferBudget
    let logger: Logger
    let makeHandler: (PeerInfo) -> any HTTPConnectionHandler
    let onFailure: (FailedConnection) -> Void
    let template: HTTP2SessionTemplate
    /// Buffer into which TLS decrypts, used by one connection at a time.
    let input = ScratchBuffer(byteCount: HTTP2ListenerContext.inputBytes)
    /// Buffer for frames before TLS encrypts them, used by one connection at a time.
    let output = ScratchBuffer(byteCount: HTTP2ListenerContext.outputBytes)

    /// More than one TLS record.
    private static let inputBytes = 32 * 1024
    /// Two frames of maximum size: an answer's HEADERS and DATA are sent together.
    private static let outputBytes = 2 * HTTP2Session.maximumChunkBytes

    init(
        runLoop: RunLoop, limits: ConnectionLimits, budget: BufferBudget, logger: Logger,
        makeHandler: @escaping (PeerInfo) -> any HTTPConnectionHandler,
        onFailure: @escaping (FailedConnection) -> Void = { _ in }
    ) throws(RingwakeError) {
        self.runLoop = runLoop
        self.limits = limits
        self.budget = budget
        self.logger = logger
        self.makeHandler = makeHandler
        self.onFailure = onFailure
        template = try HTTP2SessionTemplate()
    }
}
