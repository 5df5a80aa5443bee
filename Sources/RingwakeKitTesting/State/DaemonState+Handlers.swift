internal import ControlProtocol
internal import RingwakeCore

/// A handler: one that was started, or one that came by itself.
struct SimulatedHandler: Sendable {
    let secret: String
    /// The client that came by itself, which stands for its process; nil for one that was started.
    let guest: UInt64?
    /// The stream that it keeps.
    var stream: UInt64?
}

// Handlers: how they are started, connect, and go. What the daemon does with processes is done here with clients.
extension DaemonState {
    /// A handler is to be started: the test may play its part.
    mutating func start(_ request: WakeRequest) {
        let secret = makeSecret(request.wake)
        handlers[request.wake] = SimulatedHandler(secret: secret, guest: nil)
        starts.append(
            SimulatedStart(
                wake: request.wake, call: request.call.rawValue, secret: secret,
                input: HandlerInput.bytes(of: request, at: now)))
        submit(.handlerStarted(request.wake, pid: nil))
    }

    /// A secret that no other handler of this daemon has: nothing here is secret.
    private func makeSecret(_ wake: WakeID) -> String {
        let digits = String(wake.number, radix: 16)
        return String(repeating: "5", count: 64 - min(digits.count, 64)) + digits
    }

    /// The handler that a stream is opened for: that of the secret, or a guest of the last run that comes back.
    func handler(returning client: UInt64) -> WakeID? {
        handlers.filter { $0.value.guest == client && $0.value.stream == nil }.keys.min()
    }

    func wake(ofSecret secret: String) -> WakeID? { handlers.first { $0.value.secret == secret }?.key }

    /// `GET /v1/apps/{app}/handler`: the stream is a handler's from now on.
    mutating func keepHandler(_ stream: PendingStream, wake: WakeID?) -> EventRefusal? {
        if let known = wake ?? handler(returning: stream.client) {
            if let former = handlers[known]?.stream {
                handlers[known]?.stream = nil
                endStream(former)
            }
            handlers[known]?.stream = stream.number
            open(stream, for: known, secret: nil)
            let refusal = submit(.handlerConnected(app, known, pid: nil, policy)).refusal
            if refusal != nil { endStream(stream.number) }
            return refusal
        }
        return submit(.handlerConnected(app, nil, pid: nil, policy), on: stream).refusal
    }

    /// The stream becomes that of a handler that came by itself.
    mutating func join(_ wake: WakeID, _ stream: PendingStream) {
        let secret = makeSecret(wake)
        handlers[wake] = SimulatedHandler(secret: secret, guest: stream.client, stream: stream.number)
        open(stream, for: wake, secret: secret)
    }

    private mutating func open(_ stream: PendingStream, for wake: WakeID, secret: String?) {
        let hello = EventMessage(handler: app, secret: secret, socket: SimulatedDaemon.socketPath)
        begin(
            stream.number, EventStream(sink: stream.sink, app: app, call: nil, wake: wake),
            first: [hello] + beginning(since: stream.since))
    }

    /// Its connection is gone; a handler that came by itself is gone with it.
    mutating func detach(_ wake: WakeID) {
        handlers[wake]?.stream = nil
        if handlers[wake]?.guest != nil { handlers[wake] = nil }
    }

    mutating func send(_ line: [UInt8], to wake: WakeID) {
        guard let stream = handlers[wake]?.stream else { return }
        write(line, to: stream)
    }

    /// The daemon ends a handler: its process, or, of one that came by itself, its connection.
    mutating func stopHandler(_ wake: WakeID) {
        guard let handler = handlers.removeValue(forKey: wake) else { return }
        if let stream = handler.stream { endStream(stream) }
        submit(handler.guest != nil ? .handlerDisconnected(wake) : .handlerExited(wake, .signalled(15)))
    }

    /// A handler that was started has ended.
    mutating func handlerExited(_ wake: WakeID, status: Int32) {
        guard let handler = handlers.removeValue(forKey: wake) else { return }
        if let stream = handler.stream { endStream(stream) }
        submit(.handlerExited(wake, .exited(status)))
    }

    // MARK: - The daemon's own life

    /// The daemon ends, as by `kill -9`: every connection breaks, and nobody is told anything.
    mutating func stop() {
        guard isRunning else { return }
        isRunning = false
        dropUnsettled()
        for number in streams.keys.sorted() { endStream(number) }
        for wake in handlers.keys { handlers[wake]?.stream = nil }
    }

    /// The daemon starts again within the same boot, and takes up the calls of the last run.
    mutating func start() {
        guard !isRunning else { return }
        isRunning = true
        let last = coordinator
        coordinator = CoordinatorStateMachine(
            firstCallNumber: last.nextCallNumber, firstWakeNumber: last.nextWakeNumber)
        audio = AudioArbiter(settings: .withoutEngine)
        audioNeeds = .none
        coordinator.remember(last.finished.map(\.record))
        submit(.strikesRestored(app, last.strikes(of: app), isStruckOut: last.isStruckOut(app)))
        for call in last.active.values.sorted(by: { $0.number < $1.number }) {
            submit(.restored(StoredCall(call.journalRecord, payloads: call.pushes.payloads, .thisBoot), policy))
        }
        restoreHandlers(of: last)
    }

    private mutating func restoreHandlers(of last: CoordinatorStateMachine) {
        var former = last.lanes[app]?.handlers ?? [:]
        // One that came by itself and has nothing to do comes again by itself.
        former = former.filter { wake, handler in
            !handler.cameByItself || coordinator.active.values.contains { $0.handler == wake }
        }
        handlers = handlers.filter { former[$0.key] != nil }
        submit(.handlersRestored(app, former, alive: Set(handlers.keys), policy))
    }
}
