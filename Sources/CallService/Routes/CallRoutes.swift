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
        if case .handler = request.caller, !verb.isHandlers {
            throw RingwakeError(.notPermitted, "'\(verb.rawValue)' is the user's to say, not the handler's")
        }
        // Screen the caller only if the body can be decoded.
        let event = try verb.event(on: call.key, by: request.caller.wake, body: request.body) { update in
            service.restriction(ofReport: &update, of: call.key, turn)
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

extension CallMessage {
    /// A call from the journal.
    fileprivate init(_ call: JournaledCall) {
        self.init(
            call.record, receivedAt: UTCTime(milliseconds: call.receivedWallClock).description, pid: nil,
            deadlineMs: nil)
    }
}
