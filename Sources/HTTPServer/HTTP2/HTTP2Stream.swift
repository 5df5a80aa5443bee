import RunLoop

/// One request with a complete head, and its answer, on an HTTP/2 connection.
///
/// ```
/// body --requestIsComplete, or too long--> delivered --respond--> answered
///   any --wasClosed--> closed (session == nil)          refused: ignoring, until closed
/// ```
final class HTTP2Stream: HTTPExchange {
    private enum State {
        case body
        /// The handler has received the request.
        case delivered
        /// The handler sends pieces, which are collected here.
        case gathering(HTTPResponse)
        case answered
        /// Refused: further bytes are dropped.
        case ignoring
    }

    /// The result of adding body bytes.
    enum BodyResult {
        case taken
        /// The whole server buffers more than allowed.
        case overBudget
        /// So much was discarded that the request is answered before its end.
        case isTooLong
    }

    let id: Int32
    /// Deadline of the request or of its answer; nil while it waits for an answer.
    var deadline: BootClock.Instant?
    var onClose: (() -> Void)?

    private var session: HTTP2Session?
    private var state = State.body
    private var request: HTTPRequest
    private var discardedBytes = 0
    private var reservedBytes = 0
    private var answerBody: [UInt8] = []
    private var answerOffset = 0

    /// Cost of a stream besides the received bytes, including nghttp2's share.
    static let overheadBytes = 1024
    init(id: Int32, session: HTTP2Session, head: HTTP2RequestHead) {
        self.id = id
        self.session = session
        request = HTTPRequest(
            method: head.method, path: head.path, fields: head.fields, receivedAt: head.begunAt)
    }

    // MARK: - The request

    /// Reserves bytes until the stream is closed.
    func reserve(_ count: Int) -> Bool {
        guard let session, session.reserve(count) else { return false }
        reservedBytes += count
        return true
    }

    /// Answers without the handler, which doesn't get the request.
    func answerHeadTooLarge() {
        state = .delivered
        respond(HTTPResponse(status: 431))
    }

    func add(_ data: UnsafeBufferPointer<UInt8>) -> BodyResult {
        guard case .body = state, let session else { return .taken }
        let room = session.limits.maximumBodyBytes - request.body.count
        let kept = min(room, data.count)
        if kept > 0 {
            guard reserve(kept) else { return .overBudget }
            request.body.append(contentsOf: data[..<kept])
        }
        guard kept < data.count else { return .taken }
        request.isBodyTruncated = true
        discardedBytes += data.count - kept
        return discardedBytes > session.limits.maximumDiscardedBodyBytes ? .isTooLong : .taken
    }

    /// The client has sent the end of the request.
    func requestIsComplete() {
        switch state {
        case .body, .delivered, .gathering: deadline = nil
        case .answered, .ignoring: break
        }
    }

    /// The request for the handler; nil if the handler has it already or must not get it.
    func takeRequest() -> HTTPRequest? {
        guard case .body = state, session != nil else { return nil }
        state = .delivered
        let taken = request
        request.fields = []
        request.body = []
        return taken
    }

    /// Drops further bytes. The stream is being reset.
    func ignoreRest() {
        state = .ignoring
        request.fields = []
        request.body = []
    }

    // MARK: - The answer

    var isOpen: Bool {
        switch state {
        case .delivered, .gathering: session != nil
        case .body, .answered, .ignoring: false
        }
    }

    func respond(_ response: HTTPResponse) {
        guard isOpen, let session else { return }
        state = .answered
        answerBody = response.body
        answerOffset = 0
        if session.submit(response, on: self) {
            onClose = nil
        }
    }

    func beginStream(status: Int, fields: [HTTPField]) {
        guard isOpen, case .delivered = state else { return }
        state = .gathering(HTTPResponse(status: status, fields: fields))
    }

    func send(_ bytes: [UInt8]) -> Bool {
        guard isOpen, case .gathering(var response) = state, let session else { return false }
        guard bytes.count <= session.limits.maximumBufferedStreamBytes - response.body.count else {
            ignoreRest()
            session.cancel(self)
            return false
        }
        state = .delivered
        response.body.append(contentsOf: bytes)
        state = .gathering(response)
        return true
    }

    func finish() {
        guard case .gathering(let response) = state else { return }
        respond(response)
    }

    /// Unsent bytes of the answer's body.
    var unsentBytes: Int { answerBody.count - answerOffset }

    /// Copies the next piece of the answer's body.
    func readBody(into buffer: UnsafeMutableRawBufferPointer) -> (count: Int, isEnd: Bool) {
        let rest = answerBody[answerOffset...].prefix(buffer.count)
        buffer.copyBytes(from: rest)
        answerOffset += rest.count
        return (rest.count, answerOffset == answerBody.count)
    }

    /// The stream is closed.
    func wasClosed() {
        guard let session else { return }
        self.session = nil
        session.release(reservedBytes)
        reservedBytes = 0
        answerBody = []
        request.fields = []
        request.body = []
        let onClose = onClose
        self.onClose = nil
        onClose?()
    }
}
