internal import ControlProtocol
internal import HandlerActivation
internal import Logging
internal import PushGateway
internal import PushJournal
internal import RingwakeCore
internal import RunLoop

/// Drives the coordinator: gives it events with the time, runs its effects in order, keeps its one timer.
final class EffectRunner {
    /// All calls. Read freely; changed by ``submit(_:)`` and what stands beside it alone.
    private(set) var coordinator: CoordinatorStateMachine
    /// The apps whose handlers can be started.
    var apps: [AppID: AppConfiguration]
    /// What handlers did not do, by app, since the start.
    private(set) var strikes: [AppID: UInt64] = [:]

    let journal: PushJournal
    private let handlers: HandlerProcesses
    private let runLoop: RunLoop
    private let events: EventStreams
    private let logger: Logger
    private let wallClock: () -> Int64
    private var deadlines: CallDeadlines
    private var timer: (token: Timer, deadline: BootInstant)?
    /// What the network offered when it last changed.
    private var path: PathMessage?
    /// Who waits to hear whether a confirmed call rings.
    private var ringWaiters: [CallKey: [(Call) -> Void]] = [:]

    /// A call's deadline may be met this much later, so that deadlines that lie together cost one wakeup.
    private static let deadlineTolerance = Duration.milliseconds(200)

    init(
        configuration: Configuration, runLoop: RunLoop, journal: PushJournal, handlers: HandlerProcesses,
        events: EventStreams, logger: Logger, wallClock: @escaping () -> Int64 = { unixMilliseconds() }
    ) {
        coordinator = CoordinatorStateMachine()
        apps = configuration.apps
        deadlines = configuration.deadlines
        self.runLoop = runLoop
        self.journal = journal
        self.handlers = handlers
        self.events = events
        self.logger = logger
        self.wallClock = wallClock
    }

    /// The present time, as the coordinator counts it.
    var now: BootInstant { BootInstant(nanoseconds: BootClock.now().nanoseconds) }

    /// The calls with this id, running or among the last that ended: at most one of each app.
    func calls(named id: CallID) -> [Call] {
        let running = coordinator.active.values.filter { $0.key.id == id }
        return running + coordinator.finished.filter { $0.key.id == id }
    }

    /// Whose this wake secret is, while that handler runs.
    func wake(ofSecret secret: String) -> (app: AppID, wake: WakeID)? { handlers.wake(ofSecret: secret) }

    /// Puts new settings in force for the calls to come.
    func reconfigure(_ configuration: Configuration) {
        apps = configuration.apps
        deadlines = configuration.deadlines
    }

    /// Takes up what the last run left: calls that are still in time wake their handlers, the others end here.
    func recover(_ contents: JournalContents) {
        coordinator = CoordinatorStateMachine(firstCallNumber: contents.nextCallNumber)
        coordinator.remember(contents.recent)
        for call in contents.open {
            submit(.recovered(call, policy(of: call.record.key.app)))
        }
        if !contents.open.isEmpty {
            logger.notice(
                "calls of the last run taken up",
                metadata: ["calls": "\(contents.open.count)", "woken-again": "\(coordinator.active.count)"])
        }
    }

    /// Takes a push over, wakes its handler, and answers when the journal has it: `accepted`, or why not.
    func receive(_ push: VerifiedPush, answer: @escaping (DeliveryOutcome) -> Void) {
        guard let app = apps[push.app], journal.hasRoom else {
            logger.warning(
                "push cannot be taken now",
                metadata: [
                    "app": "\(push.app)", "apns-id": "\(push.apnsID)",
                    "why": "\(apps[push.app] == nil ? "its app is gone" : journal.complaint)",
                ])
            return answer(.refused(.serviceUnavailable))
        }
        let (facts, problems) = app.mapping.facts(
            in: push.payload, receivedAt: push.receivedAt, wallClock: wallClock())
        for problem in problems {
            logger.notice(
                "payload is not what the app's [payload] says",
                metadata: ["app": "\(push.app)", "apns-id": "\(push.apnsID)", "problem": "\(problem)"])
        }
        if submit(.pushReceived(push, facts, app.policy(defaults: deadlines)), answer: answer) != nil {
            answer(.refused(.tooManyRequests))
        }
    }

    /// The network is another: tells whoever listens, and the handlers of the calls that this concerns.
    func networkChanged(to path: PathMessage) {
        self.path = path
        events.publish(EventMessage(path: path, of: nil), of: nil)
        submit(.networkChanged)
    }

    /// What waits for a handler, which has it from now on.
    func fetchPushes(by wake: WakeID) throws(EventRefusal) -> [WakeRequest] {
        var requests: [WakeRequest] = []
        if let refusal = submit(.pushesFetched(wake), handOver: { requests = $0 }) { throw refusal }
        return requests
    }

    /// Calls `body` when it is settled whether the call rings: at once unless the journal is being asked.
    func whenRingSettled(_ key: CallKey, _ body: @escaping (Call) -> Void) {
        guard let call = coordinator.call(key) else { return }
        guard case .confirmed = call.machine.state else { return body(call) }
        ringWaiters[key, default: []].append(body)
    }

    /// Applies one event, and those that running its effects leads to. Returns why the event was refused, if it was;
    /// then it changed nothing.
    ///
    /// - Parameters:
    ///   - answer: for a push: is told when the journal has it.
    ///   - handOver: for a fetch: is given what is fetched.
    @discardableResult
    func submit(
        _ event: Event, answer: ((DeliveryOutcome) -> Void)? = nil, handOver: (([WakeRequest]) -> Void)? = nil
    ) -> EventRefusal? {
        var refusal: EventRefusal?
        var consequences: [Event] = []
        // A call that came too late is over when the journal gets it: it need not be written once more.
        var appended: Int64?
        for effect in coordinator.handle(event, at: now) {
            switch effect {
            case .refused(let why): refusal = refusal ?? why
            case .wake(let request): consequences.append(start(request))
            case .handOver(let requests): handOver?(requests)
            case .journalPush(let push, let payload, let call):
                if push.outcome == .expired { appended = call?.number }
                journal(push, payload, call, answer)
            case .journalRing(let call): journalRing(call)
            case .callChanged(let call):
                changed(call, isAppended: appended == call.number)
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
        case .stopHandler(let wake): handlers.stop(wake)
        case .releaseHandler(let wake): handlers.release(wake)
        case .retainHandler(let wake): handlers.retain(wake)
        case .request(let action, let key, let deadline):
            events.publish(EventMessage(action: action, of: key, by: deadline, at: now), of: key)
        case .pushWaits(_, let key, let kind):
            events.publish(EventMessage(waiting: key, kind), of: key)
        case .tellPath(let key):
            guard let path else { return }
            events.publish(EventMessage(path: path, of: key), of: key)
        case .pushIgnored(let push, let key, let outcome):
            logger.info(
                "push changes nothing",
                metadata: [
                    "app": "\(push.app)", "apns-id": "\(push.apnsID)", "call": "\(key.id)", "why": "\(outcome)",
                ])
            events.publish(EventMessage(ignored: push, key, outcome), of: key)
        case .strike(let key, let failure):
            strikes[key.app, default: 0] &+= 1
            logger.warning(
                "handler did not do its part",
                metadata: ["app": "\(key.app)", "call": "\(key.id)", "failure": "\(failure)"])
            events.publish(EventMessage(strike: key, failure), of: key)
        case .callMissed(let call):
            logger.notice(
                "call missed",
                metadata: [
                    "app": "\(call.key.app)", "call": "\(call.key.id)",
                    "reason": "\(call.machine.state.endReason.map { "\($0)" } ?? "")",
                ])
            events.publish(EventMessage(missed: call), of: call.key)
        case .wake, .handOver, .journalPush, .journalRing, .callChanged, .refused:
            break
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

    private func policy(of app: AppID) -> AppPolicy? { apps[app]?.policy(defaults: deadlines) }
}

// MARK: - Handlers

extension EffectRunner {
    /// Starts a handler, and tells what came of it.
    private func start(_ request: WakeRequest) -> Event {
        do throws(RingwakeError) {
            guard let app = apps[request.app] else {
                throw RingwakeError(.notFound, "\(request.app) is not configured any more")
            }
            let pid = try handlers.start(request, command: app.exec) { [weak self] exit in
                self?.submit(.handlerExited(request.wake, exit))
            }
            return .handlerStarted(request.wake, pid: pid)
        } catch {
            logger.error(
                "handler could not be started",
                metadata: [
                    "app": "\(request.app)", "call": "\(request.call)", "error": "\(error.code.slug)",
                    "why": "\(error.message)",
                ])
            return .handlerNotStarted(request.wake, why: error.message)
        }
    }
}

// MARK: - The journal

extension EffectRunner {
    private func journal(
        _ push: PushRecord, _ payload: [UInt8], _ call: CallRecord?, _ answer: ((DeliveryOutcome) -> Void)?
    ) {
        journal.append(push, payload: payload, call: call) { [weak self] result in
            switch result {
            case .success(let verdict):
                answer?(.accepted)
                if let call {
                    self?.submit(.pushJournaled(call.key, number: call.number, isKnown: verdict == .callKnown))
                    if verdict == .callKnown { self?.recall(call) }
                }
            case .failure(let error):
                self?.logger.debug(
                    "push is not durable",
                    metadata: ["app": "\(push.app)", "apns-id": "\(push.apnsID)", "why": "\(error.message)"])
                answer?(.refused(.serviceUnavailable))
            }
        }
    }

    private func journalRing(_ call: CallRecord) {
        journal.appendRing(call) { [weak self] result in
            switch result {
            case .success(let verdict):
                self?.submit(.ringJournaled(call.key, number: call.number, isKnown: verdict == .callKnown))
                if verdict == .callKnown { self?.recall(call) }
            case .failure(let error):
                self?.logger.warning(
                    "call cannot ring yet, for the journal cannot record it",
                    metadata: ["app": "\(call.key.app)", "call": "\(call.key.id)", "why": "\(error.message)"])
                self?.submit(.ringNotJournaled(call.key, number: call.number))
            }
        }
    }

    /// The journal knows the call of a late repeat from long before: what it has is what there is to show of it, and
    /// the next repeat wakes nobody.
    private func recall(_ repeated: CallRecord) {
        journal.calls(CallQuery(app: repeated.key.app, id: repeated.key.id, limit: 8)) { [weak self] result in
            switch result {
            case .success(let found):
                guard let known = found.first(where: { $0.record.team == repeated.team }) else { return }
                self?.coordinator.correct(known.record)
            case .failure(let error):
                self?.logger.debug(
                    "call of a late repeat not read",
                    metadata: ["call": "\(repeated.key.id)", "why": "\(error.message)"])
            }
        }
    }

    private func changed(_ call: Call, isAppended: Bool) {
        if !isAppended, let urgency = call.writeUrgency { journal.write(call.journalRecord, urgency) }
        log(call)
        events.publish(EventMessage(change: call, at: now), of: call.key)
        if case .confirmed = call.machine.state { return }
        for body in ringWaiters.removeValue(forKey: call.key) ?? [] { body(call) }
    }

    private func log(_ call: Call) {
        let isFailure = call.machine.state.endReason == .handlerFailed
        let level: Logger.Level = isFailure ? .warning : .info
        // What is said of a call is made for nobody when nobody reads it.
        guard logger.logLevel <= level else { return }
        var metadata: Logger.Metadata = [
            "app": "\(call.key.app)", "call": "\(call.key.id)", "state": "\(call.machine.state.name.rawValue)",
        ]
        metadata["reason"] = call.machine.state.endReason.map { "\($0)" }
        metadata["detail"] = call.machine.state.endDetail.map { "\($0)" }
        logger.log(level: level, "call changed", metadata: metadata)
    }
}

extension Call {
    /// How soon the journal has to have what changed; nil when something else brings it along.
    fileprivate var writeUrgency: WriteUrgency? {
        switch machine.state {
        // Two starts after two restarts must not carry the same number.
        case .woken where attempt > 1: .now
        case .queued, .woken: isJournaled ? .withNext : nil
        case .reported, .ringing, .connected: .withNext
        // The ring's own record follows.
        case .confirmed: nil
        // What the user did, and what ended, stays so after a restart.
        case .answering, .ending, .ended: .now
        }
    }
}
