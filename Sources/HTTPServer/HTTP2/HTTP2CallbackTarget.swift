import CRingwakeNGHTTP2
import RunLoop

/// User data of nghttp2's callbacks: collects the header block that is arriving, and refers to the session for
/// everything else.
///
/// A push has about a dozen fields. Entering main-actor code for each would cost more than storing the field, so this
/// object is nonisolated. Only the session and its callbacks use it.
nonisolated final class HTTP2CallbackTarget {
    unowned let session: HTTP2Session
    private let runLoop: RunLoop
    private let limits: ConnectionLimits
    /// The block that is arriving. Blocks are never interleaved (RFC 9113 section 4.3).
    private var head: HTTP2RequestHead
    /// False for trailers, which are ignored.
    private var isGathering = false
    /// The highest stream that the client has opened.
    private var newestStream: Int32 = 0
    /// Streams whose end the client hasn't sent, also those that this end has reset.
    private var unfinishedStreams: Set<Int32> = []
    /// Above this, streams that this end has reset are forgotten.
    private static let maximumUnfinishedStreams = 4096
    /// Size of the block so far, by RFC 9113 section 6.5.2, in bytes.
    private var blockBytes = 0

    init(session: HTTP2Session, runLoop: RunLoop, limits: ConnectionLimits) {
        self.session = session
        self.runLoop = runLoop
        self.limits = limits
        head = HTTP2RequestHead(begunAt: runLoop.now)
    }

    /// A HEADERS frame begins.
    ///
    /// - Returns: false if its stream has ended, or is lower than one that the client has opened already. The connection
    ///   must be closed (RFC 9113 section 5.1.1). nghttp2 ignores such a frame, because it can't tell it from trailers of a
    ///   stream that this end has just reset.
    func beginFrame(streamID: Int32) -> Bool {
        guard streamID > newestStream else { return unfinishedStreams.contains(streamID) }
        newestStream = streamID
        if unfinishedStreams.count >= Self.maximumUnfinishedStreams { unfinishedStreams = [] }
        unfinishedStreams.insert(streamID)
        return true
    }

    /// The client has ended or reset a stream.
    func streamFinished(_ streamID: Int32) {
        unfinishedStreams.remove(streamID)
    }

    /// A header block begins.
    func beginHead(isRequest: Bool) {
        isGathering = isRequest
        blockBytes = 0
        if isRequest {
            head = HTTP2RequestHead(begunAt: runLoop.now)
        }
    }

    /// Adds one field.
    ///
    /// - Returns: false if the block is too large, and its stream has to be reset.
    func add(name: UnsafeBufferPointer<UInt8>, value: UnsafeBufferPointer<UInt8>) -> Bool {
        blockBytes += name.count + value.count + HTTP2RequestHead.fieldOverheadBytes
        guard blockBytes <= limits.maximumFieldBlockBytes else { return false }
        if isGathering {
            head.add(
                name: name, value: value, maximumBytes: limits.maximumHeaderListBytes,
                maximumFields: limits.maximumHeaderFields)
        }
        return true
    }

    /// The head from the block that has ended; nil for trailers.
    func takeHead() -> HTTP2RequestHead? {
        guard isGathering else { return nil }
        isGathering = false
        let taken = head
        head.fields = []
        return taken
    }
}
