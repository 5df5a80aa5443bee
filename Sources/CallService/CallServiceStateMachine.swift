package import RingwakeCore
internal import ControlProtocol

/// The service behind the control socket and the push listeners: all calls, the identity of their handlers,
/// permissions, and event streams. The daemon drives it with a run loop and a journal, RingwakeKitTesting without
/// either.
///
///     pushes ---------.                                            .--> ServiceEffect: answers, lines of streams,
///     requests --------+--> ServiceEvent --> handle(_:at:asking:) -+     the journal, handlers, the log
///     results of effects '         |   ^
///                        Event     v   |  Effect
///                          CoordinatorStateMachine: effects of pushes, handlers and users
///
/// | part | what it holds |
/// |---|---|
/// | ``CoordinatorStateMachine`` | calls, their handlers' lanes, strikes |
/// | ``HandlerRegistry`` | the identity of each handler: secret, connection, process |
/// | ``EventSubscriptions`` | the readers of events; the events that wait for the disk |
/// | ``PendingAnswers`` | requests whose result depends on the journal or another call |
/// | ``CallScreening`` | restrictions, do not disturb |
/// | ``SavedStates`` | what apps store, and whether their handlers survive it |
/// | `Routes` | the meaning of each request, and the permission for it |
///
/// A value without clock and I/O. What holds after every event: each request is answered once, forwarded, or waits in
/// `PendingAnswers` or for the result of an effect.
package struct CallServiceStateMachine: Sendable {
    package private(set) var coordinator: CoordinatorStateMachine
    package private(set) var handlers = HandlerRegistry()
    package internal(set) var subscriptions = EventSubscriptions()
    package internal(set) var screening = CallScreening()
    package private(set) var configuration = ServiceConfiguration()
    package internal(set) var states = SavedStates()
    /// What can be read now of protected data.
    package private(set) var protection = ProtectionState()
    private var pending = PendingAnswers()
    /// The path to the network; nil: never reported.
    private var path: PathMessage?
    package private(set) var protectedData = ProtectedDataState.available
    /// Events for the coordinator that result from the current one.
    private var following: [Event] = []

    package init(_ configuration: ServiceConfiguration = ServiceConfiguration()) {
        coordinator = CoordinatorStateMachine()
        configure(configuration)
    }

    /// When an event `calls(.deadlineReached)` is due.
    package var nextDeadline: BootInstant? { subscriptions.nextDeadline(or: coordinator.nextDeadline) }

    /// Calls with this id, active or recently ended: at most one per app.
    package func calls(named id: CallID, of app: AppID?) -> [Call] {
        if let app { return coordinator.call(CallKey(app: app, id: id)).map { [$0] } ?? [] }
        return coordinator.active.values.filter { $0.key.id == id } + coordinator.finished.filter { $0.key.id == id }
    }

    /// Those handlers of an app's last run that may continue calls. A self-connected one without a call connects again
    /// by itself.
    package func restorable(_ handlers: [WakeID: RestoredHandler]) -> [WakeID: RestoredHandler] {
        handlers.filter { wake, handler in
            !handler.state.cameByItself || coordinator.active.values.contains { $0.handler == wake }
        }
    }

    /// Applies one event.
    ///
    /// - Returns: the effects for the driver, in order.
    package mutating func handle(
        _ event: ServiceEvent, at now: BootInstant, asking host: HostQueries
    ) -> [ServiceEffect] {
        var turn = Turn(now: now, host: host)
        switch event {
        case .calls(let event): take(event, &turn)
        case .push(let push, let facts, let id): receive(push, facts, id, &turn)
        case .request(let request): Router.answer(request, &self, &turn)
        case .left(let id): left(id, &turn)
        case .configured(let configuration):
            configure(configuration)
            submit(.policiesChanged(configuration.apps.mapValues(\.policy)), &turn)
        case .removed(let app): states.forget(app)
        case .restored(let state):
            handlers.hasLastRun = state.isKnown
            coordinator.skip(toCall: state.nextCallNumber, toWake: state.nextWakeNumber)
            coordinator.remember(state.recent)
            states = state.states
            if let doNotDisturb = state.doNotDisturb { screening.restore(doNotDisturb) }
        case .handlersRestored(let app, let restored, let alive): restore(restored, of: app, alive, &turn)
        case .protectionChanged(let state): protection = state
        case .statesDeleted: states.dropAll(subscriptions, &turn)
        case .statesRevealed(let state): states.reveal(state)
        case .recalled(let record): coordinator.correct(record)
        case .cellularChanged(let isActive):
            subscriptions.publish(EventMessage(cellular: isActive), to: .device, &turn)
            submit(.cellularChanged(isActive: isActive), &turn)
        case .pathChanged(let path):
            self.path = path
            subscriptions.publish(EventMessage(path: path, of: nil), to: .unfiltered, &turn)
            submit(.networkChanged, &turn)
        case .protectedDataChanged(let state):
            protectedData = state
            subscriptions.publish(EventMessage(protectedData: state, at: now), to: .device, &turn)
        case .published(let event, let audience): subscriptions.publish(event, to: audience, &turn)
        case .resumed(let body):
            body(&self, &turn)
            submitFollowing(&turn)
        }
        screening.publishChanges(to: subscriptions, &turn)
        return turn.effects
    }

    private mutating func configure(_ configuration: ServiceConfiguration) {
        self.configuration = configuration
        screening.configure(configuration)
    }

    // MARK: - Pushes

    private mutating func receive(_ push: VerifiedPush, _ known: PushFacts?, _ id: RequestID, _ turn: inout Turn) {
        guard let app = configuration.apps[push.app] else { return turn.add(.refuse(id, .unavailable)) }
        var facts = known ?? app.facts(of: push, &turn)
        if let behind = facts.clockBehind { turn.add(.senderClock(push.provenance.sender, behind: behind)) }
        let key = coordinator.key(of: push, facts)
        let isKnown = facts.cancel != nil || coordinator.call(key) != nil
        let restriction = isKnown ? nil : screening.restriction(ofPush: &facts, for: key, app, turn)
        if isKnown { screening.identify(&facts.update, app, turn) }
        let outcome = submit(.pushReceived(push, facts, app.policy, restriction), &turn, push: id)
        if let why = outcome.refusal { turn.add(.refuse(id, PushRefusal(why))) }
    }

    /// The restriction of a call that its handler is about to report. Nil if there is none, or if the call cannot be
    /// reported.
    mutating func restriction(ofReport update: inout CallUpdate, of key: CallKey, _ turn: Turn) -> Restriction? {
        guard let call = coordinator.active[key], let app = configuration.apps[key.app] else { return nil }
        switch call.machine.state {
        case .queued, .woken: return screening.restriction(ofReport: &update, of: call, app, turn)
        default: return nil
        }
    }

    // MARK: - The coordinator

    /// An event from outside.
    private mutating func take(_ event: Event, _ turn: inout Turn) {
        switch event {
        case .handlerStarted(let wake, _): if let app = handlers[wake]?.app { turn.add(.note(.appChanged(app))) }
        case .handlerExited(let wake, let exit): forget(wake, exit, &turn)
        case .handlerNotStarted(let wake, _): forget(wake, nil, &turn)
        default: break
        }
        submit(event, &turn)
        // The audio program hangs: to the handler, the audio ends here. A later end changes nothing any more.
        for key in subscriptions.overdue(at: turn.now) {
            submit(.audioChanged(key, .deactivated), &turn)
            subscriptions.audioEnded(of: key, &turn)
        }
    }

    /// The result of an event for the request that caused it.
    struct Outcome {
        /// Why the event changed nothing; nil if it did not fail.
        var refusal: EventRefusal?
        /// The pushes that a handler fetched.
        var fetched: [WakeRequest] = []
    }

    /// Applies an event, then those that result from it.
    ///
    /// - Parameters:
    ///   - push: the request that brought the push.
    ///   - joining: the request whose stream a self-connected handler keeps.
    @discardableResult
    mutating func submit(
        _ event: Event, _ turn: inout Turn, push: RequestID? = nil, joining: (ServiceRequest, AppID)? = nil
    ) -> Outcome {
        var outcome = Outcome()
        // The calls that have ended by a record that is appended with the push, so don't write it again.
        var appended: Set<Int64> = []
        for effect in coordinator.handle(event, at: turn.now) {
            switch effect {
            case .refused(let why): outcome.refusal = outcome.refusal ?? why
            case .fetched(let requests): outcome.fetched += requests
            case .connected(let wake): if let (request, app) = joining { join(wake, of: app, request, &turn) }
            case .journalPush(let record, let payloads, let call, let replaced):
                if record.outcome == .expired, let call { appended.insert(call.number) }
                if let replaced { appended.insert(replaced.number) }
                let answer = coordinator.call(record.key)?.outcome(of: record) ?? record.outcome
                turn.add(.append(record, payloads: payloads, call: call, replaced: replaced, answer: answer, for: push))
            case .callChanged(let call): changed(call, isAppended: appended.contains(call.number), &turn)
            default: translate(effect, &turn)
            }
        }
        submitFollowing(&turn)
        pending.settle(coordinator, &turn)
        return outcome
    }

    private mutating func submitFollowing(_ turn: inout Turn) {
        while !following.isEmpty { submit(following.removeFirst(), &turn) }
    }

    private mutating func translate(_ effect: Effect, _ turn: inout Turn) {
        let now = turn.now
        switch effect {
        case .wake(let request):
            recordAttempts([request], &turn) { service, turn in service.start(request, &turn) }
        case .deliver(let request):
            recordAttempts([request], &turn) { service, turn in
                guard let connection = service.handlers[request.wake]?.connection, service.isAssigned(request) else {
                    return
                }
                turn.add(.send(connection, DeliveryMessage.line(request, at: turn.now), isPush: true))
            }
        case .stopHandler(let wake): stop(wake, &turn)
        case .releaseHandler(let wake): if handlers[wake]?.cameByItself == false { turn.add(.release(wake)) }
        case .retainHandler(let wake): turn.add(.retain(wake))
        case .journalRing(let call): turn.add(.appendRing(call))
        case .callNoted(let call):
            turn.add(.write(call.journalRecord, call.writeUrgency))
            turn.add(.note(effect))
        case .request(let action, let key):
            subscriptions.deferEvents(of: key, &turn)
            subscriptions.publish(EventMessage(action: action, of: key, at: now), of: key, &turn)
        case .othersStayed(let key): pending.fail(key, .othersStay(key), isAll: false, &turn)
        case .pushWaits(_, let key, let kind): subscriptions.publish(EventMessage(waiting: key, kind), of: key, &turn)
        case .reportPath(let key):
            if let path { subscriptions.publish(EventMessage(path: path, of: key), of: key, &turn) }
        case .reportAudio(let call, let change): subscriptions.publish(change, of: call, &turn)
        case .struckOut(let app, let isOut):
            turn.add(.note(effect))
            subscriptions.publish(EventMessage(struckOut: app, isOut), to: .app(app), &turn)
        case .appChanged: turn.add(.note(effect))
        default: report(effect, &turn)
        }
    }

    /// Reports an effect to the log and to the streams.
    private mutating func report(_ effect: Effect, _ turn: inout Turn) {
        turn.add(.note(effect))
        switch effect {
        case .pushIgnored(let push, let key, let outcome):
            subscriptions.publish(EventMessage(ignored: push, key, outcome), of: key, &turn)
        case .strike(let key, let failure): subscriptions.publish(EventMessage(strike: key, failure), of: key, &turn)
        case .restricted(let key, let restriction):
            subscriptions.publish(EventMessage(restricted: key, restriction), of: key, &turn)
        case .callMissed(let call): subscriptions.publish(EventMessage(missed: call), of: call.key, &turn)
        default: break
        }
    }

    private mutating func changed(_ call: Call, isAppended: Bool, _ turn: inout Turn) {
        if !isAppended { turn.add(.write(call.journalRecord, call.writeUrgency)) }
        turn.add(.note(.callChanged(call)))
        // A call that had expired when it came is never on the disk as a call that may ring.
        let mayRing = !isAppended || call.machine.state.endReason == .replaced
        if call.machine.hasEnded, mayRing { subscriptions.deferEnd(of: call, &turn) }
        let now = turn.now
        subscriptions.publish(EventMessage(change: call, at: now), of: call.key, &turn)
    }

    // MARK: - Requests with a later answer

    private mutating func left(_ id: RequestID, _ turn: inout Turn) {
        subscriptions.remove(id)
        pending.remove(id)
        guard let wake = handlers.handler(ofConnection: id) else { return }
        if let app = handlers[wake]?.app { turn.add(.note(.appChanged(app))) }
        handlers.detach(wake)
        submit(.handlerDisconnected(wake), &turn)
    }

    /// Answers a request about a call once its result is known: at once, unless the journal is recording that the call
    /// rings, or other calls are being held for it.
    mutating func answerWhenSettled(_ key: CallKey, _ verb: CallVerb, _ request: RequestID, _ turn: inout Turn) {
        pending.add(request, verb, of: key)
        pending.settle(coordinator, &turn)
    }

    /// The current state of a call.
    func message(of call: Call, _ turn: Turn) -> CallMessage { turn.message(of: call, coordinator, protection) }

    // MARK: - Handlers

    /// Calls `give`, which gives these pushes to a handler. An outgoing call is given when the disk knows that it is dialled:
    /// else a daemon that is killed in between lets it be dialled twice. A push whose sender allows one attempt and that the disk has
    /// as waiting is given when the disk knows of the attempt: else a daemon that is killed in between makes another
    /// one. A push that is not on the disk is given at once, because its sender has no answer yet.
    mutating func recordAttempts(
        _ requests: [WakeRequest], _ turn: inout Turn, _ give: @escaping ServiceEvent.Continuation
    ) {
        let attempts = requests.filter { $0.kind == .call || $0.kind == .start }
            .compactMap { coordinator.active[CallKey(app: $0.app, id: $0.call)] }
            .filter { $0.machine.isOutgoing || ($0.isOneAttempt && $0.isJournaled) }
        guard !attempts.isEmpty else { return give(&self, &turn) }
        for call in attempts { turn.add(.write(call.journalRecord, .now)) }
        turn.add(.barrier(then: give))
    }

    /// Whether the call of a push is still with the handler that the push is for.
    private func isAssigned(_ request: WakeRequest) -> Bool {
        coordinator.active[CallKey(app: request.app, id: request.call)]?.handler == request.wake
    }

    private mutating func start(_ request: WakeRequest, _ turn: inout Turn) {
        guard isAssigned(request) else {
            return following.append(.handlerNotStarted(request.wake, why: "its call had ended before it was started"))
        }
        do throws(RingwakeError) {
            let secret = try turn.host.makeSecret()
            handlers.add(request.wake, of: request.app, secretHash: turn.host.hash(secret))
            turn.add(.start(request, secret: secret))
        } catch {
            following.append(.handlerNotStarted(request.wake, why: error.message))
        }
    }

    /// A handler connects with this request's stream.
    ///
    /// A caller without a WakeID is a self-connected handler. If its process is known from before a restart of the
    /// daemon, it keeps its WakeID and gets a new secret.
    mutating func connect(
        _ request: ServiceRequest, of app: AppID, _ policy: AppPolicy, _ turn: inout Turn
    ) throws(RingwakeError) {
        var (wake, renewed): (WakeID?, String?) = (request.caller.wake, nil)
        if wake == nil, let process = request.peer.process,
            let found = handlers.disconnected(process, of: app)
        {
            let secret = try turn.host.makeSecret()
            handlers.renewSecret(of: found, hash: turn.host.hash(secret))
            (wake, renewed) = (found, secret)
        }
        if let wake {
            close(handlers.attach(request.id, to: wake, kit: request.kit), &turn)
            turn.add(.retain(wake))
            StreamRoutes.greet(request, app, secret: renewed, &self, &turn)
        }
        let outcome = submit(
            .handlerConnected(app, wake, pid: request.peer.pid, policy), &turn, joining: (request, app))
        guard let refusal = outcome.refusal else { return }
        guard let wake else { throw refusal.error("keeping a connection") }
        // The stream has already begun.
        subscriptions.remove(request.id)
        handlers.detach(wake)
        turn.add(.end(request.id))
    }

    private mutating func join(_ wake: WakeID, of app: AppID, _ request: ServiceRequest, _ turn: inout Turn) {
        do throws(RingwakeError) {
            let secret = try turn.host.makeSecret()
            handlers.join(
                wake, of: app, secretHash: turn.host.hash(secret), connection: request.id,
                process: request.peer.process, kit: request.kit)
            StreamRoutes.greet(request, app, secret: secret, &self, &turn)
        } catch {
            turn.respond(request.id, .failure(error))
            following.append(.handlerDisconnected(wake))
        }
    }

    /// Stops a handler. A self-connected one only loses its connection.
    private mutating func stop(_ wake: WakeID, _ turn: inout Turn) {
        guard handlers[wake]?.cameByItself == true, let handler = handlers.remove(wake) else {
            return turn.add(.stop(wake))
        }
        close(handler.connection, &turn)
        following.append(.handlerDisconnected(wake))
    }

    /// Ends the stream of a handler.
    private mutating func close(_ connection: RequestID?, _ turn: inout Turn) {
        guard let connection else { return }
        subscriptions.remove(connection)
        turn.add(.end(connection))
    }

    private mutating func restore(
        _ restored: [WakeID: RestoredHandler], of app: AppID, _ alive: Set<WakeID>, _ turn: inout Turn
    ) {
        for (wake, handler) in restored where alive.contains(wake) { handlers.add(wake, of: app, handler) }
        let policy = configuration.apps[app]?.policy ?? AppPolicy()
        submit(.handlersRestored(app, restored.mapValues(\.state), alive: alive, policy), &turn)
    }

    /// A handler's process or unit is gone: drops its secret and its connection.
    private mutating func forget(_ wake: WakeID, _ exit: HandlerExit?, _ turn: inout Turn) {
        guard let handler = handlers.remove(wake) else { return }
        let lane = coordinator.lanes[handler.app]?.handlers[wake]
        if let exit { states.handlerEnded(wake, exit, lane, subscriptions, &turn) }
        close(handler.connection, &turn)
        turn.add(.note(.appChanged(handler.app)))
    }

    // MARK: - Rules

    /// Applies rules, before they are stored.
    mutating func set(_ doNotDisturb: DoNotDisturb) { screening.set(doNotDisturb) }

    /// The journal has stored the rules, or failed to: rules that are answered as failed must not apply.
    mutating func settle(_ doNotDisturb: DoNotDisturb, isStored: Bool) {
        if isStored { screening.setStored(doNotDisturb) } else { screening.revert(doNotDisturb) }
    }
}
