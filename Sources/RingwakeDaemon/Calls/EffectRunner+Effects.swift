internal import ControlProtocol
internal import Glibc
internal import HTTPServer
internal import HandlerActivation
internal import Logging
internal import PushJournal
internal import RingwakeCore

// What the coordinator asks for, done: handlers, and whoever listens.
extension EffectRunner {
    func run(_ effect: Effect) {
        switch effect {
        case .wake(let request): start(request)
        case .deliver(let request): deliver(request)
        case .stopHandler(let wake): if handlers.stop(wake) { submit(.handlerDisconnected(wake)) }
        case .releaseHandler(let wake): handlers.release(wake)
        case .retainHandler(let wake): handlers.retain(wake)
        case .request(let action, let key):
            holdBack(key)
            publish(EventMessage(action: action, of: key, at: now), of: key)
        case .pushWaits(_, let key, let kind):
            publish(EventMessage(waiting: key, kind), of: key)
        case .tellPath(let key):
            guard let path else { return }
            publish(EventMessage(path: path, of: key), of: key)
        case .pushIgnored(let push, let key, let outcome):
            logger.info(
                "push changes nothing",
                metadata: [
                    "app": "\(push.app)", "apns-id": "\(push.apnsID)", "call": "\(key.id)", "why": "\(outcome)",
                ])
            publish(EventMessage(ignored: push, key, outcome), of: key)
        case .journalRing(let call): journalRing(call)
        case .tellAudio(let call, let change):
            publish(EventMessage(audio: change, of: call), of: call.key)
        case .othersStayed(let key): unsettle(key, .othersStay(key))
        case .strike, .struckOut, .appChanged, .restricted, .callMissed: tell(effect)
        case .handOver, .connected, .journalPush, .callChanged, .callNoted, .refused:
            break
        }
    }

    /// What is for people: the log, the events, a notification.
    private func tell(_ effect: Effect) {
        switch effect {
        case .strike(let key, let failure):
            strikes[key.app, default: 0] &+= 1
            logger.warning(
                "handler did not do its part",
                metadata: ["app": "\(key.app)", "call": "\(key.id)", "failure": "\(failure)"])
            publish(EventMessage(strike: key, failure), of: key)
        case .struckOut(let app, let isOut):
            if isOut {
                logger.error(
                    "handler has too many strikes and is not started any more",
                    metadata: ["app": "\(app)", "to-do": "ringwake app clear-strikes \(app)"])
            } else {
                logger.notice("strikes cleared", metadata: ["app": "\(app)"])
            }
            events.publish(EventMessage(struckOut: app, isOut), of: app)
        case .appChanged(let app):
            noteChange(of: app)
        case .restricted(let key, let restriction):
            logger.info(
                "call kept out",
                metadata: ["app": "\(key.app)", "call": "\(key.id)", "by": "\(restriction.kind)"])
            publish(EventMessage(restricted: key, restriction), of: key)
        case .callMissed(let call):
            logger.notice(
                "call missed",
                metadata: [
                    "app": "\(call.key.app)", "call": "\(call.key.id)",
                    "reason": "\(call.machine.state.endReason.map { "\($0)" } ?? "")",
                ])
            publish(EventMessage(missed: call), of: call.key)
            onMissed?(call)
        default:
            break
        }
    }

    /// The network is another: tells whoever listens, and the handlers of the calls that this concerns.
    func networkChanged(to path: PathMessage) {
        self.path = path
        events.publish(EventMessage(path: path, of: nil), of: nil)
        submit(.networkChanged)
    }

    /// Writes a call's record down.
    func note(_ call: Call) {
        journal.write(call.journalRecord, call.writeUrgency)
    }

    func changed(_ call: Call, isAppended: Bool) {
        if !isAppended { note(call) }
        log(call)
        // One that came too late goes to the disk as over, and can never ring.
        if call.machine.hasEnded, !isAppended { holdBack(call.key) }
        publish(EventMessage(change: call, at: now), of: call.key)
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

// MARK: - Handlers

extension EffectRunner {
    /// Starts a handler. What comes of it is told as events.
    private func start(_ request: WakeRequest) {
        let wake = request.wake
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
            try handlers.start(request, way: way, events: handlerEvents(wake, of: request.app))
            giveWay()
        } catch {
            notStarted(wake, of: request.app, error)
        }
    }

    /// What a handler that was started, or found again, has to tell.
    func handlerEvents(_ wake: WakeID, of app: AppID) -> HandlerEvents {
        HandlerEvents(
            started: { [weak self] pid in
                self?.noteChange(of: app)
                self?.submit(.handlerStarted(wake, pid: pid))
            },
            failed: { [weak self] error in self?.notStarted(wake, of: app, error) },
            ended: { [weak self] exit in
                self?.noteChange(of: app)
                self?.submit(.handlerExited(wake, exit))
            })
    }

    private func notStarted(_ wake: WakeID, of app: AppID, _ error: RingwakeError) {
        logger.error(
            "handler could not be started",
            metadata: ["app": "\(app)", "error": "\(error.code.slug)", "why": "\(error.message)"])
        noteChange(of: app)
        submit(.handlerNotStarted(wake, why: error.message))
    }

    /// A handler keeps a connection from now on.
    ///
    /// - Parameters:
    ///   - wake: which start of a handler it is; nil for one that came by itself.
    ///   - begin: called with the secret of one that came by itself, before anything is delivered.
    func connect(
        _ connection: any HTTPExchange, of app: AppID, _ policy: AppPolicy, wake: WakeID?, peer: Int32?,
        begin: @escaping (String?) -> Void
    ) throws(RingwakeError) {
        var failure: RingwakeError?
        if let wake {
            handlers.attach(connection, to: wake)
            begin(nil)
        }
        let refusal = submit(
            .handlerConnected(app, wake, pid: peer, policy),
            connected: { [self] wake in
                do throws(RingwakeError) {
                    begin(try handlers.connect(wake, of: app, by: connection, peer: peer))
                } catch {
                    failure = error
                    submit(.handlerDisconnected(wake))
                }
            })
        if let refusal {
            // The stream of one that was started has begun already.
            if wake != nil { connection.finish() }
            throw refusal.error("keeping a connection")
        }
        if let failure { throw failure }
        // It left while it was being greeted, before anybody knew that it had come.
        if let wake, !connection.isOpen { disconnected(wake, of: app) }
    }

    /// The connection of a handler is gone.
    func disconnected(_ wake: WakeID, of app: AppID) {
        handlers.detach(wake)
        noteChange(of: app)
        submit(.handlerDisconnected(wake))
    }

    private func deliver(_ request: WakeRequest) {
        handlers.send(DeliveryMessage.line(request, at: now), to: request.wake)
        giveWay()
    }

    /// Lets the handler run that a push has just woken. Where it shares a processor with the daemon it would else wait
    /// for all that the daemon still has to do.
    private func giveWay() { sched_yield() }
}

extension Call {
    /// How soon the journal has to have what changed.
    fileprivate var writeUrgency: WriteUrgency {
        switch machine.state {
        // Its push or its ring makes a commit of its own; and that it rings follows from the record before.
        case .queued, .confirmed: .withNext
        case .woken where attempt <= 1: .withNext
        case .ringing where machine.lease == .taken: .withNext
        default: .now
        }
    }
}
