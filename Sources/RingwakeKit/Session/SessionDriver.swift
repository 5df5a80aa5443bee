internal import ControlProtocol
internal import RunLoop

/// Drives a client's session: gives it its inputs, and performs its effects. On the client's thread.
final class SessionDriver {
    private static let timerTolerance = Duration.milliseconds(20)

    private let configuration: RingwakeClient.Configuration
    private let queue: ClientQueue
    private let state: ClientState
    private let runLoop: RunLoop
    private let transport: any ControlTransport
    private(set) var session: SessionStateMachine
    private lazy var requests = RequestQueue(runLoop: runLoop, transport: transport) { [unowned self] in session.secret
    }
    /// The list of the device's calls, for those who read it.
    private(set) lazy var callList = CallListDriver(
        configuration, runLoop: runLoop, transport: transport,
        makeStreamNumber: { [unowned self] in makeStreamNumber() },
        makeRequest: { [unowned self] in make($0, $1) })
    private var streamNumber: UInt64 = 0
    private var lastStreamNumber: UInt64 = 0
    private var openedAt: BootClock.Instant?
    private var isClosed = false

    init(
        _ configuration: RingwakeClient.Configuration, queue: ClientQueue, state: ClientState, runLoop: RunLoop,
        transport: any ControlTransport
    ) {
        self.configuration = configuration
        self.queue = queue
        self.state = state
        self.runLoop = runLoop
        self.transport = transport
        session = SessionStateMachine(configuration)
    }

    func start() {
        if let push = configuration.initialPush { run { $0.calls.take(push) } }
        run { $0.start() }
    }

    /// Ends everything. Idempotent.
    func close() {
        guard !isClosed else { return }
        isClosed = true
        session.close()
        callList.close()
        transport.close()
        requests.close()
        state.finish()
    }

    // MARK: - Inputs

    func take(_ event: TransportEvent) {
        guard !isClosed else { return }
        callList.take(event)
        switch event {
        case .streamOpened(let number):
            if number == streamNumber { openedAt = runLoop.refreshNow() }
        case .streamLine(let number, let bytes):
            if number == streamNumber { take(line: bytes) }
        case .streamRefused(let number, let answer):
            if number == streamNumber { run { $0.refused(RingwakeKitError(answer)) } }
        case .streamEnded(let number, let error):
            if number == streamNumber { streamEnded(error) }
        case .answered(let number, let answer): requests.answered(number, answer)
        case .failed(let number, let error, let wasSent): requests.failed(number, error, wasSent: wasSent)
        }
    }

    private func take(line bytes: [UInt8]) {
        do throws(RingwakeKitError) {
            let line = try StreamLine(bytes)
            run { $0.take(line) }
        } catch {
            run { $0.takeBadLine(error) }
        }
    }

    private func streamEnded(_ error: RingwakeKitError) {
        let lasted = openedAt.map { $0.duration(to: runLoop.refreshNow()) } ?? .zero
        run { $0.streamEnded(error, lasted: lasted) }
    }

    /// Gives the session an input, and performs its effects.
    func run(_ input: (inout SessionStateMachine) -> [SessionStateMachine.Effect]) {
        let effects = input(&session)
        state.set(session.calls.inProgress)
        for effect in effects where !isClosed { perform(effect) }
    }

    // MARK: - Effects

    private func perform(_ effect: SessionStateMachine.Effect) {
        switch effect {
        case .openStream(let since, let secret): openStream(since, secret)
        case .closeStream:
            transport.closeStream(streamNumber)
            streamNumber = makeStreamNumber()
        case .retry(let delay):
            runLoop.schedule(at: runLoop.refreshNow().advanced(by: delay), tolerance: Self.timerTolerance) {
                [weak self] in self?.run { $0.retryDue() }
            }
        case .connection(let connection):
            if case .waiting(let why, _) = connection { requests.disconnected(why) }
            if connection == .connected { state.set(session.daemon) }
            state.connection.notify(connection)
        case .resumeRequests: requests.connected()
        case .push(let push): state.pushes.publish(.incomingPush(push))
        case .action(let call, let kind, let digits, let other, let number, let within):
            state.actions.publish(
                CallAction(
                    id: CallAction.ID(number: number), call: call, kind: kind, digits: digits, otherCall: other,
                    deadline: .now.advanced(by: within), requests: CallRequests(requests: DaemonRequests(queue: queue)))
            )
        case .event(let event): state.events.publish(event)
        case .credentials(let credentials):
            state.set(credentials)
            state.pushes.publish(credentials.isEmpty ? .credentialsInvalidated : .credentialsUpdated(credentials))
        case .linkReset(let reset): state.pushes.publish(.linkReset(reset))
        case .protectedData(let event): take(event)
        case .restrictions(let message): state.restrictions.notify(Restrictions(message))
        case .telephony(let modems):
            state.telephony.notify(Dictionary(modems.map { ($0.id, CellularNetwork($0)) }) { first, _ in first })
        case .fetchPushes: fetchPushes()
        case .fetchCredentials: fetchCredentials()
        case .claim(let call): claim(call)
        case .fulfillAgain(let call, let kind): fulfill(call, kind)
        case .lookUp(let call): lookUp(call)
        }
    }

    private func take(_ event: EventMessage.ProtectedData) {
        guard let availability = ProtectedDataAvailability(event, now: .now),
            availability != state.protectedData.value
        else { return }
        state.protectedData.notify(availability)
    }

    private func openStream(_ since: Int64?, _ secret: String?) {
        streamNumber = makeStreamNumber()
        openedAt = nil
        let target = RequestTarget("apps", session.app, "handler", query: [("since", since.map(String.init))])
        transport.openStream(streamNumber, ControlRequest(.handler, "GET", target.text, secret: secret))
    }

    private func makeStreamNumber() -> UInt64 {
        lastStreamNumber += 1
        return lastStreamNumber
    }

    // MARK: - Requests of the session itself

    /// - Parameter completion: called once; at once when the client is closed.
    func make(_ request: RequestQueue.Request, _ completion: @escaping RequestQueue.Completion) {
        requests.make(request, within: configuration.requestTimeout, completion)
    }

    private func ask(
        _ method: String, _ target: RequestTarget, body: [UInt8]? = nil, _ done: @escaping (Answer) -> Void
    ) {
        let request = RequestQueue.Request(.handler, method, target, body: body, isForThisStream: true)
        make(request) { [unowned self] result in
            if !isClosed { done(Answer(result)) }
        }
    }

    /// The outcome of one of the session's own requests.
    private enum Answer {
        case good([UInt8])
        case refused(RingwakeKitError)
        case none

        init(_ result: Result<RequestQueue.Reply, RingwakeKitError>) {
            guard case .success(let reply) = result else {
                self = .none
                return
            }
            self = reply.answer.status == 200 ? .good(reply.answer.body) : .refused(RingwakeKitError(reply.answer))
        }
    }

    /// Passes a decoded answer to the session, or `notFound` if the daemon answers so. Ignores other failures: the
    /// next stream repeats the request.
    private func take<Value>(
        _ answer: Answer, _ read: ([UInt8]) throws(RingwakeKitError) -> Value, notFound: Value,
        _ input: (inout SessionStateMachine, Value) -> [SessionStateMachine.Effect]
    ) {
        switch answer {
        case .good(let body):
            do throws(RingwakeKitError) {
                let value = try read(body)
                run { input(&$0, value) }
            } catch {
                run { $0.takeBadLine(error) }
            }
        case .refused(let error): if error.code == .notFound { run { input(&$0, notFound) } }
        case .none: break
        }
    }

    private func fetchPushes() {
        ask("GET", RequestTarget("apps", session.app, "pushes")) { [unowned self] answer in
            guard case .good = answer else { return run { $0.fetched(nil) } }
            take(answer, IncomingPush.fetched, notFound: []) { $0.fetched($1) }
        }
    }

    private func fetchCredentials() {
        ask("GET", RequestTarget("apps", session.app, "credentials")) { [unowned self] answer in
            take(answer, Registration.read, notFound: .none) { session, registration in
                state.set(vendorIdentifier: registration.vendorIdentifier)
                return session.take(credentials: registration.credentials)
            }
        }
    }

    private func claim(_ call: Call.ID) {
        ask("POST", target(of: call, .claim), body: []) { [unowned self] answer in
            if case .good = answer { return }
            run { $0.calls.claimFailed(call) }
        }
    }

    private func fulfill(_ call: Call.ID, _ kind: CallAction.Kind) {
        // Ignore the outcome. If the request is lost, the next stream requests the action again; if it is refused,
        // the daemon no longer waits for it.
        ask("POST", target(of: call, .fulfill), body: controlJSON(ActionResult(action: kind.rawValue))) { _ in }
    }

    private func lookUp(_ call: Call.ID) {
        ask("GET", RequestTarget("calls", call.rawValue, query: [("app", session.app)])) { [unowned self] answer in
            let read = { (body: [UInt8]) throws(RingwakeKitError) -> CallStatus? in
                let message: CallMessage = try JSONText.read(body, "a call")
                return CallStatus(message)
            }
            take(answer, read, notFound: nil) { $0.calls.lookedUp(call, $1) }
        }
    }

    private func target(of call: Call.ID, _ verb: CallVerb) -> RequestTarget {
        RequestTarget("calls", call.rawValue, verb.rawValue, query: [("app", session.app)])
    }

    // MARK: - Requests of the app

    /// - Returns: False if the action is not pending any more.
    func beginAnswer(_ action: CallAction) -> Bool { session.calls.beginAnswer(action.call, action.id.number) }

    func endAnswer(_ action: CallAction, _ outcome: CallRegistry.AnswerOutcome) {
        session.calls.endAnswer(action.call, action.id.number, outcome)
    }

    /// The app begins to report or claim a call, which makes the call its own.
    func beginOwning(_ call: Call.ID, isClaim: Bool) -> CallRegistry.Owning {
        defer { state.set(session.calls.inProgress) }
        return session.calls.beginOwning(call, isClaim: isClaim)
    }

    /// The report or the claim failed.
    func endOwning(_ call: Call.ID, _ owning: CallRegistry.Owning, isOthers: Bool) {
        session.calls.endOwning(call, owning, isOthers: isOthers)
        state.set(session.calls.inProgress)
    }
}
