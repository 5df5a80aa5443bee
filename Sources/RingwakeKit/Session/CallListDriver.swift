internal import ControlProtocol
internal import RunLoop

/// Drives the list of the device's calls: has its readers, and performs its effects. On the client's thread.
final class CallListDriver {
    typealias Continuation = AsyncThrowingStream<[Call], any Error>.Continuation

    /// Somebody who reads the list.
    final class Reader: Sendable {
        let continuation: Continuation

        init(_ continuation: Continuation) { self.continuation = continuation }
    }

    /// Makes a request; calls the completion once.
    typealias Requester = (RequestQueue.Request, @escaping RequestQueue.Completion) -> Void

    /// The request for the calls. The log would follow them: one entry of it is the least that can be requested.
    static let request = RequestQueue.Request(.user, "GET", RequestTarget("calls", query: [("limit", "1")]))

    private static let timerTolerance = Duration.milliseconds(20)

    private let runLoop: RunLoop
    private let transport: any ControlTransport
    private let makeRequest: Requester
    private let makeStreamNumber: () -> UInt64
    private var list: CallListStateMachine
    private var readers: [ObjectIdentifier: Reader] = [:]
    /// The stream that is opening or open.
    private var stream: UInt64?
    private var openedAt: BootClock.Instant?
    private var retry: Timer?
    private var isClosed = false

    /// - Parameters:
    ///   - makeStreamNumber: returns a number that no stream of the transport has had.
    ///   - makeRequest: makes a request for the list.
    init(
        _ configuration: RingwakeClient.Configuration, runLoop: RunLoop, transport: any ControlTransport,
        makeStreamNumber: @escaping () -> UInt64, makeRequest: @escaping Requester
    ) {
        self.runLoop = runLoop
        self.transport = transport
        self.makeStreamNumber = makeStreamNumber
        self.makeRequest = makeRequest
        list = CallListStateMachine(configuration)
    }

    // MARK: - Readers

    func add(_ reader: Reader) {
        guard !isClosed else { return reader.continuation.finish() }
        readers[ObjectIdentifier(reader)] = reader
        if let calls = list.calls { reader.continuation.yield(calls) }
        run { $0.begin() }
    }

    func remove(_ reader: ObjectIdentifier) {
        guard readers.removeValue(forKey: reader) != nil, readers.isEmpty else { return }
        run { $0.end() }
    }

    /// Ends all readers. Idempotent.
    func close() {
        run { $0.end() }
        isClosed = true
        endReaders(nil)
    }

    private func endReaders(_ error: RingwakeKitError?) {
        let ended = readers.values
        readers = [:]
        for reader in ended { reader.continuation.finish(throwing: error) }
    }

    // MARK: - Inputs

    /// Takes the events of its own stream; ignores all others.
    func take(_ event: TransportEvent) {
        switch event {
        case .streamOpened(let number) where number == stream:
            openedAt = runLoop.refreshNow()
            run { $0.opened() }
        case .streamLine(let number, let line) where number == stream: take(line: line)
        case .streamRefused(let number, let answer) where number == stream: fail(RingwakeKitError(answer))
        case .streamEnded(let number, let error) where number == stream: fail(error)
        default: break
        }
    }

    private func take(line: [UInt8]) {
        do throws(RingwakeKitError) {
            if case .event(.call) = try StreamLine(line) { run { $0.changed() } }
        } catch {
            fail(error)
        }
    }

    private func fail(_ error: RingwakeKitError) {
        let lasted = openedAt.map { $0.duration(to: runLoop.refreshNow()) } ?? .zero
        run { $0.failed(error, lasted: lasted) }
    }

    private func run(_ input: (inout CallListStateMachine) -> [CallListStateMachine.Effect]) {
        guard !isClosed else { return }
        for effect in input(&list) { perform(effect) }
    }

    // MARK: - Effects

    private func perform(_ effect: CallListStateMachine.Effect) {
        switch effect {
        case .openStream: openStream()
        case .closeStream: closeStream()
        case .retry(let delay):
            retry = runLoop.schedule(
                at: runLoop.refreshNow().advanced(by: delay), tolerance: Self.timerTolerance
            ) { [weak self] in self?.run { $0.retryDue() } }
        case .fetch: fetch()
        case .publish(let calls):
            for reader in readers.values { reader.continuation.yield(calls) }
        case .fail(let error): endReaders(error)
        }
    }

    private func openStream() {
        let number = makeStreamNumber()
        stream = number
        openedAt = nil
        transport.openStream(number, ControlRequest(.user, "GET", RequestTarget("events").text))
    }

    private func closeStream() {
        if let retry { runLoop.cancel(retry) }
        retry = nil
        if let stream { transport.closeStream(stream) }
        stream = nil
    }

    private func fetch() {
        let requested = stream
        makeRequest(Self.request) { [weak self] result in
            // An answer that was requested for an earlier stream may be older than this one.
            guard let self, stream == requested else { return }
            do throws(RingwakeKitError) {
                let calls = try Self.calls(of: try result.get().answer)
                run { $0.fetched(calls) }
            } catch {
                fail(error)
            }
        }
    }

    /// The calls that have not ended, the newest first.
    ///
    /// - Throws: the daemon's refusal; `badAnswer`.
    private static func calls(of answer: ControlAnswer) throws(RingwakeKitError) -> [Call] {
        guard answer.status == 200 else { throw RingwakeKitError(answer) }
        let message: CallListMessage = try JSONText.read(answer.body, "the list of calls")
        return message.active
    }
}

extension CallListMessage {
    /// The calls that have not ended, the newest first.
    var active: [Call] { calls.map { Call($0) }.filter { $0.state != .ended } }
}
