internal import ControlProtocol
internal import RingwakeCore

/// `/v1/calls`: active calls, the call log, and actions on a call.
enum CallRoutes {
    static func list(
        _ request: ServiceRequest, _ service: CallServiceStateMachine, _ turn: inout Turn
    ) throws(RingwakeError) {
        try request.require("GET", parameters: ["app", "missed", "limit", "before"])
        let log = CallLog(
            app: try request.app(), missedOnly: try request.flag("missed"), page: try request.page(),
            whileRunning: service.coordinator)
        turn.add(
            .readCalls(log.query) { result in
                .resumed { service, turn in
                    let (entries, next, incomplete) = log.page(of: result, and: service.coordinator)
                    let isWithActive = !log.missedOnly && log.page.before == nil
                    let active = isWithActive ? log.running(in: service.coordinator) : []
                    let messages =
                        active.map { service.message(of: $0, turn) }
                        + entries.map { entry in
                            switch entry {
                            case .remembered(let call): service.message(of: call, turn)
                            case .journaled(let call): CallMessage(call)
                            }
                        }
                    // The calls of an app that was removed stay.
                    if messages.isEmpty, let error = service.error(ofFilter: log.app) {
                        return turn.respond(request.id, .failure(error))
                    }
                    turn.respond(request.id, CallListMessage(calls: messages, next: next, incomplete: incomplete))
                }
            })
    }

    static func show(
        _ request: ServiceRequest, _ service: CallServiceStateMachine, _ turn: inout Turn
    ) throws(RingwakeError) {
        try request.require("GET", parameters: ["app"])
        let (id, app) = (request.parts[1], try request.app())
        if let call = try known(id, app, service) {
            return turn.respond(request.id, service.message(of: call, turn))
        }
        turn.add(
            .readCalls(CallQuery(app: app, id: CallID(id))) { result in
                .resumed { _, turn in
                    turn.respond(
                        request.id,
                        result.flatMap { calls in
                            guard let call = calls.first else { return .failure(noCall(id)) }
                            guard calls.count == 1 else {
                                return .failure(severalApps(id, calls.map(\.record.key.app)))
                            }
                            return .success(CallMessage(call))
                        })
                }
            })
    }

    /// Begins a call. The answer comes when the journal has the call: a daemon that is killed then shows it in the log.
    static func start(
        _ request: ServiceRequest, _ service: CallServiceStateMachine, _ turn: inout Turn
    ) throws(RingwakeError) {
        try request.require("POST")
        let body = try request.decode(CallStart.self, empty: nil)
        let isEmergency = service.configuration.emergency.contains(body.to)
        let app = try app(of: request, asked: body.app, isEmergency: isEmergency, service)
        guard let policy = service.configuration.apps[app]?.policy else {
            throw RingwakeError(.notFound, "no app '\(app)'; 'ringwake app list' shows the apps")
        }
        let call = OutgoingCall(
            CallKey(app: app, id: try body.id(else: turn)), try body.update(),
            others: try OtherCalls(inBody: body.others),
            wallClock: turn.host.wallMilliseconds(), isEmergency: isEmergency)
        let (number, wake) = (request.id, request.caller.wake)
        let begin: ServiceEvent.Continuation = { service, turn in
            if let refusal = service.submit(.startRequested(call, policy, by: wake), &turn).refusal {
                return turn.respond(number, .failure(refusal.error("a call")))
            }
            turn.add(
                .barrier { service, turn in
                    guard let begun = service.coordinator.call(call.key) else {
                        return turn.respond(number, .failure(noCall(call.key.id.rawValue)))
                    }
                    turn.respond(number, service.message(of: begun, turn))
                })
        }
        // The journal may have an older call of this id.
        turn.add(
            .readCalls(CallQuery(app: app, id: call.key.id)) { result in
                .resumed { service, turn in
                    if (try? result.get())?.isEmpty == false {
                        return turn.respond(number, .failure(EventRefusal.knownCall(call.key).error("a call")))
                    }
                    begin(&service, &turn)
                }
            })
    }

    /// The app that makes a call: the caller's own, the one that the request names, or the only one.
    private static func app(
        of request: ServiceRequest, asked text: String?, isEmergency: Bool, _ service: CallServiceStateMachine
    ) throws(RingwakeError) -> AppID {
        let asked = try text.map { (text) throws(RingwakeError) in
            guard let app = AppID(text) else { throw RingwakeError(.invalidRequest, "'\(text)' is not a bundle id") }
            return app
        }
        if let app = try request.caller.confinedApp(asked: asked) { return app }
        let apps = service.configuration.apps.keys
        if apps.count == 1, let app = apps.first { return app }
        // Any app is better than a question.
        if isEmergency, let app = apps.min(by: { $0.rawValue < $1.rawValue }) { return app }
        guard !apps.isEmpty else { throw RingwakeError(.notFound, "there is no app; 'ringwake app add' adds one") }
        let names = apps.map(\.rawValue).sorted().joined(separator: ", ")
        throw RingwakeError(.invalidRequest, "several apps can call: \(names); name one")
    }

    static func act(
        _ request: ServiceRequest, _ service: inout CallServiceStateMachine, _ turn: inout Turn
    ) throws(RingwakeError) {
        try request.require("POST", parameters: ["app"])
        guard let call = try known(request.parts[1], try request.app(), service, activeFirst: true) else {
            throw noCall(request.parts[1])
        }
        guard let verb = CallVerb(rawValue: request.parts[2]) else {
            let verbs = CallVerb.allCases.map(\.rawValue).joined(separator: ", ")
            throw RingwakeError(.notFound, "a call takes \(verbs), not '\(request.parts[2])'")
        }
        // Screen the caller only if the body can be decoded.
        var event = try verb.event(
            on: call.key, by: request.caller.wake, body: request.body, isOutgoing: call.machine.isOutgoing
        ) { update in service.restriction(ofReport: &update, of: call.key, turn) }
        if case .updated(let key, var update, let wake) = event, let app = service.configuration.apps[key.app] {
            service.screening.identify(&update, app, turn)
            event = .updated(key, update, by: wake)
        }
        if let refusal = service.submit(event, &turn).refusal { throw refusal.error("'\(verb.rawValue)'") }
        // One that claims a call may have to restore what it needs for it.
        if let wake = request.caller.wake, verb != .claim { service.states.restored(by: wake, &turn) }
        service.answerWhenSettled(call.key, verb, request.id, &turn)
    }

    /// The call with this id that is active or remembered; nil if there is none.
    ///
    /// - Parameter activeFirst: whether an active call hides ended calls of other apps, on which no action is possible.
    private static func known(
        _ id: String, _ app: AppID?, _ service: CallServiceStateMachine, activeFirst: Bool = false
    ) throws(RingwakeError) -> Call? {
        var found = service.calls(named: CallID(id), of: app)
        if activeFirst, found.contains(where: { !$0.machine.hasEnded }) {
            found.removeAll { $0.machine.hasEnded }
        }
        guard found.count <= 1 else { throw severalApps(id, found.map(\.key.app)) }
        return found.first
    }

    private static func noCall(_ id: String) -> RingwakeError {
        RingwakeError(.notFound, "no call '\(id)'; 'ringwake call list' shows the active calls and the call log")
    }

    private static func severalApps(_ id: String, _ apps: [AppID]) -> RingwakeError {
        let names = apps.map(\.rawValue).sorted().joined(separator: ", ")
        return RingwakeError(.conflict, "several apps have a call '\(id)': \(names); name one with app=")
    }
}

extension CallStart {
    /// The call's id: the one that the request gives, or a new one.
    fileprivate func id(else turn: Turn) throws(RingwakeError) -> CallID {
        guard let call else {
            let random = turn.host.hash(try turn.host.makeSecret()).prefix(RandomID.byteCount)
            guard let id = RandomID(bytes: Array(random)) else { throw RingwakeError(.failed, "there is no random id") }
            return CallID(id.text)
        }
        guard (1...PayloadMapping.maximumCallBytes).contains(call.utf8.count), !call.utf8.contains(0) else {
            throw RingwakeError(
                .invalidRequest, "'call' has 1 to \(PayloadMapping.maximumCallBytes) bytes, and no zero byte (U+0000)")
        }
        return CallID(call)
    }
}

extension CallMessage {
    /// A call from the journal.
    fileprivate init(_ call: JournaledCall) {
        self.init(
            call.record, receivedAt: UTCTime(milliseconds: call.receivedWallClock).description, pid: nil,
            deadlineMs: nil)
    }
}
