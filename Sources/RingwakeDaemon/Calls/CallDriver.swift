internal import DaemonConfiguration
internal import CallService
internal import ControlProtocol
internal import Cryptography
internal import Glibc
internal import HTTPServer
internal import HandlerActivation
internal import Logging
internal import PushJournal
internal import RingwakeCore
internal import RunLoop

/// Drives the call service: submits events with their time, runs effects in order, keeps the one timer.
///
///     PushGateway, ControlServer, PushJournal, HandlerActivator, ... --ServiceEvent--> CallServiceStateMachine
///          ^                                                                                  |
///          +----------------------------------- ServiceEffect <-------------------------------+
final class CallDriver {
    /// All calls, handlers and streams. Only ``submit(_:)`` changes them.
    private(set) var service = CallServiceStateMachine()
    /// The current settings.
    private(set) var configuration: Configuration
    /// Number of strikes of each app since the start.
    private(set) var strikes: [AppID: UInt64] = [:]
    /// Called with the changes after each event and the events that follow from it.
    var onChanges: [(Changes) -> Void] = []
    /// Called for each push with its app, after the service has handled it and has woken its handler.
    var onArrival: ((AppID) -> Void)?
    /// Called with the app of a handler that was started, before the push that it was started for goes to the disk.
    var onStarted: ((AppID) -> Void)?
    /// Called for each call that ended without an answer or a decline.
    var onMissed: ((Call) -> Void)?
    /// Answers the requests that the service doesn't handle.
    var onForward: ((ServiceRequest, any HTTPExchange) -> Void)?
    /// The connection status with which a new stream begins.
    var connectionEvents: (AppID?) -> [EventMessage] = { _ in [] }
    /// The cellular networks with which a new stream begins.
    var telephonyEvents: () -> [EventMessage] = { [] }
    /// Called after each event with whether somebody reads the events of the device.
    var onReaders: ((Bool) -> Void)?

    let requests = OpenRequests()
    let journal: PushJournal
    let activator: HandlerActivator
    private let reader: JournalReader
    private let callers: CallerLists
    private let restoration: Restoration
    private let logger: Logger
    private let runLoop: RunLoop
    private let exitTimeout: Duration
    private var senders: [RequestID: (DeliveryOutcome) -> Void] = [:]
    private(set) var senderClocks = SenderClocks()
    private var changes = Changes()
    /// Whether a push has woken a handler since ``driver`` was at rest.
    private var hasWoken = false
    private lazy var driver = StateMachineDriver<ServiceEvent>(
        runLoop: runLoop, tolerance: CallDriver.deadlineTolerance, deadlineReached: .calls(.deadlineReached),
        nextDeadline: { [unowned self] in
            service.nextDeadline.map { BootClock.Instant(nanoseconds: $0.nanoseconds) }
        },
        apply: { [unowned self] event in
            for effect in service.handle(event, at: now, asking: host) { run(effect) }
        },
        settled: { [unowned self] in
            hasWoken = false
            restrictionsTimer.set(service.screening.nextChange.map { .init(nanoseconds: $0.nanoseconds) })
            publishChanges()
            onReaders?(service.subscriptions.areOfDevice)
        })
    private lazy var restrictionsTimer = DeviceTimer(runLoop: runLoop, tolerance: CallDriver.deadlineTolerance) {
        [unowned self] in submit(.deadlineReached as Event)
    }
    private lazy var host = HostQueries(
        wallMilliseconds: { unixMilliseconds() }, moment: { .now() },
        verdict: { [callers] in callers.verdict(on: $0) },
        makeSecret: { () throws(RingwakeError) in encodeHex(try SecureRandom.bytes(32)) },
        hash: { SHA256.digest(Array($0.utf8)) },
        connections: { [unowned self] in connectionEvents($0) },
        telephony: { [unowned self] in telephonyEvents() })

    /// What an event, and the events that followed from it, changed.
    struct Changes {
        var calls: Set<CallKey> = []
        var apps: Set<AppID> = []
        var isEmpty: Bool { calls.isEmpty && apps.isEmpty }
    }

    /// A call's deadline may fire this much late, so that deadlines close together cost one wakeup.
    private static let deadlineTolerance = Duration.milliseconds(200)
    /// Time between SIGTERM and SIGKILL for a handler.
    private static let stopGrace = Duration.seconds(5)

    /// - Parameter exitTimeout: time for a handler to exit by itself after its last call. After that it is stopped, so
    ///   that hanging handlers don't accumulate until no more can be started.
    init(
        configuration: Configuration, runLoop: RunLoop, journal: PushJournal, activator: HandlerActivator,
        callers: CallerLists, restoration: Restoration, exitTimeout: Duration = .seconds(30), logger: Logger
    ) {
        self.configuration = configuration
        self.runLoop = runLoop
        self.journal = journal
        self.activator = activator
        self.callers = callers
        self.restoration = restoration
        self.exitTimeout = exitTimeout
        self.logger = logger
        reader = JournalReader(journal: journal, runLoop: runLoop)
        requests.onLeave = { [weak self] id in self?.submit(.left(id)) }
        submit(.configured(ServiceConfiguration(configuration)))
    }

    /// The present time on the service's clock.
    var now: BootInstant { BootInstant(nanoseconds: BootClock.now().nanoseconds) }

    var coordinator: CoordinatorStateMachine { service.coordinator }

    /// Rules of an app; nil if it isn't configured.
    func policy(of app: AppID) -> AppPolicy? { configuration.apps[app]?.policy }

    /// Applies other settings.
    func reconfigure(_ configuration: Configuration) {
        self.configuration = configuration
        senderClocks.keep(Set(configuration.teams.map(\.id)))
        submit(.configured(ServiceConfiguration(configuration)))
    }

    // MARK: - Events

    func submit(_ event: ServiceEvent) { driver.submit(event) }

    func submit(_ event: Event) { driver.submit(.calls(event)) }

    func publish(_ event: EventMessage, to audience: Audience) { driver.submit(.published(event, audience)) }

    /// Accepts a push and wakes its handler. Answers when the push is in the journal: `accepted`, or why not.
    func receive(_ push: VerifiedPush, answer: @escaping (DeliveryOutcome) -> Void) {
        // While the disk does not answer, a call may ring from memory; its push is not answered 200.
        let rings = journal.isSilent && policy(of: push.app)?.unrecorded == .ring
        guard configuration.apps[push.app] != nil, journal.hasRoom || rings else {
            logger.warning(
                "push cannot be taken now",
                metadata: [
                    "app": "\(push.app)", "push-id": "\(push.pushID)",
                    "why": "\(configuration.apps[push.app] == nil ? "its app is gone" : journal.complaint)",
                ])
            return answer(.refused(.unavailable))
        }
        let id = requests.nextID()
        senders[id] = answer
        submit(.push(push, nil, id))
        onArrival?(push.app)
    }

    /// Callbacks for a handler that was started or restored.
    func handlerEvents(_ wake: WakeID, of app: AppID) -> HandlerEvents {
        HandlerEvents(
            started: { [weak self] pid in self?.submit(.handlerStarted(wake, pid: pid)) },
            failed: { [weak self] error in self?.notStarted(wake, of: app, error) },
            ended: { [weak self] exit in self?.submit(.handlerExited(wake, exit)) })
    }

    /// Calls `body` once, when all earlier writes are durable, have failed or have timed out.
    func whenDurable(_ body: @escaping () -> Void) { reader.whenDurable(body) }

    private func publishChanges() {
        guard !changes.isEmpty else { return }
        let published = changes
        changes = Changes()
        for observer in onChanges { observer(published) }
    }

    // MARK: - Effects

    private func run(_ effect: ServiceEffect) {
        switch effect {
        case .respond(let id, let status, let json): requests.respond(id, status: status, json: json)
        case .refuseForNow(let id, let wait, let json): requests.refuse(id, for: wait, json: json)
        case .respondBytes(let id, let bytes): requests.respond(id, bytes: bytes)
        case .begin(let id): requests.begin(id)
        case .send(let id, let bytes, let isPush):
            requests.send(id, bytes, now: isPush)
            if isPush { yieldToHandler() }
        case .end(let id): requests.end(id)
        case .forward(let request):
            if let exchange = requests.take(request.id) { onForward?(request, exchange) }
        case .start(let request, let secret): start(request, secret: secret)
        case .stop(let wake): activator.stop(wake, grace: CallDriver.stopGrace)
        case .release(let wake): activator.expectExit(wake, within: exitTimeout, grace: CallDriver.stopGrace)
        case .retain(let wake): activator.keep(wake)
        case .note(let effect): note(effect)
        case .senderClock(let sender, let behind): senderClocks.note(sender, behind: behind, logger)
        case .payloadProblem(let push, let problem):
            logger.notice(
                "payload is not what the app's [payload] says",
                metadata: ["app": "\(push.app)", "push-id": "\(push.pushID)", "problem": "\(problem)"])
        default: runStored(effect)
        }
    }

    /// Runs the effects on the journal, the caller lists and the stored state.
    private func runStored(_ effect: ServiceEffect) {
        switch effect {
        case .refuse(let id, let why): senders.removeValue(forKey: id)?(.refused(why))
        case .append(let push, let payloads, let call, let replaced, let outcome, let id):
            append(push, payloads, call, replacing: replaced, outcome, id)
            // The sender waits for the disk, and it for the handler's first slice, but for nothing else of this turn.
            if hasWoken { journal.submitNow() }
        case .appendRing(let call): appendRing(call)
        case .write(let record, let urgency): journal.write(record, urgency)
        case .barrier(let then): reader.whenDurable { [weak self] in self?.submit(.resumed(then)) }
        case .readCalls(let query, let then): reader.calls(query, completion: resume(then))
        case .readPushes(let query, let then): reader.pushes(query, completion: resume(then))
        case .lists(let command, let then): callers.run(command, completion: resume(then))
        case .storeState(let state, let app, let then):
            restoration.store(state, of: app, completion: resume(then))
        case .storeRestoration(let record, let app): restoration.store(record, of: app)
        case .dropState(let app, let record): restoration.drop(app, record)
        case .storeDoNotDisturb(let rules, let then): restoration.store(rules, completion: resume(then))
        default: break
        }
    }

    private func resume<Value>(
        _ then: @escaping (Result<Value, RingwakeError>) -> ServiceEvent
    ) -> (Result<Value, RingwakeError>) -> Void {
        { [weak self] result in self?.submit(then(result)) }
    }

    private func append(
        _ push: PushRecord, _ payloads: [CallPayload], _ call: CallRecord?, replacing replaced: CallRecord?,
        _ outcome: PushOutcome, _ id: RequestID?
    ) {
        let answer = id.flatMap { senders.removeValue(forKey: $0) }
        journal.append(push, payloads: payloads, call: call, replaced: replaced) { [weak self] result in
            switch result {
            case .success(let verdict):
                answer?(.accepted(outcome))
                guard let call else { return }
                self?.submit(.pushJournaled(call.key, number: call.number, isKnown: verdict == .callKnown))
                if verdict == .callKnown { self?.recall(call) }
            case .failure(let error):
                self?.logger.debug(
                    "push is not durable",
                    metadata: ["app": "\(push.app)", "push-id": "\(push.pushID)", "why": "\(error.message)"])
                // The push wakes a handler all the same, and its sender repeats it: the call that it replaced has ended.
                if let replaced { self?.journal.write(replaced, .withNext) }
                answer?(.refused(.unavailable))
            }
        }
    }

    private func appendRing(_ call: CallRecord) {
        journal.appendRing(call) { [weak self] result in
            switch result {
            case .success(let verdict):
                self?.submit(.ringJournaled(call.key, number: call.number, isKnown: verdict == .callKnown))
                if verdict == .callKnown { self?.recall(call) }
            case .failure(let error):
                self?.logger.warning(
                    "the journal cannot record that a call rings",
                    metadata: ["app": "\(call.key.app)", "call": "\(call.key.id)", "why": "\(error.message)"])
                self?.submit(.ringNotJournaled(call.key, number: call.number))
            }
        }
    }

    /// Submits the journal's record of a call that a late push repeats: that record is the one to show, and the next
    /// repeat wakes no handler.
    private func recall(_ repeated: CallRecord) {
        journal.calls(CallQuery(app: repeated.key.app, id: repeated.key.id, limit: 8)) { [weak self] result in
            switch result {
            case .success(let found):
                let sender = repeated.provenance.sender
                guard let known = found.first(where: { $0.record.provenance.sender == sender }) else { return }
                self?.submit(.recalled(known.record))
            case .failure(let error):
                self?.logger.debug(
                    "call of a late repeat not read",
                    metadata: ["call": "\(repeated.key.id)", "why": "\(error.message)"])
            }
        }
    }

    private func note(_ effect: Effect) {
        switch effect {
        case .callChanged(let call), .callNoted(let call): changes.calls.insert(call.key)
        case .appChanged(let app): changes.apps.insert(app)
        case .strike(let key, _): strikes[key.app, default: 0] &+= 1
        case .callMissed(let call): onMissed?(call)
        default: break
        }
        logger.log(effect)
    }

    // MARK: - Handlers

    private func start(_ request: WakeRequest, secret: String) {
        do throws(RingwakeError) {
            guard let app = configuration.apps[request.app] else {
                throw RingwakeError(.notFound, "\(request.app) is not configured any more")
            }
            guard let way = app.way else {
                throw RingwakeError(
                    .unreachable,
                    "no handler of \(request.app) keeps a connection, and its file says that none is started; "
                        + "start it, or give it another way under [wake]")
            }
            let events = handlerEvents(request.wake, of: request.app)
            _ = try activator.wake(request, way: way, secret: secret, events: events)
            yieldToHandler()
            onStarted?(request.app)
        } catch {
            notStarted(request.wake, of: request.app, error)
        }
    }

    private func notStarted(_ wake: WakeID, of app: AppID, _ error: RingwakeError) {
        logger.error(
            "handler could not be started",
            metadata: ["app": "\(app)", "error": "\(error.code.slug)", "why": "\(error.message)"])
        submit(.handlerNotStarted(wake, why: error.message))
    }

    /// Lets the handler that a push has just woken run. If it shares a processor with the daemon, it would otherwise
    /// wait for the rest of the daemon's turn.
    private func yieldToHandler() {
        sched_yield()
        hasWoken = true
    }
}

extension ServiceConfiguration {
    fileprivate init(_ configuration: Configuration) {
        self.init(
            apps: configuration.apps.mapValues { app in
                App(
                    policy: app.policy, mapping: app.mapping, level: app.level, limits: app.limits,
                    keepsState: app.keepsState)
            },
            allowedLevel: configuration.restrictions.allowedLevel, content: configuration.restrictions.content,
            dialling: configuration.restrictions.dialling, emergency: configuration.restrictions.emergency,
            socketPath: configuration.controlSocket)
    }
}
