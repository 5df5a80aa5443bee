import Glibc
import HTTP1
import Logging
import RunLoop

/// One accepted connection of a Unix socket. Requests are answered one after the other, in order.
///
/// ```
/// open --last answer sent, or malformed request answered--> lingering --peer closed, or deadline--> closed
///   \__ broken, peer gone, deadline _____________________________________________________________/
/// ```
/// In `open`, `exchange` is the request that is being answered. The next ones wait in the parser, and above a limit in
/// the kernel. Lingering drops what the peer still sends, so that it can read its answer.
/// Beside a stream there are no requests, unless the client asked for that (``SharedStream``).
final class HTTP1Connection {
    private enum Stage {
        case open
        case lingering
        case closed
    }

    /// Who holds the connection.
    let holder: PlaceHolder
    private let shared: HTTP1ListenerContext
    let descriptor: Int32
    private let handler: any HTTPConnectionHandler
    private var ended: ((HTTP1Connection) -> Void)?
    private var stage = Stage.open
    private var source: ReadinessSource?
    private var timer = DeadlineTimer()
    private var parser: HTTP1RequestParser
    private var exchange: HTTP1Exchange?
    /// The stream that shares the connection with further requests.
    private var sharedStream: HTTP1Exchange?
    private var answersInLines = false
    /// Time of the last answer, or of the accept.
    private var lastUsed: BootClock.Instant
    private var isProcessing = false
    /// The turn of the loop in which the last request was delivered.
    private var lastTurn: UInt64 = 0
    /// The next request waits for the next turn.
    private var isPostponed = false
    /// A request waits for the listener's ``Pace``.
    private var isPaced = false
    private var requestStart: BootClock.Instant?
    private var output = OutputBuffer()
    private var isFlushScheduled = false
    /// Requests wait until the client has read its answers.
    private var isHeldBack = false
    /// Accepts no request; closes when the output is sent.
    private var isLastAnswer = false
    private var isPeerDone = false
    private(set) var isDraining = false
    private var hasServed = false
    private var closing = ClosingTimes()

    /// Takes ownership of the descriptor.
    /// - Parameter ended: called once, when the descriptor has been closed.
    init(descriptor: Int32, shared: HTTP1ListenerContext, ended: @escaping (HTTP1Connection) -> Void) {
        self.descriptor = descriptor
        self.shared = shared
        self.ended = ended
        lastUsed = shared.runLoop.now
        parser = HTTP1RequestParser(limits: HTTP1Limits(shared.limits))
        let credentials = PeerCredentials(of: descriptor)
        handler = shared.makeHandler(PeerInfo(address: "unix", credentials: credentials))
        holder = handler.holder ?? PlaceHolder(credentials)
    }

    /// Nil while a request is being answered.
    var idleness: ConnectionIdleness? {
        guard stage == .open, exchange == nil, sharedStream == nil, !isPaced, !isPostponed else { return nil }
        guard requestStart == nil, output.isEmpty, parser.bufferedByteCount == 0 else { return .slow(since: lastUsed) }
        return .idle(since: lastUsed)
    }

    /// Whether bytes have come that will be read: one that seems idle may have a request there. One that doesn't read its
    /// answers has no further request.
    var hasUnreadInput: Bool { !isHeldBack && !isLastAnswer && SocketInput.isWaiting(on: descriptor) }

    /// Starts reading. The connection must already be in its listener's table.
    func start() {
        do {
            source = try shared.runLoop.watch(descriptor, for: .read, cause: .control) { readiness in
                self.advance(readiness)
            }
        } catch {
            log("a control connection cannot be watched", "\(error)")
            close()
        }
    }

    // MARK: - Reading

    private func advance(_ readiness: Readiness) {
        switch stage {
        case .open:
            if readiness.contains(.read) && !isPeerDone {
                read()
            }
            process()
            flush()
        case .lingering:
            if !SocketInput.discard(from: descriptor, using: shared.input) { close() }
        case .closed:
            break
        }
    }

    private func read() {
        var budget = HTTP1ListenerContext.maximumReadBytesPerTurn
        while budget > 0, parser.bufferedByteCount < pipelineLimit {
            switch SocketInput.read(from: descriptor, using: shared.input) {
            case .bytes(let bytes):
                budget -= bytes.count
                parser.consume(bytes)
            case .end:
                isPeerDone = true
                return isStreaming && (sharedStream == nil || parser.bufferedByteCount == 0) ? close() : ()
            case .nothing: return
            case .broken(let why):
                log("a control connection broke", why)
                return close()
            }
        }
    }

    /// While no request is being answered, the parser accepts all bytes and limits them itself.
    private var pipelineLimit: Int {
        exchange == nil
            ? shared.limits.maximumBodyBytes + 2 * HTTP1ListenerContext.maximumPipelinedBytes
            : HTTP1ListenerContext.maximumPipelinedBytes
    }

    /// Delivers a request if none is being answered, one a turn of the loop, and few of one holder: else who sends many at
    /// once would have the loop for itself until all are answered.
    private func process() {
        guard !isProcessing else { return }
        isProcessing = true
        defer { isProcessing = false }
        while stage == .open, exchange == nil, !isLastAnswer, !isPaced {
            isHeldBack = output.count > HTTP1ListenerContext.maximumUnreadAnswerBytes
            if isHeldBack { return }
            if parser.bufferedByteCount > 0, lastTurn == shared.runLoop.turnNumber || !shared.mayServe(holder) {
                return postpone()
            }
            do {
                guard let request = try parser.next() else { return needMore() }
                lastTurn = shared.runLoop.turnNumber
                admit(request)
            } catch {
                appendLast(.refusal(error))
            }
        }
    }

    private func postpone() {
        guard !isPostponed else { return }
        isPostponed = true
        shared.runLoop.postpone {
            self.isPostponed = false
            self.process()
            self.flush()
        }
    }

    private func admit(_ request: HTTP1Request) {
        guard let pace = shared.pace else { return deliver(request) }
        isPaced = true
        pace.whenThere { [self] in
            isPaced = false
            if stage == .open { deliver(request) }
        }
    }

    private func needMore() {
        if isPeerDone || (answersInLines && sharedStream == nil) {
            isLastAnswer = true
            return
        }
        if parser.takeContinueExpectation(), !answersInLines { output.append(HTTP1Writer.continueResponse) }
        guard parser.isWithinRequest else {
            requestStart = nil
            return
        }
        if requestStart == nil {
            requestStart = shared.runLoop.now
            require(shared.runLoop.now.advanced(by: shared.limits.requestDeadline))
        }
    }

    private func deliver(_ request: HTTP1Request) {
        let exchange = HTTP1Exchange(request, connection: self, besideStream: answersInLines)
        self.exchange = exchange
        hasServed = true
        if isDraining { setDrainDeadline(shared.limits.drainDeadline) }
        let receivedAt = requestStart ?? shared.runLoop.now
        requestStart = nil
        handler.received(HTTPRequest(request, receivedAt: receivedAt), on: exchange)
    }

    // MARK: - Writing

    /// Appends a piece of a streamed answer. If too much is unread, closes the connection and returns false.
    func append(_ bytes: [UInt8]) -> Bool {
        guard stage == .open else { return false }
        // A single piece is always accepted, however long: the opening with the state of every call is the server's doing.
        guard output.count <= shared.limits.maximumBufferedStreamBytes else {
            log("a control connection was closed", "the client reads its stream too slowly")
            close()
            return false
        }
        output.append(bytes)
        scheduleFlush()
        return true
    }

    /// Sends the output now, before the scheduled flush.
    func flushStream() {
        guard stage == .open else { return }
        writeOutput()
    }

    /// Takes a place for a streamed answer. Returns false if there is none.
    func takeStreamPlace() -> Bool { shared.streams.take(holder, shared.limits) }

    func releaseStreamPlace() { shared.streams.release(holder) }

    /// A streamed answer has begun. If the client has already closed its end, we couldn't see it leave later.
    func streamBegan(_ exchange: HTTP1Exchange) {
        if isPeerDone, !exchange.isShared || parser.bufferedByteCount == 0 { return close() }
        if exchange.isShared { (sharedStream, self.exchange, answersInLines) = (exchange, nil, true) }
    }

    private var isStreaming: Bool { sharedStream != nil || exchange?.isStreaming ?? false }

    /// The exchange's answer is complete; these are its last bytes.
    func exchangeEnded(_ exchange: HTTP1Exchange, with bytes: [UInt8]) {
        guard stage == .open, self.exchange === exchange || sharedStream === exchange else { return }
        lastUsed = shared.runLoop.now
        output.append(bytes)
        if sharedStream === exchange {
            sharedStream = nil
            if !isPeerDone { read() }  // Requests that have arrived are answered.
        } else {
            self.exchange = nil
            if !exchange.keepAlive || isDraining && !answersInLines { isLastAnswer = true }
        }
        scheduleFlush()
    }

    /// Sends the output of this turn at once, and continues with waiting requests.
    private func scheduleFlush() {
        guard !isFlushScheduled else { return }
        isFlushScheduled = true
        shared.runLoop.enqueue {
            self.isFlushScheduled = false
            self.process()
            self.flush()
        }
    }

    private func flush() {
        guard stage == .open else { return }
        writeOutput()
        guard stage == .open else { return }
        if output.isEmpty {
            closing.unread = nil
            if isLastAnswer, exchange == nil { return linger() }
            if isHeldBack { scheduleFlush() }
            shared.becameIdle?()
        } else if closing.unread == nil && !isStreaming {
            let deadline = shared.runLoop.now.advanced(by: shared.limits.writeDeadline)
            closing.unread = deadline
            require(deadline)
        }
        let isFull = parser.bufferedByteCount >= pipelineLimit
        if isFull && exchange?.isStreaming ?? false {
            // We can't read more until the stream ends, so we wouldn't see the client leave.
            log("a control connection was closed", "the client sends on while it is streamed to")
            return close()
        }
        var interest: Interest = []
        if !isPeerDone && !isLastAnswer && !isHeldBack && !isPaced && !isFull { interest.insert(.read) }
        if !output.isEmpty { interest.insert(.write) }
        watch(interest)
    }

    private func writeOutput() {
        if output.send(to: descriptor) { return }
        // Nobody reads it any more. Requests that arrived beside a stream are carried out.
        if answersInLines, parser.bufferedByteCount > 0 { output.clear() } else { close() }
    }

    // MARK: - Ending

    /// Answers the present request, or the first one of a client that has just connected, then closes. Ends a stream.
    func drain() {
        guard stage == .open, !isDraining else { return }
        isDraining = true
        let isAwaited =
            exchange == nil
            && (isPaced || !hasServed || parser.isWithinRequest || SocketInput.isWaiting(on: descriptor))
        setDrainDeadline(isAwaited ? shared.limits.drainGrace : shared.limits.drainDeadline)
        if isStreaming, let stream = sharedStream ?? exchange {
            stream.onClose?()
            stream.finish()
        } else if exchange == nil, !isAwaited {
            isLastAnswer = true
            scheduleFlush()
        }
    }

    private func setDrainDeadline(_ time: Duration) {
        closing.drained = shared.runLoop.now.advanced(by: time)
        checkDeadlines()
    }

    private func linger() {
        let deadline = shared.runLoop.now.advanced(by: shared.limits.lingerDeadline)
        stage = .lingering
        closing = ClosingTimes(lingered: deadline)
        endExchange()
        if isPeerDone { return close() }
        require(deadline)
        _ = shutdown(descriptor, Int32(SHUT_WR))
        watch(.read)
    }

    private func appendLast(_ response: HTTPResponse) {
        (requestStart, isLastAnswer) = (nil, true)
        output.append(answersInLines ? SharedStream.answer(response) : response.bytes(keepAlive: false))
    }

    /// Sends an answer to no particular request, and closes.
    func endWith(_ response: HTTPResponse) {
        appendLast(response)
        flush()
    }

    /// Closes the connection at once. Idempotent.
    func close() {
        if stage == .closed { return }
        let wasOpen = stage == .open
        stage = .closed
        timer.cancel(on: shared.runLoop)
        source?.cancel()
        source = nil
        if wasOpen { endExchange() }
        _ = Glibc.close(descriptor)
        let ended = ended
        self.ended = nil
        ended?(self)
    }

    private func endExchange() {
        output.clear()
        let open = [exchange, sharedStream]
        (exchange, sharedStream) = (nil, nil)
        for exchange in open { exchange?.wasClosed() }
        handler.connectionClosed()
    }

    private func watch(_ interest: Interest) {
        do {
            try source?.update(interest)
        } catch {
            log("a control connection cannot be watched", "\(error)")
            close()
        }
    }

    // MARK: - Deadlines

    private func require(_ deadline: BootClock.Instant) {
        if stage == .closed { return }
        timer.require(deadline, on: shared.runLoop, tolerance: shared.limits.deadlineTolerance) {
            self.timer.fired()
            self.checkDeadlines()
        }
    }

    private func checkDeadlines() {
        let now = shared.runLoop.now
        if let requestStart, requestStart.advanced(by: shared.limits.requestDeadline) <= now {
            let late = HTTP1Error(status: 408, message: "the request did not arrive in time; send it at once")
            endWith(.refusal(late))
        }
        if let end = closing.earliest, end <= now { return close() }
        for deadline in [requestStart?.advanced(by: shared.limits.requestDeadline), closing.earliest] {
            if let deadline { require(deadline) }
        }
    }

    private func log(_ message: Logger.Message, _ reason: String) {
        shared.logger.debug(message, metadata: ["reason": "\(reason)"])
    }
}
