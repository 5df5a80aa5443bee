internal import ControlProtocol
internal import RunLoop

/// Drives a client: gives the session what comes, and does what it says. On the client's thread.
final class ClientCore {
    private static let timerTolerance = Duration.milliseconds(20)

    private let configuration: RingwakeClient.Configuration
    private let port: ClientPort
    private let hub: ClientHub
    private let runLoop: RunLoop
    private let transport: any ControlTransport
    private(set) var session: SessionStateMachine
    /// Made in `init`, after all that it refers to.
    private lazy var desk = RequestDesk(runLoop: runLoop, transport: transport) { [unowned self] in session.secret }
    private var streamNumber: UInt64 = 0
    private var openedAt: BootClock.Instant?
    private var isClosed = false

    init(
        _ configuration: RingwakeClient.Configuration, port: ClientPort, hub: ClientHub, runLoop: RunLoop,
        transport: any ControlTransport
    ) {
        self.configuration = configuration
        self.port = port
        self.hub = hub
        self.runLoop = runLoop
        self.transport = transport
        session = SessionStateMachine(configuration)
    }

    func start() {
        if let push = configuration.initialPush { run { $0.take(push) } }
        run { $0.start() }
    }

    /// Ends everything, and tells so. Idempotent.
    func close() {
        guard !isClosed else { return }
        isClosed = true
        session.close()
        transport.close()
        desk.close()
        hub.finish()
    }

    // MARK: - What comes

    func take(_ event: TransportEvent) {
        guard !isClosed else { return }
        switch event {
        case .streamOpened(let number):
            if number == streamNumber { openedAt = runLoop.refreshNow() }
        case .streamLine(let number, let bytes):
            if number == streamNumber { take(line: bytes) }
        case .streamRefused(let number, let answer):
            if number == streamNumber { run { $0.refused(RingwakeKitError(answer)) } }
        case .streamEnded(let number, let error):
            if number == streamNumber { streamEnded(error) }
        case .answered(let number, let answer): desk.answered(number, answer)
        case .failed(let number, let error, let wasSent): desk.failed(number, error, wasSent: wasSent)
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

    /// Gives the session an input, and does what follows.
    func run(_ input: (inout SessionStateMachine) -> [SessionStateMachine.Effect]) {
        let effects = input(&session)
        hub.publish(session.activeCalls)
        for effect in effects where !isClosed { perform(effect) }
    }

    // MARK: - What follows

    private func perform(_ effect: SessionStateMachine.Effect) {
        switch effect {
        case .openStream(let since, let secret): openStream(since, secret)
        case .closeStream:
            transport.closeStream(streamNumber)
            streamNumber += 1
        case .retry(let delay):
            runLoop.schedule(at: runLoop.refreshNow().advanced(by: delay), tolerance: Self.timerTolerance) {
                [weak self] in self?.run { $0.retryDue() }
            }
        case .tellConnection(let state): tell(state)
        case .resumeRequests: desk.connected()
        case .tellPush(let push): hub.pushes.tell(.incomingPush(push))
        case .tellAction(let call, let kind, let number, let within):
            hub.actions.tell(
                CallAction(call: call, kind: kind, deadline: .now.advanced(by: within), number: number, port: port))
        case .tellCall(let event): hub.calls.tell(event)
        case .tellCredentials(let event): tell(event)
        case .fetchPushes: fetchPushes()
        case .fetchCredentials: fetchCredentials()
        case .claim(let call): claim(call)
        case .fulfillAgain(let call, let kind): fulfill(call, kind)
        case .lookUp(let call): lookUp(call)
        }
    }

    private func openStream(_ since: Int64?, _ secret: String?) {
        streamNumber += 1
        openedAt = nil
        let target = RequestTarget("apps", session.app, "handler", query: [("since", since.map(String.init))])
        transport.openStream(streamNumber, ControlRequest(.handler, "GET", target.text, secret: secret))
    }

    private func tell(_ state: ConnectionState) {
        if case .waiting(let why, _) = state { desk.disconnected(why) }
        hub.connection.tell(state)
    }

    private func tell(_ event: PushRegistryEvent) {
        hub.publish(session.credentials)
        hub.pushes.tell(event)
    }

    // MARK: - What the session asks for itself

    /// - Parameter completion: called once; at once when the client is closed.
    func make(_ request: RequestDesk.Request, _ completion: @escaping RequestDesk.Completion) {
        desk.make(request, within: configuration.requestTimeout, completion)
    }

    private func ask(
        _ method: String, _ target: RequestTarget, body: [UInt8]? = nil, _ done: @escaping (Answer) -> Void
    ) {
        let request = RequestDesk.Request(.handler, method, target, body: body, isForThisStream: true)
        make(request) { [unowned self] result in
            if !isClosed { done(Answer(result)) }
        }
    }

    /// What a request of the session's own came to.
    private enum Answer {
        case good([UInt8])
        case refused(RingwakeKitError)
        case none

        init(_ result: Result<RequestDesk.Reply, RingwakeKitError>) {
            guard case .success(let reply) = result else {
                self = .none
                return
            }
            self = reply.answer.status == 200 ? .good(reply.answer.body) : .refused(RingwakeKitError(reply.answer))
        }
    }

    private func fetchPushes() {
        ask("GET", RequestTarget("apps", session.app, "pushes")) { [unowned self] answer in
            guard case .good(let body) = answer else { return run { $0.fetched(nil) } }
            do throws(RingwakeKitError) {
                let pushes = try IncomingPush.fetched(body)
                run { $0.fetched(pushes) }
            } catch {
                run { $0.takeBadLine(error) }
            }
        }
    }

    private func fetchCredentials() {
        ask("GET", RequestTarget("apps", session.app, "credentials")) { [unowned self] answer in
            switch answer {
            case .good(let body):
                do throws(RingwakeKitError) {
                    let credentials = try PushCredentials.read(body)
                    run { $0.take(credentials: credentials) }
                } catch {
                    run { $0.takeBadLine(error) }
                }
            case .refused(let error):
                if error.code == .notFound { run { $0.take(credentials: []) } }
            case .none: break
            }
        }
    }

    private func claim(_ call: String) {
        ask("POST", session.target(of: call, .claim), body: []) { [unowned self] answer in
            if case .good = answer { return }
            run { $0.claimFailed(call) }
        }
    }

    private func fulfill(_ call: String, _ kind: CallAction.Kind) {
        do throws(RingwakeKitError) {
            let body = try JSONText.write(ActionResult(action: kind.name))
            // Where it is refused, or lost again, the daemon asks again or has gone on without it.
            ask("POST", session.target(of: call, .fulfill), body: body) { _ in }
        } catch {
            preconditionFailure("the name of an action is no JSON: \(error)")
        }
    }

    private func lookUp(_ call: String) {
        ask("GET", RequestTarget("calls", call, query: [("app", session.app)])) { [unowned self] answer in
            switch answer {
            case .good(let body):
                do throws(RingwakeKitError) {
                    let message: CallMessage = try JSONText.read(body, "a call")
                    if let line = StreamLine.CallLine(message) { run { $0.lookedUp(call, line) } }
                } catch {
                    run { $0.takeBadLine(error) }
                }
            case .refused(let error):
                if error.code == .notFound { run { $0.lookedUp(call, nil) } }
            case .none: break
            }
        }
    }

    // MARK: - What the app does

    /// The app answers an action.
    /// - Returns: False when nobody asks for it any more.
    func beginAnswer(_ action: CallAction) -> Bool { session.beginAnswer(action.call, action.number) }

    func endAnswer(_ action: CallAction, _ outcome: SessionStateMachine.AnswerOutcome) {
        session.endAnswer(action.call, action.number, outcome)
    }

    /// The app reports or claims a call, and so means to have it.
    func beginOwning(_ call: String, isClaim: Bool) -> SessionStateMachine.Owning {
        defer { hub.publish(session.activeCalls) }
        return session.beginOwning(call, isClaim: isClaim)
    }

    /// It does not get it.
    func endOwning(_ call: String, _ owning: SessionStateMachine.Owning) {
        session.endOwning(call, owning)
        hub.publish(session.activeCalls)
    }
}
