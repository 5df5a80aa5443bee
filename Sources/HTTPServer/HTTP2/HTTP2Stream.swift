import CRingwakeNGHTTP2
import RunLoop

/// One request with a complete head, and its answer, on an HTTP/2 connection.
///
/// ```
/// body --requestIsComplete, or too long--> delivered --respond--> answered
/// refused --the same-----------------------------------------------^
///   any --wasClosed--> closed (session == nil)          reset: ignoring, until closed
/// ```
final class HTTP2Stream: HTTPExchange {
    private enum State {
        case body
        /// The handler has refused the request by its head. The answer waits for the end of the body, which is
        /// discarded: clients fail when an answer comes while they are still sending.
        case refused(HTTPResponse)
        /// The handler has received the request.
        case delivered
        /// The handler sends pieces, which are collected here.
        case gathering(HTTPResponse)
        case answered
        /// Reset: further bytes are dropped.
        case ignoring
    }

    /// The result of adding body bytes.
    enum BodyResult {
        case taken
        /// More would be buffered than allowed.
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
    /// What the complete request is passed to.
    private var receive: ((HTTPRequest, any HTTPExchange) -> Void)?
    private var discardedBytes = 0
    private var reservedBytes = 0
    private var answerBody: [UInt8] = []
    private var answerOffset = 0

    /// Cost of a stream besides the received bytes, including nghttp2's share.
    static let overheadBytes = 1024

    init(id: Int32, session: HTTP2Session, head: HTTPRequest) {
        self.id = id
        self.session = session
        request = head
    }

    // MARK: - The request

    /// Reserves bytes until the request is answered.
    func reserve(_ count: Int) -> Bool {
        guard let session, session.reserve(count) else { return false }
        reservedBytes += count
        return true
    }

    /// The handler wants the complete request.
    func accept(_ receive: @escaping (HTTPRequest, any HTTPExchange) -> Void) {
        self.receive = receive
    }

    /// The handler has refused the request by its head.
    ///
    /// - Parameter isAtOnce: whether the answer is sent before the end of the body.
    func refuse(_ response: HTTPResponse, isAtOnce: Bool) {
        request.fields = []
        state = .refused(response)
        if isAtOnce { sendRefusal() }
    }

    private func sendRefusal() {
        guard case .refused(let response) = state else { return }
        state = .delivered
        respond(response)
    }

    /// Whether the handler has refused the request, and the answer waits for its end.
    var isRefused: Bool {
        if case .refused = state { true } else { false }
    }

    func add(_ data: UnsafeBufferPointer<UInt8>) -> BodyResult {
        let isRefused: Bool
        switch state {
        case .body: isRefused = false
        case .refused: isRefused = true
        case .delivered, .gathering, .answered, .ignoring: return .taken
        }
        guard let session else { return .taken }
        let room = isRefused ? 0 : session.limits.maximumBodyBytes - request.body.count
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
        case .body, .refused, .delivered, .gathering: deadline = nil
        case .answered, .ignoring: break
        }
    }

    /// Passes the request to the handler, or answers if the handler has refused it. Does nothing the second time.
    func deliver() {
        sendRefusal()
        guard case .body = state, session != nil, let receive else { return }
        state = .delivered
        self.receive = nil
        let taken = request
        request.fields = []
        request.body = []
        receive(taken, self)
    }

    private func release(_ count: Int) {
        guard count > 0 else { return }
        session?.release(count)
        reservedBytes -= count
    }

    /// Drops further bytes. The stream is being reset.
    func ignoreRest() {
        state = .ignoring
        receive = nil
        request.fields = []
        request.body = []
    }

    // MARK: - The answer

    var isAnswered: Bool {
        if case .answered = state { true } else { false }
    }

    var isOpen: Bool {
        switch state {
        case .delivered, .gathering: session != nil
        case .body, .refused, .answered, .ignoring: false
        }
    }

    func respond(_ response: HTTPResponse) {
        guard isOpen, let session else { return }
        state = .answered
        var response = response
        // RFC 9110 section 9.3.2.
        if request.method == "HEAD" { response.body = [] }
        answerBody = response.body
        answerOffset = 0
        // The client decides when a stream closes: it may leave no window for the answer.
        release(reservedBytes - HTTP2Stream.overheadBytes)
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

    func abort() {
        guard isOpen else { return }
        ignoreRest()
        session?.reset(id, NGHTTP2_INTERNAL_ERROR)
    }

    func endConnection(reason: String) { session?.endConnection(reason: reason) }

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
        guard session != nil else { return }
        release(reservedBytes)
        self.session = nil
        receive = nil
        answerBody = []
        request.fields = []
        request.body = []
        let onClose = onClose
        self.onClose = nil
        onClose?()
    }
}
