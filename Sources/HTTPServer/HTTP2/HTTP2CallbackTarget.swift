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
    /// Size of the block so far, by RFC 9113 section 6.5.2, in bytes.
    private var blockBytes = 0

    init(session: HTTP2Session, runLoop: RunLoop, limits: ConnectionLimits) {
        self.session = session
        self.runLoop = runLoop
        self.limits = limits
        head = HTTP2RequestHead(begunAt: runLoop.now)
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
