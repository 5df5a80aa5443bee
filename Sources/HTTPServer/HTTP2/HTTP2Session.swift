import CRingwakeNGHTTP2
import RingwakeCore
import RunLoop

/// One HTTP/2 session over libnghttp2's memory interface: bytes in, requests and bytes out. It doesn't use the socket.
///
/// nghttp2 must not be entered from its own callbacks, and a session must not be freed within one. Callbacks call the
/// connection's handler, which may do anything. So `depth` counts the entries into nghttp2 that make callbacks, a
/// callback only submits answers (``produce(into:)`` sends them), and ``end()`` frees the session when the last of
/// these calls has returned.
final class HTTP2Session {
    /// Events for the owner of the session. Each may be sent within a callback.
    enum Event {
        /// There is something to send.
        case hasOutput
        /// A stream has this deadline; see ``nearestStreamDeadline``.
        case hasDeadline(BootClock.Instant)
        /// The client's preface and SETTINGS have arrived.
        case isEstablished
        /// The client has proven to belong to the session's ``account``.
        case isProven
        /// The client has met a bound that costs it the connection.
        case hasMetBound(ConnectionBound)
        /// The client has broken a rule of HTTP/2 that nghttp2 doesn't check.
        case isBroken(String)
        /// The handler wants the connection to end, for this reason.
        case isToEnd(String)
    }

    private let shared: HTTP2ListenerContext
    private let handler: any HTTPConnectionHandler
    /// Nil once the session has ended.
    private var notify: ((Event) -> Void)?
    private var pointer: OpaquePointer?
    private let memory = HTTP2Memory()
    private var depth = 0
    private(set) var streams: [Int32: HTTP2Stream] = [:]
    private var callbackTarget: HTTP2CallbackTarget?
    private var glitches = GlitchCounter()
    private var frameTracker = FrameTracker()
    /// Deadline of the frame or header block that has begun. Nothing else can arrive before its end, so the connection
    /// is closed then.
    private(set) var inputDeadline: BootClock.Instant?
    private var areSettingsSent = false
    /// Whether a request has begun on this connection.
    private(set) var hasHadRequest = false
    /// Bytes reserved by the streams.
    private var reservedBytes = 0
    /// The account that the client has proven to belong to.
    private(set) var account: String?
    private var refusals = GlitchCounter()
    /// Refusals for which no bytes were left.
    private var refusalsOverBudget = 0
    private var waitingBodies = WaitingBodies()

    /// Maximum of ``refusalsOverBudget``.
    private static let maximumRefusalsOverBudget = 16
    /// When no stream is left, a stream table above this capacity is freed.
    private static let keptStreamCapacity = 16

    var limits: ConnectionLimits { shared.limits }
    private var budget: BufferBudget { shared.budget }

    /// - Throws: `system` if there is no memory.
    init(
        shared: HTTP2ListenerContext, handler: any HTTPConnectionHandler, notify: @escaping (Event) -> Void
    ) throws(RingwakeError) {
        self.shared = shared
        self.handler = handler
        self.notify = notify
        account = handler.account
        var pointer: OpaquePointer?
        let target = HTTP2CallbackTarget(session: self, runLoop: shared.runLoop, limits: shared.limits)
        callbackTarget = target
        // Unretained: this object keeps it, and its owner calls `end()` before it releases this object.
        let userData = Unmanaged.passUnretained(target).toOpaque()
        let template = shared.template
        let result = nghttp2_session_server_new3(
            &pointer, template.callbacks, userData, template.options, &memory.functions)
        guard result == 0, let pointer, HTTP2Settings.submit(to: pointer) else {
            nghttp2_session_del(pointer)
            throw RingwakeError(.system, "no memory for another HTTP/2 connection")
        }
        self.pointer = pointer
    }

    // MARK: - Bytes

    /// Processes received bytes, and delivers the requests that they complete.
    ///
    /// - Returns: nil if the connection can continue, otherwise the reason. nghttp2's GOAWAY may still have to be sent.
    func receive(_ bytes: UnsafeRawBufferPointer) -> String? {
        guard let pointer, depth == 0 else { return nil }
        frameTracker.rates.begin(at: shared.runLoop.now)
        trackFrames(bytes)
        if let bound = frameTracker.rates.exceeded {
            notify?(.hasMetBound(bound))
            return nil
        }
        depth += 1
        let result = nghttp2_session_mem_recv(
            pointer, bytes.baseAddress?.assumingMemoryBound(to: UInt8.self), bytes.count)
        leave()
        guard result < 0 else { return nil }
        return String(cString: nghttp2_strerror(Int32(truncatingIfNeeded: result)))
    }

    private func trackFrames(_ bytes: UnsafeRawBufferPointer) {
        let hasPassedBoundary = frameTracker.consume(bytes)
        guard !frameTracker.isAtBoundary else {
            inputDeadline = nil
            return
        }
        if hasPassedBoundary || inputDeadline == nil {
            let deadline = shared.runLoop.now.advanced(by: limits.requestDeadline)
            inputDeadline = deadline
            notify?(.hasDeadline(deadline))
        }
    }

    /// Copies whole frames to send, until fewer than ``maximumChunkBytes`` are free.
    ///
    /// - Returns: the number of bytes; nil if a frame is too large to be sent, so that the connection must be closed.
    func produce(into buffer: UnsafeMutableRawBufferPointer) -> Int? {
        guard depth == 0 else { return 0 }
        for streamID in waitingBodies.takeAll() {
            // This fails only for a stream that doesn't wait.
            _ = nghttp2_session_resume_data(pointer, streamID)
        }
        var count = 0
        depth += 1
        // A callback may end the session. `pointer` stays valid until `leave`, but nothing more is sent.
        while let pointer, notify != nil, buffer.count - count >= HTTP2Session.maximumChunkBytes {
            var chunk: UnsafePointer<UInt8>?
            let length = nghttp2_session_mem_send(pointer, &chunk)
            guard length > 0, let chunk else { break }
            // nghttp2's buffers hold one frame of the default maximum. Only a change in nghttp2 could make a chunk
            // larger.
            guard length <= buffer.count - count else {
                leave()
                return nil
            }
            let frame = UnsafeMutableRawBufferPointer(rebasing: buffer[count..<(count + length)])
            frame.copyMemory(from: UnsafeRawBufferPointer(start: chunk, count: length))
            if !areSettingsSent {
                areSettingsSent = HTTP2Settings.announce(limits.maximumConcurrentStreams, in: frame)
            }
            count += length
        }
        leave()
        return count
    }

    /// Maximum chunk of nghttp2: a frame of 16,384 bytes with its header and its padding length.
    static let maximumChunkBytes = maximumDataBytes + 9 + 1
    /// Maximum payload that nghttp2 puts into a DATA frame.
    private static let maximumDataBytes = 16_384

    /// Whether nghttp2 expects no input and has no output, so that the connection can be closed.
    var isFinished: Bool {
        guard let pointer else { return true }
        return nghttp2_session_want_read(pointer) == 0 && nghttp2_session_want_write(pointer) == 0
    }

    // MARK: - Ending

    /// Announces that streams above the last one that arrived won't be served (RFC 9113 section 6.8).
    func goAway(_ goAway: GoAway) {
        guard let pointer else { return }
        let debug = goAway.debugData
        // This fails only without memory, and the connection is closed anyway.
        _ = nghttp2_submit_goaway(
            pointer, UInt8(truncatingIfNeeded: NGHTTP2_FLAG_NONE.rawValue),
            nghttp2_session_get_last_proc_stream_id(pointer), goAway.code.rawValue, debug, debug.count)
        notify?(.hasOutput)
    }

    func endConnection(reason: String) { notify?(.isToEnd(reason)) }

    /// Closes every stream and frees the session, now or when the present call returns. Idempotent.
    func end() {
        guard notify != nil else { return }
        notify = nil
        let open = streams
        streams = [:]
        for stream in open.values {
            stream.wasClosed()
        }
        if depth == 0 {
            free()
        }
    }

    private func leave() {
        depth -= 1
        if depth == 0 {
            if notify == nil {
                free()
            } else if streams.isEmpty && streams.capacity > HTTP2Session.keptStreamCapacity {
                streams = [:]
            }
        }
    }

    private func free() {
        nghttp2_session_del(pointer)
        pointer = nil
    }

    // MARK: - Streams

    /// Submits the answer of a stream. Returns false if it can no longer be sent.
    func submit(_ response: HTTPResponse, on stream: HTTP2Stream) -> Bool {
        guard let pointer, notify != nil, submitAnswer(response, streamID: stream.id, session: pointer) else {
            return false
        }
        setDeadline(shared.runLoop.now.advanced(by: limits.writeDeadline), of: stream)
        notify?(.hasOutput)
        return true
    }

    /// Resets a stream.
    func reset(_ streamID: Int32, _ code: nghttp2_error_code) {
        guard let pointer, notify != nil else { return }
        _ = nghttp2_submit_rst_stream(
            pointer, UInt8(truncatingIfNeeded: NGHTTP2_FLAG_NONE.rawValue), streamID, code.rawValue)
        notify?(.hasOutput)
    }

    /// Resets a stream whose answer is abandoned.
    func cancel(_ stream: HTTP2Stream) {
        reset(stream.id, NGHTTP2_CANCEL)
    }

    /// The earliest deadline of all streams.
    var nearestStreamDeadline: BootClock.Instant? {
        streams.values.lazy.compactMap(\.deadline).min()
    }

    /// Resets the streams whose deadline has passed. A request that is refused is answered.
    func expireStreams(at now: BootClock.Instant) {
        for stream in streams.values where stream.deadline.map({ $0 <= now }) ?? false {
            shared.bounds.count(stream.isAnswered ? .slowReader : .slowRequest)
            stream.deadline = nil
            if stream.isRefused { stream.deliver() } else { cancel(stream) }
        }
    }

    private func setDeadline(_ deadline: BootClock.Instant, of stream: HTTP2Stream) {
        stream.deadline = deadline
        notify?(.hasDeadline(deadline))
    }

    // MARK: - Callbacks

    func headReceived(streamID: Int32, isEndOfStream: Bool) {
        guard notify != nil else { return }
        if let head = callbackTarget?.takeHead() {
            beginStream(streamID, head)
        }
        if isEndOfStream {
            requestEnded(streamID: streamID)
        }
    }

    private func beginStream(_ streamID: Int32, _ head: HTTP2RequestHead) {
        hasHadRequest = true
        var request = HTTPRequest(method: head.method, path: head.path, fields: head.fields, receivedAt: head.begunAt)
        request.isHeadTooLarge = head.isTooLarge
        let stream = HTTP2Stream(id: streamID, session: self, head: request)
        streams[streamID] = stream
        setDeadline(head.begunAt.advanced(by: limits.requestDeadline), of: stream)
        guard streams.count <= Int(limits.maximumConcurrentStreams) else { return reset(stream, .streams) }
        let verdict = handler.judge(request)
        noteAccount()
        switch verdict {
        case .read(let receive):
            guard stream.reserve(HTTP2Stream.overheadBytes + head.size) else { return reset(stream, boundOfBytes) }
            stream.accept(receive)
        case .refuse(let response):
            refuse(stream, response)
        }
    }

    /// Sets the account as soon as the handler knows it.
    private func noteAccount() {
        guard account == nil, let proven = handler.account else { return }
        account = proven
        budget.charge(reservedBytes, to: proven)
        notify?(.isProven)
    }

    /// Answers a request that the handler has refused by its head.
    private func refuse(_ stream: HTTP2Stream, _ response: HTTPResponse) {
        if account == nil, refusals.add(at: shared.runLoop.now, limits: limits) {
            notify?(.hasMetBound(.refusals))
        }
        let isReserved = stream.reserve(HTTP2Stream.overheadBytes)
        stream.refuse(response, isAtOnce: !isReserved)
        guard !isReserved else { return }
        // The client decides how long an answer is kept, so without bytes for it there can be only a few.
        refusalsOverBudget += 1
        guard refusalsOverBudget > Self.maximumRefusalsOverBudget else { return }
        notify?(.hasMetBound(boundOfBytes))
    }

    private var boundOfBytes: ConnectionBound { account == nil ? .unprovenBytes : .bytesOfSender }

    func requestEnded(streamID: Int32) {
        guard let stream = streams[streamID] else { return }
        stream.requestIsComplete()
        stream.deliver()
    }

    func dataReceived(_ data: UnsafeBufferPointer<UInt8>, streamID: Int32) {
        guard let stream = streams[streamID] else { return }
        switch stream.add(data) {
        case .taken: break
        case .overBudget: reset(stream, boundOfBytes)
        case .isTooLong: stream.deliver()
        }
    }

    func settingsReceived() {
        notify?(.isEstablished)
    }

    /// The answer didn't wait for the request's end, so the client may stop sending (RFC 9113 section 8.1).
    func answeredEarly(streamID: Int32) {
        reset(streamID, NGHTTP2_NO_ERROR)
    }

    /// Resetting a fully answered stream costs nothing and isn't a glitch: libcurl 7.88, and so every sender that uses
    /// it, sends a reset after each answer.
    func resetReceived(streamID: Int32) {
        if streams[streamID] != nil {
            countGlitch()
        }
    }

    /// Counts a reset by the client, a reset that the client's error caused, or an invalid frame.
    func countGlitch() {
        if glitches.add(at: shared.runLoop.now, limits: limits) {
            notify?(.hasMetBound(.resets))
        }
    }

    func closedStreamReused() {
        notify?(.isBroken("StreamClosed"))
    }

    func streamClosed(_ streamID: Int32) {
        guard let stream = streams.removeValue(forKey: streamID) else { return }
        waitingBodies.remove(streamID)
        stream.wasClosed()
    }

    /// Copies the next piece of an answer's body.
    ///
    /// Clients take each DATA frame for a whole body. So a body that fits into the stream's window isn't cut to what
    /// other answers have left of the connection's window.
    func readBody(of streamID: Int32, into buffer: UnsafeMutableRawBufferPointer) -> BodyPiece {
        guard let stream = streams[streamID] else { return .gone }
        let rest = stream.unsentBytes
        if rest > buffer.count, rest <= HTTP2Session.maximumDataBytes,
            nghttp2_session_get_stream_remote_window_size(pointer, streamID) >= rest
        {
            waitingBodies.insert(streamID)
            return .later
        }
        let piece = stream.readBody(into: buffer)
        return .bytes(piece.count, isEnd: piece.isEnd)
    }

    func connectionWindowGrew() {
        waitingBodies.windowGrew()
    }

    /// Refuses a stream that is more than the client may have now. The client may repeat it.
    private func reset(_ stream: HTTP2Stream, _ bound: ConnectionBound) {
        shared.bounds.count(bound)
        stream.ignoreRest()
        reset(stream.id, NGHTTP2_REFUSED_STREAM)
    }

    // MARK: - Memory

    /// Reserves bytes for a stream.
    func reserve(_ count: Int) -> Bool {
        guard budget.reserve(count, for: account) else { return false }
        reservedBytes += count
        return true
    }

    /// Releases bytes of a stream.
    func release(_ count: Int) {
        budget.release(count, of: account)
        reservedBytes -= count
    }
}
