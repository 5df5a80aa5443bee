import HTTP1
import Logging
import RunLoop

/// Shared by the connections of a Unix listener.
final class HTTP1ListenerContext {
    let runLoop: RunLoop
    let limits: ConnectionLimits
    let logger: Logger
    let makeHandler: (PeerInfo) -> any HTTPConnectionHandler
    /// Read buffer, used by one connection at a time.
    let input = ScratchBuffer(byteCount: HTTP1ListenerContext.inputBytes)

    /// Called when a connection may have become idle.
    var becameIdle: (() -> Void)?

    private static let inputBytes = 16 * 1024

    init(
        runLoop: RunLoop, limits: ConnectionLimits, logger: Logger,
        makeHandler: @escaping (PeerInfo) -> any HTTPConnectionHandler
    ) {
        self.runLoop = runLoop
        self.limits = limits
        self.logger = logger
        self.makeHandler = makeHandler
    }
}

extension HTTP1Limits {
    init(_ limits: ConnectionLimits) {
        self.init(maximumBodyBytes: limits.maximumBodyBytes)
        maximumFieldBytes = limits.maximumHeaderListBytes
        maximumFields = limits.maximumHeaderFields
    }
}
