internal import ControlProtocol
internal import RunLoop

/// The requests of a client that have no answer yet. What a handler says while the daemon is away waits for it; what
/// broke off is said again where that does no harm.
final class RequestDesk {
    /// A request before it is known with which secret it is sent.
    struct Request: Sendable {
        var lane: ControlRequest.Lane
        var method: String
        var target: String
        var body: [UInt8]?
        var isJSON = true
        /// Saying it twice does no harm: it may be sent again although the daemon may have got it.
        var isRepeatable = false
        /// It makes no sense any more with the next connection.
        var isForThisStream = false

        init(
            _ lane: ControlRequest.Lane, _ method: String, _ target: RequestTarget, body: [UInt8]? = nil,
            isJSON: Bool = true, isRepeatable: Bool = false, isForThisStream: Bool = false
        ) {
            self.lane = lane
            self.method = method
            self.target = target.text
            self.body = body
            self.isJSON = isJSON
            self.isRepeatable = isRepeatable || method == "GET"
            self.isForThisStream = isForThisStream
        }
    }

    /// What came of a request.
    struct Reply: Sendable {
        let answer: ControlAnswer
        /// It was sent more than once: what it asks for may have been done before.
        let wasRepeated: Bool
    }

    typealias Completion = (Result<Reply, RingwakeKitError>) -> Void

    private struct Entry {
        let request: Request
        let completion: Completion
        let timer: Timer
        /// The transport has it.
        var isOut = false
        /// How often it was given to the transport since the stream began.
        var tries = 0
        /// The daemon may have got it.
        var wasSent = false
    }

    /// Another try at once, where the connection was one that had been closed meanwhile.
    private static let maximumTries = 2
    private static let timerTolerance = Duration.milliseconds(100)

    private let runLoop: RunLoop
    private let transport: any ControlTransport
    private let secret: () -> String?
    private var entries: [UInt64: Entry] = [:]
    private var nextNumber: UInt64 = 1
    private var isConnected = false
    private var isClosed = false

    /// - Parameter secret: the one that a handler's requests carry now.
    init(runLoop: RunLoop, transport: any ControlTransport, secret: @escaping () -> String?) {
        self.runLoop = runLoop
        self.transport = transport
        self.secret = secret
    }

    /// - Parameter completion: called once; at once when the client is closed.
    func make(_ request: Request, within timeout: Duration, _ completion: @escaping Completion) {
        guard !isClosed else { return completion(.failure(.isClosed)) }
        let number = nextNumber
        nextNumber += 1
        let deadline = runLoop.refreshNow().advanced(by: timeout)
        let timer = runLoop.schedule(at: deadline, tolerance: Self.timerTolerance) { [unowned self] in
            expire(number, timeout)
        }
        entries[number] = Entry(request: request, completion: completion, timer: timer)
        if isConnected || request.lane == .user { send(number) }
    }

    private func send(_ number: UInt64) {
        guard let request = entries[number]?.request else { return }
        entries[number]?.isOut = true
        entries[number]?.tries += 1
        transport.send(
            number,
            ControlRequest(
                request.lane, request.method, request.target, secret: request.lane == .handler ? secret() : nil,
                body: request.body, isJSON: request.isJSON))
    }

    func answered(_ number: UInt64, _ answer: ControlAnswer) {
        guard let wasRepeated = entries[number]?.wasSent else { return }
        finish(number, .success(Reply(answer: answer, wasRepeated: wasRepeated)))
    }

    /// The transport has no answer.
    func failed(_ number: UInt64, _ error: RingwakeKitError, wasSent: Bool) {
        guard var entry = entries[number], entry.isOut else { return }
        entry.isOut = false
        entry.wasSent = entry.wasSent || wasSent
        entries[number] = entry
        guard entry.request.isRepeatable || !wasSent else { return finish(number, .failure(error)) }
        if entry.tries < Self.maximumTries, isConnected || (entry.request.lane == .user && wasSent) {
            return send(number)
        }
        // The stream will tell that the daemon is away, or has told.
        if entry.request.lane == .user || entry.request.isForThisStream { finish(number, .failure(error)) }
    }

    private func expire(_ number: UInt64, _ timeout: Duration) {
        guard let entry = entries[number] else { return }
        if entry.isOut { transport.cancel(number) }
        let what = entry.isOut || entry.wasSent ? "did not answer" : "was not there"
        finish(number, .failure(RingwakeKitError(.timedOut, "the daemon \(what) within \(timeout)")))
    }

    private func finish(_ number: UInt64, _ result: Result<Reply, RingwakeKitError>) {
        guard let entry = entries.removeValue(forKey: number) else { return }
        runLoop.cancel(entry.timer)
        entry.completion(result)
    }

    // MARK: - The stream

    /// The daemon is there, and knows this process: what waits is said.
    func connected() {
        isConnected = true
        for number in entries.keys.sorted() where entries[number]?.isOut == false {
            entries[number]?.tries = 0
            send(number)
        }
    }

    /// The stream is gone. What is under way goes on: it may be answered yet.
    func disconnected(_ error: RingwakeKitError) {
        isConnected = false
        for (number, entry) in entries.sorted(by: { $0.key < $1.key }) where entry.request.isForThisStream {
            if entry.isOut { transport.cancel(number) }
            finish(number, .failure(error))
        }
    }

    /// What has no answer yet fails. Idempotent.
    func close() {
        isClosed = true
        for number in entries.keys.sorted() { finish(number, .failure(.isClosed)) }
    }
}

extension RingwakeKitError {
    static let isClosed = RingwakeKitError(.closed, "the client was closed")
}
