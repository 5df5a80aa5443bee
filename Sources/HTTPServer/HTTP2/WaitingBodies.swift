/// A piece of an answer's body, for one DATA frame.
enum BodyPiece {
    case bytes(Int, isEnd: Bool)
    /// Nothing until the connection's window has grown.
    case later
    /// The stream is closed.
    case gone
}

/// Streams whose answer waits until the connection's window has grown.
struct WaitingBodies {
    private var streams: Set<Int32> = []
    private var hasWindowGrown = false

    mutating func insert(_ streamID: Int32) { streams.insert(streamID) }

    mutating func remove(_ streamID: Int32) { streams.remove(streamID) }

    mutating func windowGrew() { hasWindowGrown = true }

    /// The streams that may continue, once for all updates that arrived together.
    mutating func takeAll() -> [Int32] {
        guard hasWindowGrown else { return [] }
        hasWindowGrown = false
        defer { streams = [] }
        return streams.sorted()
    }
}
