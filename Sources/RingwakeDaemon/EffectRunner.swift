internal import ControlProtocol
internal import Cryptography
internal import HandlerActivation
internal import Logging
internal import RingwakeCore
internal import RunLoop

/// Drives the coordinator: gives it events with the time, runs its effects in order, keeps its one timer.
final class EffectRunner {
    /// All calls. Read freely; changed by ``submit(_:)`` alone.
    private(set) var coordinator: CoordinatorStateMachine
    /// The apps whose handlers can be started.
    var apps: [AppID: AppConfiguration]

    private let runLoop: RunLoop
    private let activator: ExecHandlerActivator
    private let events: EventStreams
    private let logger: Logger
    private let exitPatience: Duration
    private var handlers: [CallKey: RunningHandler] = [:]
    private var secrets: [String: AppID] = [:]
    private var timer: (token: Timer, deadline: BootInstant)?

    /// A call's deadline may be met this much later, so that deadlines that lie together cost one wakeup.
    private static let deadlineTolerance = Duration.milliseconds(200)
    /// What a stopped handler gets between SIGTERM and SIGKILL.
    private static let stopGrace = Duration.seconds(5)

    /// - Parameter exitPatience: What a handler gets between its call's end and SIGTERM. It is to exit by itself; but
    ///   handlers that hang must not gather until no further one can be started.
    init(
        configuration: Configuration, runLoop: RunLoop, activator: ExecHandlerActivator, events: EventStreams,
        logger: Logger, exitPatience: Duration = .seconds(30)
    ) {
        coordinator = CoordinatorStateMachine(deadlines: configuration.deadlines)
        apps = configuration.apps
        self.runLoop = runLoop
        self.activator = activator
        self.events = events
        self.logger = logger
        self.exitPatience = exitPatience
    }

    /// The present time, as the coordinator counts it.
    var now: BootInstant { BootInstant(nanoseconds: BootClock.now().nanoseconds) }

    /// The calls with this id, running or among the last that ended: at most one of each app.
    func calls(named id: CallID) -> [Call] {
        let running = coordinator.active.values.filter { $0.key.id == id }
        return running + coordinator.finished.filter { $0.key.id == id }
    }

    /// The app whose handler was given this secret, while that handler runs.
    func app(ofSecret secret: String) -> AppID? { secrets[secret] }

    /// Puts new settings in force for the calls to come.
    func reconfigure(_ configuration: Configuration) {
        apps = configuration.apps
        coordinator.deadlines = configuration.deadlines
    }

    /// Applies one event, and those that running its effects leads to. Returns why the event was refused, if it was;
    /// then it changed nothing.
    @discardableResult
    func submit(_ event: Event) -> EventRefusal? {
        var refusal: EventRefusal?
        var consequences: [Event] = []
        for effect in coordinator.handle(event, at: now) {
            switch effect {
            case .refused(let why): refusal = why
            case .wake(let request): consequences.append(wake(request))
            default: run(effect)
            }
        }
        armTimer()
        // Only now: whoever listens hears of this event's changes before those that follow from them.
        for event in consequences {
            submit(event)
        }
        return refusal
    }

    private func run(_ effect: Effect) {
        switch effect {
        case .stopHandler(let key):
            handlers[key]?.stop(grace: EffectRunner.stopGrace)
        case .request(let action, let key, let deadline):
            events.publish(EventMessage(action: action, of: key, by: deadline, at: now), of: key)
        case .callChanged(let call):
            if call.machine.hasEnded {
                handlers[call.key]?.expectExit(within: exitPatience, grace: EffectRunner.stopGrace)
            }
            log(call)
            events.publish(EventMessage(change: call, at: now), of: call.key)
        case .pushIgnored(let push, let why):
            let key = CallKey(app: push.app, id: CallID(push.apnsID))
            logger.info(
                "push starts no call", metadata: ["app": "\(push.app)", "apns-id": "\(push.apnsID)", "why": "\(why)"])
            events.publish(EventMessage(ignored: push, why), of: key)
        case .wake, .refused:
            break
        }
    }

    /// Starts the call's handler, and tells what came of it.
    private func wake(_ request: WakeRequest) -> Event {
        do throws(RingwakeError) {
            guard let app = apps[request.app] else {
                throw RingwakeError(.notFound, "\(request.app) is not configured any more")
            }
            let secret = encodeHex(try SecureRandom.bytes(32))
            let handler = try activator.wake(request, command: app.exec, secret: secret) { [weak self] exit in
                self?.handlerExited(request.key, exit, secret: secret)
            }
            handlers[request.key] = handler
            secrets[secret] = request.app
            return .handlerStarted(request.key, pid: handler.pid)
        } catch {
            logger.error(
                "handler could not be started",
                metadata: [
                    "app": "\(request.app)", "call": "\(request.call)", "error": "\(error.code.slug)",
                    "why": "\(error.message)",
                ])
            return .handlerNotStarted(request.key, why: error.message)
        }
    }

    private func handlerExited(_ key: CallKey, _ exit: ChildExit, secret: String) {
        secrets[secret] = nil
        // A call that ended long ago may be forgotten, and its name in use again for one with a handler of its own.
        guard handlers[key]?.isRunning != true else { return }
        handlers[key] = nil
        switch exit {
        case .exited(let status): submit(.handlerExited(key, .exited(status)))
        case .signalled(let signal): submit(.handlerExited(key, .signalled(signal)))
        }
    }

    private func armTimer() {
        let deadline = coordinator.nextDeadline
        guard deadline != timer?.deadline else { return }
        if let timer {
            runLoop.cancel(timer.token)
        }
        timer = deadline.map { deadline in
            let token = runLoop.schedule(
                at: BootClock.Instant(nanoseconds: deadline.nanoseconds), tolerance: EffectRunner.deadlineTolerance
            ) { [weak self] in
                self?.timer = nil
                self?.submit(.deadlineReached)
            }
            return (token, deadline)
        }
    }

    private func log(_ call: Call) {
        var metadata: Logger.Metadata = [
            "app": "\(call.key.app)", "call": "\(call.key.id)", "state": "\(call.machine.state.name)",
        ]
        metadata["reason"] = call.machine.state.endReason.map { "\($0)" }
        metadata["detail"] = call.machine.state.endDetail.map { "\($0)" }
        let isFailure = call.machine.state.endReason == .handlerFailed
        logger.log(level: isFailure ? .warning : .info, "call changed", metadata: metadata)
    }
}
