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
final class HTTP1Connection {
    private enum Stage {
        case open
        case lingering(deadline: BootClock.Instant)
        case closed
    }

    /// Maximum buffered bytes of further requests while one is being answered.
    private static let maximumPipelinedBytes = 64 * 1024
    /// Unread bytes of answers above which the client's further requests wait.
    private static let maximumUnreadAnswerBytes = 64 * 1024
    /// Maximum bytes to read in one turn of the loop.
    private static let maximumReadBytesPerTurn = 256 * 1024

    /// The peer's credentials.
    let credentials: PeerCredentials?
    private let shared: HTTP1ListenerContext
    let descriptor: Int32
    private let handler: any HTTPConnectionHandler
    private var ended: ((HTTP1Connection) -> Void)?
    private var stage = Stage.open
    private var source: ReadinessSource?
    private var timer = DeadlineTimer()
    private var parser: HTTP1RequestParser
    private var exchange: HTTP1Exchange?
    /// Time of the last answer, or of the accept.
    private var lastUsed: BootClock.Instant
    private var isProcessing = false
    private var requestStart: BootClock.Instant?
    private var output: [UInt8] = []
    private var outputDeadline: BootClock.Instant?
    private var isFlushScheduled = false
    /// Requests wait until the client has read its answers.
    private var isHeldBack = false
    /// Accepts no further request, and closes when the output has been sent.
    private var isLastAnswer = false
    private var isPeerDone = false
    private(set) var isDraining = false
    private var hasServed = false
    private var drainDeadline: BootClock.Instant?

    /// Takes ownership of the descriptor.
    ///
    /// - Parameter ended: called once, when the descriptor has been closed.
    init(
        descriptor: Int32, credentials: PeerCredentials?, shared: HTTP1ListenerContext,
        ended: @escaping (HTTP1Connection) -> Void
    ) {
        self.descriptor = descriptor
        self.credentials = credentials
        self.shared = shared
        self.ended = ended
        lastUsed = shared.runLoop.now
        parser = HTTP1RequestParser(limits: HTTP1Limits(shared.limits))
        handler = shared.makeHandler(PeerInfo(address: "unix", credentials: credentials))
    }

    /// When the connection became idle (no request, no answer); nil while it is in use.
    var idleSince: BootClock.Instant? {
        guard case .open = stage, exchange == nil, requestStart == nil, output.isEmpty else { return nil }
        return parser.bufferedByteCount == 0 ? lastUsed : nil
    }

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
        var budget = HTTP1Connection.maximumReadBytesPerTurn
        while budget > 0, parser.bufferedByteCount < pipelineLimit {
            let buffer = shared.input.bytes
            let count = Glibc.read(descriptor, buffer.baseAddress, buffer.count)
            if count > 0 {
                budget -= count
                parser.consume(Array(buffer[..<count]))
            } else if count == 0 {
                isPeerDone = true
                if exchange?.isStreaming ?? false {
                    close()
                }
                return
            } else if errno == EINTR {
                continue
            } else {
                if errno != EAGAIN {
                    log("a control connection broke", SystemCallError.last.reason)
                    close()
                }
                return
            }
        }
    }

    /// While no request is being answered, the parser accepts all bytes and limits them itself.
    private var pipelineLimit: Int {
        exchange == nil
            ? shared.limits.maximumBodyBytes + 2 * HTTP1Connection.maximumPipelinedBytes
            : HTTP1Connection.maximumPipelinedBytes
    }

    /// Delivers requests while none is being answered. If the answer comes at once, this loop continues with the next
    /// request, without recursion.
    private func process() {
        guard !isProcessing else { return }
        isProcessing = true
        defer { isProcessing = false }
        while case .open = stage, exchange == nil, !isLastAnswer {
            isHeldBack = output.count > HTTP1Connection.maximumUnreadAnswerBytes
            if isHeldBack { return }
            do {
                guard let request = try parser.next() else { return needMore() }
                deliver(request)
            } catch {
                requestStart = nil
                isLastAnswer = true
                output.append(contentsOf: error.lastResponse)
            }
        }
    }

    private func needMore() {
        if isPeerDone {
            isLastAnswer = true
            return
        }
        if parser.takeContinueExpectation() {
            output.append(contentsOf: HTTP1Writer.continueResponse)
        }
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
        let exchange = HTTP1Exchange(request, connection: self)
        self.exchange = exchange
        hasServed = true
        if isDraining { setDrainDeadline(shared.limits.drainDeadline) }
        let receivedAt = requestStart ?? shared.runLoop.now
        requestStart = nil
        handler.received(
            HTTPRequest(
                method: request.method, path: request.target,
                fields: request.fields.map { HTTPField(name: $0.name, value: $0.value) }, body: request.body,
                receivedAt: receivedAt),
            on: exchange)
    }

    // MARK: - Writing

    /// Appends a piece of a streamed answer. If too much is unread, closes the connection and returns false.
    func append(_ bytes: [UInt8]) -> Bool {
        guard case .open = stage else { return false }
        // A single piece is always accepted, however long: the opening with the state of every call is the server's own
        // doing, not a sign of a slow client.
        guard output.count <= shared.limits.maximumBufferedStreamBytes else {
            log("a control connection was closed", "the client reads its stream too slowly")
            close()
            return false
        }
        output.append(contentsOf: bytes)
        scheduleFlush()
        return true
    }

    /// Sends the output now, before the scheduled flush.
    func flushStream() {
        guard case .open = stage else { return }
        writeOutput()
    }

    /// A streamed answer has begun. If the client has already closed its end, we couldn't see it leave later.
    func streamBegan() {
        if isPeerDone {
            close()
        }
    }

    /// The exchange's answer is complete; these are its last bytes.
    func exchangeEnded(_ exchange: HTTP1Exchange, with bytes: [UInt8]) {
        guard case .open = stage, self.exchange === exchange else { return }
        self.exchange = nil
        lastUsed = shared.runLoop.now
        output.append(contentsOf: bytes)
        if !exchange.keepAlive || isDraining {
            isLastAnswer = true
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
        guard case .open = stage else { return }
        writeOutput()
        guard case .open = stage else { return }
        if output.isEmpty {
            outputDeadline = nil
            if isLastAnswer { return linger() }
            if isHeldBack { scheduleFlush() }
            shared.becameIdle?()
        } else if outputDeadline == nil && !(exchange?.isStreaming ?? false) {
            let deadline = shared.runLoop.now.advanced(by: shared.limits.writeDeadline)
            outputDeadline = deadline
            require(deadline)
        }
        let isFull = parser.bufferedByteCount >= pipelineLimit
        if isFull && exchange?.isStreaming ?? false {
            // We can't read more until the stream ends, so we wouldn't see the client leave.
            log("a control connection was closed", "the client sends on while it is streamed to")
            return close()
        }
        var interest: Interest = []
        if !isPeerDone && !isLastAnswer && !isHeldBack && !isFull {
            interest.insert(.read)
        }
        if !output.isEmpty {
            interest.insert(.write)
        }
        watch(interest)
    }

    private func writeOutput() {
        var written = 0
        while written < output.count {
            let count = output.withUnsafeBytes { bytes in
                // MSG_NOSIGNAL: if the peer is gone, get an error instead of a signal.
                Glibc.send(
                    descriptor, bytes.baseAddress?.advanced(by: written), bytes.count - written,
                    Int32(MSG_NOSIGNAL))
            }
            if count > 0 {
                written += count
            } else if errno == EINTR {
                continue
            } else if errno == EAGAIN {
                break
            } else {
                return close()
            }
        }
        output.removeFirst(written)
        if output.isEmpty {
            output = []
        }
    }

    // MARK: - Ending

    /// Answers the present request, or the first one of a client that has just connected, then closes. Ends a stream.
    func drain() {
        guard case .open = stage, !isDraining else { return }
        isDraining = true
        let isAwaited =
            exchange == nil && (!hasServed || parser.isWithinRequest || SocketInput.isWaiting(on: descriptor))
        setDrainDeadline(isAwaited ? shared.limits.drainGrace : shared.limits.drainDeadline)
        if let exchange, exchange.isStreaming {
            exchange.onClose?()
            exchange.finish()
        } else if exchange == nil, !isAwaited {
            isLastAnswer = true
            scheduleFlush()
        }
    }

    private func setDrainDeadline(_ time: Duration) {
        drainDeadline = shared.runLoop.now.advanced(by: time)
        checkDeadlines()
    }

    private func linger() {
        let deadline = shared.runLoop.now.advanced(by: shared.limits.lingerDeadline)
        stage = .lingering(deadline: deadline)
        endExchange()
        if isPeerDone { return close() }
        require(deadline)
        _ = shutdown(descriptor, Int32(SHUT_WR))
        watch(.read)
    }

    /// Closes the connection at once. Idempotent.
    func close() {
        if case .closed = stage { return }
        let wasOpen = if case .open = stage { true } else { false }
        stage = .closed
        timer.cancel(on: shared.runLoop)
        source?.cancel()
        source = nil
        if wasOpen {
            endExchange()
        }
        _ = Glibc.close(descriptor)
        let ended = ended
        self.ended = nil
        ended?(self)
    }

    private func endExchange() {
        output = []
        let exchange = exchange
        self.exchange = nil
        exchange?.wasClosed()
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
        if case .closed = stage { return }
        timer.require(deadline, on: shared.runLoop, tolerance: shared.limits.deadlineTolerance) {
            self.timer.fired()
            self.checkDeadlines()
        }
    }

    private func checkDeadlines() {
        let now = shared.runLoop.now
        if case .lingering(let deadline) = stage {
            return deadline <= now ? close() : require(deadline)
        }
        if let requestStart, requestStart.advanced(by: shared.limits.requestDeadline) <= now {
            self.requestStart = nil
            isLastAnswer = true
            let error = HTTP1Error(status: 408, message: "the request did not arrive in time; send it at once")
            output.append(contentsOf: error.lastResponse)
            flush()
        }
        if let outputDeadline, outputDeadline <= now { return close() }
        if let drainDeadline, drainDeadline <= now { return close() }
        let requestDeadline = requestStart?.advanced(by: shared.limits.requestDeadline)
        for deadline in [requestDeadline, outputDeadline, drainDeadline] {
            if let deadline { require(deadline) }
        }
    }

    private func log(_ message: Logger.Message, _ reason: String) {
        shared.logger.debug(message, metadata: ["reason": "\(reason)"])
    }
}
