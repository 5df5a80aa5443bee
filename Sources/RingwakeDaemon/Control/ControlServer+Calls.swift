internal import ControlProtocol
internal import HTTPServer
internal import PushJournal
internal import RingwakeCore

// `/v1/calls`: the calls that run, the call log, and what is done to a call.
extension ControlServer {
    func calls(_ request: ControlRequest, _ exchange: any HTTPExchange) throws(RingwakeError) {
        try request.require("GET", parameters: ["app", "missed", "limit", "before"])
        let log = CallLog(
            app: try request.app(), missedOnly: try request.flag("missed"), page: try request.page(),
            whileRunning: runner.coordinator)
        journal.calls(log.query) { [self] result in
            let (entries, next, incomplete) = log.page(of: result, and: runner.coordinator)
            let isWithRunning = !log.missedOnly && log.page.before == nil
            let running = isWithRunning ? log.running(in: runner.coordinator) : []
            let clock = WallTimes(at: runner.now)
            let over = entries.map { entry in
                switch entry {
                case .remembered(let call): message(of: call, clock)
                case .journaled(let call): CallMessage(call)
                }
            }
            exchange.respond(
                .success(CallListMessage(calls: messages(of: running) + over, next: next, incomplete: incomplete)))
        }
    }

    func call(_ request: ControlRequest, _ exchange: any HTTPExchange) throws(RingwakeError) {
        try request.require("GET", parameters: ["app"])
        let (id, app) = (request.parts[1], try request.app())
        if let call = try known(id, app) {
            return exchange.respond(.success(message(of: call)))
        }
        journal.calls(CallQuery(app: app, id: CallID(id))) { result in
            exchange.respond(
                result.flatMap { calls in
                    guard let call = calls.first else { return .failure(ControlServer.noCall(id)) }
                    guard calls.count == 1 else {
                        return .failure(ControlServer.severalApps(id, calls.map(\.record.key.app)))
                    }
                    return .success(CallMessage(call))
                })
        }
    }

    /// The call of this id that runs or is remembered; nil when there is none.
    ///
    /// - Parameter runningFirst: whether one that runs comes before those of other apps that are over: nothing can be
    ///   done to these.
    private func known(_ id: String, _ app: AppID?, runningFirst: Bool = false) throws(RingwakeError) -> Call? {
        var found = runner.calls(named: CallID(id)).filter { app == nil || $0.key.app == app }
        if runningFirst, found.contains(where: { !$0.machine.hasEnded }) {
            found.removeAll { $0.machine.hasEnded }
        }
        guard found.count <= 1 else { throw ControlServer.severalApps(id, found.map(\.key.app)) }
        return found.first
    }

    private static func noCall(_ id: String) -> RingwakeError {
        RingwakeError(.notFound, "no call '\(id)'; 'ringwake call list' shows those that run and the call log")
    }

    private static func severalApps(_ id: String, _ apps: [AppID]) -> RingwakeError {
        let names = apps.map(\.rawValue).sorted().joined(separator: ", ")
        return RingwakeError(.conflict, "several apps have a call '\(id)': \(names); name one with app=")
    }

    func message(of call: Call) -> CallMessage { message(of: call, WallTimes(at: runner.now)) }

    func messages(of calls: [Call]) -> [CallMessage] {
        let clock = WallTimes(at: runner.now)
        return calls.map { message(of: $0, clock) }
    }

    private func message(of call: Call, _ clock: WallTimes) -> CallMessage {
        CallMessage(call, pid: runner.coordinator.process(of: call), clock)
    }
}

// MARK: - What is done to a call

extension ControlServer {
    func act(_ request: ControlRequest, _ exchange: any HTTPExchange) throws(RingwakeError) {
        try request.require("POST", parameters: ["app"])
        guard let call = try known(request.parts[1], try request.app(), runningFirst: true) else {
            throw ControlServer.noCall(request.parts[1])
        }
        guard let verb = CallVerb(rawValue: request.parts[2]) else {
            let verbs = CallVerb.allCases.map(\.rawValue).joined(separator: ", ")
            throw RingwakeError(.notFound, "a call takes \(verbs), not '\(request.parts[2])'")
        }
        if case .handler = request.caller, !verb.isHandlers {
            throw RingwakeError(.notPermitted, "'\(verb.rawValue)' is the user's to say, not the handler's")
        }
        if let refusal = runner.submit(try event(of: verb, on: call.key, request)) {
            throw refusal.error("'\(verb.rawValue)'")
        }
        // Whether a confirmed call rings is for the journal to say, and whether another call can be held for its handler;
        // every other verb has done what it does.
        runner.whenSettled(call.key) { [self] result in
            let answer: Result<any Encodable, RingwakeError> =
                result.mapError { $0.error("'\(verb.rawValue)'") }.map { message(of: $0) }
            guard case .success = answer, verb == .end || verb == .decline else { return exchange.respond(answer) }
            // What the user ended stays ended, also when the daemon dies right after it has said so. A disk that fails
            // or hangs keeps nobody from hanging up.
            journal.whenDurable { exchange.respond(answer) }
        }
    }

    private func event(
        of verb: CallVerb, on key: CallKey, _ request: ControlRequest
    ) throws(RingwakeError) -> Event {
        // Who calls is judged only of a body that can be read.
        try verb.event(on: key, by: request.caller.wake, body: request.body) { [runner] update in
            runner.restriction(ofReport: &update, of: key)
        }
    }
}
