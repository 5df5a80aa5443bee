import Logging
import RingwakeCore
import RunLoop

/// What the connections of a listener share.
final class HTTP2ListenerContext {
    let runLoop: RunLoop
    let limits: ConnectionLimits
    let budget: BufferBudget
    let logger: Logger
    let makeHandler: (PeerInfo) -> any HTTPConnectionHandler
    let template: HTTP2SessionTemplate
    /// What TLS decrypts into, for one connection at a time.
    let input = ScratchBuffer(byteCount: HTTP2ListenerContext.inputBytes)
    /// What frames are gathered in before TLS encrypts them, for one connection at a time.
    let output = ScratchBuffer(byteCount: HTTP2ListenerContext.outputBytes)

    /// One TLS record and more.
    private static let inputBytes = 32 * 1024
    /// Two frames of the largest size: an answer's HEADERS and DATA leave together.
    private static let outputBytes = 2 * HTTP2Session.maximumChunkBytes

    init(
        runLoop: RunLoop, limits: ConnectionLimits, budget: BufferBudget, logger: Logger,
        makeHandler: @escaping (PeerInfo) -> any HTTPConnectionHandler
    ) throws(RingwakeError) {
        self.runLoop = runLoop
        self.limits = limits
        self.budget = budget
        self.logger = logger
        self.makeHandler = makeHandler
        template = try HTTP2SessionTemplate()
    }
}
