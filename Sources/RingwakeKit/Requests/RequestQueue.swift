internal import ControlProtocol
internal import RunLoop

/// The requests of a client without an answer yet. A handler's requests wait for a daemon that is away. A request whose
/// connection broke is sent again if that does no harm.
final class RequestQueue {
    struct Request: Sendable {
        /// Without the secret, which is added when it is sent.
        let message: ControlRequest
        /// Whether it may be sent again if the daemon may have received it.
        var isRepeatable = false
        /// Whether it fails when the current stream ends.
        var isForThisStream = false

        init(
            _ sender: ControlRequest.Sender, _ method: String, _ target: RequestTarget, body: [UInt8]? = nil,
            isJSON: Bool = true, isRepeatable: Bool = false, isForThisStream: Bool = false
        ) {
            message = ControlRequest(sender, method, target.text, body: body, isJSON: isJSON)
            self.isRepeatable = isRepeatable || method == "GET"
            self.isForThisStream = isForThisStream
        }
    }

    /// The outcome of a request.
    struct Reply: Sendable {
        let answer: ControlAnswer
        /// The daemon may have received it before, and carried it out.
        let wasRepeated: Bool
    }

    typealias Completion = (Result<Reply, RingwakeKitError>) -> Void

    private struct Entry {
        let request: Request
        let completion: Completion
        let timer: Timer
        /// Whether the transport has it now.
        var isSent = false
        /// How often it was given to the transport since the stream began.
        var tries = 0
        /// Whether an earlier try may have reached the daemon.
        var wasSent = false
    }

    /// One immediate retry, in case the connection had been closed while it was idle.
    private static let maximumTries = 2
    private static let timerTolerance = Duration.milliseconds(100)

    private let runLoop: RunLoop
    private let transport: any ControlTransport
    private let secret: () -> String?
    private var entries: [UInt64: Entry] = [:]
    private var nextNumber: UInt64 = 1
    private var isConnected = false
    private var isClosed = false

    /// - Parameter secret: returns the current secret of a handler's requests.
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
        if isConnected || request.message.sender == .user { send(number) }
    }

    private func send(_ number: UInt64) {
        guard var message = entries[number]?.request.message else { return }
        entries[number]?.isSent = true
        entries[number]?.tries += 1
        if message.sender == .handler { message.secret = secret() }
        transport.send(number, message)
    }

    func answered(_ number: UInt64, _ answer: ControlAnswer) {
        guard let wasRepeated = entries[number]?.wasSent else { return }
        finish(number, .success(Reply(answer: answer, wasRepeated: wasRepeated)))
    }

    /// The transport got no answer.
    func failed(_ number: UInt64, _ error: RingwakeKitError, wasSent: Bool) {
        guard var entry = entries[number], entry.isSent else { return }
        entry.isSent = false
        entry.wasSent = entry.wasSent || wasSent
        entries[number] = entry
        guard entry.request.isRepeatable || !wasSent else { return finish(number, .failure(error)) }
        if entry.tries < Self.maximumTries, isConnected || (entry.request.message.sender == .user && wasSent) {
            return send(number)
        }
        // A handler's other requests wait for the next stream.
        if entry.request.message.sender == .user || entry.request.isForThisStream { finish(number, .failure(error)) }
    }

    private func expire(_ number: UInt64, _ timeout: Duration) {
        guard let entry = entries[number] else { return }
        if entry.isSent { transport.cancel(number) }
        let what = entry.isSent || entry.wasSent ? "did not answer" : "was not there"
        finish(number, .failure(RingwakeKitError(.timedOut, "the daemon \(what) within \(timeout)")))
    }

    private func finish(_ number: UInt64, _ result: Result<Reply, RingwakeKitError>) {
        guard let entry = entries.removeValue(forKey: number) else { return }
        runLoop.cancel(entry.timer)
        entry.completion(result)
    }

    // MARK: - The stream

    /// The daemon accepted this process as a handler: sends the waiting requests.
    func connected() {
        isConnected = true
        for number in entries.keys.sorted() where entries[number]?.isSent == false {
            entries[number]?.tries = 0
            send(number)
        }
    }

    /// The stream ended. Requests that were sent may still be answered.
    func disconnected(_ error: RingwakeKitError) {
        isConnected = false
        for (number, entry) in entries.sorted(by: { $0.key < $1.key }) where entry.request.isForThisStream {
            if entry.isSent { transport.cancel(number) }
            finish(number, .failure(error))
        }
    }

    /// Fails the requests without an answer. Idempotent.
    func close() {
        isClosed = true
        for number in entries.keys.sorted() { finish(number, .failure(.isClosed)) }
    }
}
