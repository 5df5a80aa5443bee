import HTTP1
import Logging
import RunLoop

/// Shared by the connections of a Unix listener.
final class HTTP1ListenerContext {
    let runLoop: RunLoop
    let limits: ConnectionLimits
    let logger: Logger
    /// The rate of requests and connections; nil: no limit.
    let pace: Pace?
    let makeHandler: (PeerInfo) -> any HTTPConnectionHandler
    /// Streamed answers.
    var streams = StreamPlaces()
    /// Read buffer, used by one connection at a time.
    let input = ScratchBuffer(byteCount: HTTP1ListenerContext.inputBytes)

    /// Called when a connection may have become idle.
    var becameIdle: (() -> Void)?

    /// Maximum buffered bytes of further requests while one is being answered.
    static let maximumPipelinedBytes = 64 * 1024
    /// Unread bytes of answers above which the client's further requests wait.
    static let maximumUnreadAnswerBytes = 64 * 1024
    /// Maximum bytes to read from one connection in one turn of the loop.
    static let maximumReadBytesPerTurn = 256 * 1024
    private static let inputBytes = 16 * 1024

    init(
        runLoop: RunLoop, limits: ConnectionLimits, pace: Pace?, logger: Logger,
        makeHandler: @escaping (PeerInfo) -> any HTTPConnectionHandler
    ) {
        self.runLoop = runLoop
        self.limits = limits
        self.pace = pace
        self.logger = logger
        self.makeHandler = makeHandler
    }
}

/// The streamed answers of a listener, by who reads them.
nonisolated struct StreamPlaces {
    private var count = 0
    private var counts: [PlaceHolder: Int] = [:]

    /// Takes a place. Returns false if there is none left, or the holder has as many as it may.
    mutating func take(_ holder: PlaceHolder, _ limits: ConnectionLimits) -> Bool {
        let own = counts[holder, default: 0]
        guard count < limits.maximumStreams, holder == .owner || own < limits.maximumStreamsOfOne else { return false }
        count += 1
        counts[holder] = own + 1
        return true
    }

    mutating func release(_ holder: PlaceHolder) {
        count -= 1
        counts[holder] = counts[holder].flatMap { $0 > 1 ? $0 - 1 : nil }
    }
}

extension HTTP1Limits {
    init(_ limits: ConnectionLimits) {
        self.init(maximumBodyBytes: limits.maximumBodyBytes)
        maximumFieldBytes = limits.maximumHeaderListBytes
        maximumFields = limits.maximumHeaderFields
    }
}
