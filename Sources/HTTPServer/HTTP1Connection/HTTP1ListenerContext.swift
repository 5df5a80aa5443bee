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

    /// The requests that were served in this turn of the loop, by their holders.
    private var served: (turn: UInt64, counts: [PlaceHolder: Int]) = (0, [:])

    /// Called when a connection may have become idle.
    var becameIdle: (() -> Void)?

    /// Maximum buffered bytes of further requests while one is being answered.
    static let maximumPipelinedBytes = 64 * 1024
    /// Unread bytes of answers above which the client's further requests wait.
    static let maximumUnreadAnswerBytes = 64 * 1024
    /// Maximum bytes to read from one connection in one turn of the loop.
    static let maximumReadBytesPerTurn = 256 * 1024
    private static let inputBytes = 16 * 1024
    /// Maximum requests of one holder that isn't the owner in one turn, on all its connections: some ten milliseconds of
    /// the most expensive ones.
    private static let maximumRequestsPerTurn = 8

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

    /// Whether another request of a holder may be served in this turn. Counts it.
    func mayServe(_ holder: PlaceHolder) -> Bool {
        guard holder != .owner else { return true }
        if served.turn != runLoop.turnNumber { served = (runLoop.turnNumber, [:]) }
        served.counts[holder, default: 0] += 1
        return served.counts[holder, default: 0] <= Self.maximumRequestsPerTurn
    }
}

/// The streamed answers of a listener, by who reads them.
nonisolated struct StreamPlaces {
    private var taken = HolderCounts()

    /// Takes a place. Returns false if there is none left, or the holder has as many as it may.
    mutating func take(_ holder: PlaceHolder, _ limits: ConnectionLimits) -> Bool {
        guard taken.all < limits.maximumStreams, taken[holder] < limits.streams(of: holder),
            !holder.isUser || taken.users < limits.maximumStreamsOfUsers
        else { return false }
        taken.add(holder)
        return true
    }

    mutating func release(_ holder: PlaceHolder) { taken.remove(holder) }
}

/// How many of something each holder has.
nonisolated struct HolderCounts {
    private(set) var counts: [PlaceHolder: Int] = [:]
    private(set) var all = 0
    /// Of all users together.
    private(set) var users = 0

    subscript(holder: PlaceHolder) -> Int { counts[holder, default: 0] }

    mutating func add(_ holder: PlaceHolder) { change(holder, by: 1) }
    mutating func remove(_ holder: PlaceHolder) { change(holder, by: -1) }

    private mutating func change(_ holder: PlaceHolder, by difference: Int) {
        let count = self[holder] + difference
        counts[holder] = count > 0 ? count : nil
        all += difference
        if holder.isUser { users += difference }
    }
}

extension HTTP1Limits {
    init(_ limits: ConnectionLimits) {
        self.init(maximumBodyBytes: limits.maximumBodyBytes)
        maximumFieldBytes = limits.maximumHeaderListBytes
        maximumFields = limits.maximumHeaderFields
    }
}
