internal import ControlProtocol
internal import FoundationEssentials
internal import HTTPServer
internal import RingwakeCore

/// Answers the control API: says who asks, what for, and whether that one may; the rest is the daemon's.
final class ControlServer {
    private unowned let daemon: Daemon
    private let runner: EffectRunner
    private let events: EventStreams

    init(daemon: Daemon, runner: EffectRunner, events: EventStreams) {
        self.daemon = daemon
        self.runner = runner
        self.events = events
    }

    /// The handler of one connection to the control socket.
    func makeConnectionHandler(peer: PeerInfo) -> any HTTPConnectionHandler {
        ControlConnection(server: self, credentials: peer.credentials)
    }

    fileprivate func answer(
        _ request: HTTPRequest, from credentials: PeerCredentials?, on exchange: any HTTPExchange
    ) {
        do throws(RingwakeError) {
            guard let path = ControlPath(request.path), path.parts.first == "v1" else {
                throw RingwakeError(.notFound, "there is nothing at \(request.path); the paths begin with /v1/")
            }
            let caller = try ControlCaller(request: request, credentials: credentials) { runner.app(ofSecret: $0) }
            if path.parts == ["v1", "events"] {
                try requireMethod("GET", request)
                return try subscribe(exchange, caller, path)
            }
            let message = try message(for: request, path, caller)
            exchange.respond(ControlServer.response(status: 200, message))
        } catch {
            let message = ErrorMessage(error: error.code.slug, message: error.message)
            exchange.respond(ControlServer.response(status: error.code.httpStatus, message))
        }
    }

    private func message(
        for request: HTTPRequest, _ path: ControlPath, _ caller: ControlCaller
    ) throws(RingwakeError) -> any Encodable {
        let parts = Array(path.parts.dropFirst())
        switch (parts.first, parts.count) {
        case ("status", 1):
            try requireMethod("GET", request)
            return daemon.status()
        case ("reload", 1):
            try requireMethod("POST", request)
            try caller.requireOwner()
            return try daemon.reload()
        case ("apps", 1):
            try requireMethod("GET", request)
            try caller.requireOwner()
            return AppListMessage(apps: daemon.apps())
        case ("apps", 2):
            try caller.requireOwner()
            return try appMessage(request, id: parts[1])
        case ("calls", 1):
            try requireMethod("GET", request)
            return CallListMessage(calls: try calls(caller, path))
        case ("calls", 2):
            try requireMethod("GET", request)
            return CallMessage(try call(parts[1], caller, path), at: runner.now)
        case ("calls", 3):
            try requireMethod("POST", request)
            return try act(request, on: call(parts[1], caller, path), verb: parts[2], caller)
        default:
            throw RingwakeError(.notFound, "there is nothing at \(request.path)")
        }
    }

    private func requireMethod(_ method: String, _ request: HTTPRequest) throws(RingwakeError) {
        guard request.method == method else {
            throw RingwakeError(.invalidRequest, "\(request.path) takes \(method), not \(request.method)")
        }
    }

    private func appMessage(_ request: HTTPRequest, id: String) throws(RingwakeError) -> AppMessage {
        guard let app = AppID(id), let message = daemon.apps().first(where: { $0.app == id }) else {
            throw RingwakeError(.notFound, "no app '\(id)' is configured; 'ringwake app list' shows those that are")
        }
        switch request.method {
        case "GET": return message
        case "DELETE": return try daemon.removeApp(app)
        default: throw RingwakeError(.invalidRequest, "an app takes GET and DELETE, not \(request.method)")
        }
    }

    fileprivate static func response(status: Int, _ message: some Encodable) -> HTTPResponse {
        HTTPResponse(
            status: status, fields: [HTTPField(name: "content-type", value: "application/json")],
            body: controlJSON(message) + [UInt8(ascii: "\n")])
    }
}

extension ControlServer {
    private func app(asked path: ControlPath) throws(RingwakeError) -> AppID? {
        guard let text = path.query["app"] else { return nil }
        guard let app = AppID(text) else { throw RingwakeError(.invalidRequest, "'\(text)' is not a bundle id") }
        return app
    }

    /// The calls that the caller may see, the newest first.
    private func calls(_ caller: ControlCaller, _ path: ControlPath) throws(RingwakeError) -> [CallMessage] {
        let app = try caller.confinedApp(asked: app(asked: path))
        let now = runner.now
        let running = runner.coordinator.active.values.sorted { $0.receivedAt > $1.receivedAt }
        return (running + runner.coordinator.finished.reversed())
            .filter { app == nil || $0.key.app == app }
            .map { CallMessage($0, at: now) }
    }

    private func call(
        _ id: String, _ caller: ControlCaller, _ path: ControlPath
    ) throws(RingwakeError) -> Call {
        let app = try caller.confinedApp(asked: app(asked: path))
        let found = runner.calls(named: CallID(id)).filter { app == nil || $0.key.app == app }
        guard let call = found.first else {
            throw RingwakeError(.notFound, "no call '\(id)'; 'ringwake call list' shows those that run or ended last")
        }
        guard found.count == 1 else {
            let apps = found.map(\.key.app.rawValue).sorted().joined(separator: ", ")
            throw RingwakeError(.conflict, "several apps have a call '\(id)': \(apps); name one with app=")
        }
        return call
    }

    private func act(
        _ request: HTTPRequest, on call: Call, verb: String, _ caller: ControlCaller
    ) throws(RingwakeError) -> CallMessage {
        guard let verb = CallVerb(rawValue: verb) else {
            let verbs = CallVerb.allCases.map(\.rawValue).joined(separator: ", ")
            throw RingwakeError(.notFound, "a call takes \(verbs), not '\(verb)'")
        }
        if case .handler = caller, !verb.isHandlers {
            throw RingwakeError(.notPermitted, "'\(verb.rawValue)' is the user's to say, not the handler's")
        }
        if let refusal = runner.submit(try event(verb, on: call.key, body: request.body)) {
            throw refusal.error(verb)
        }
        return CallMessage(runner.coordinator.call(call.key) ?? call, at: runner.now)
    }

    private func event(_ verb: CallVerb, on key: CallKey, body: [UInt8]) throws(RingwakeError) -> Event {
        switch verb {
        case .ring: return .ringConfirmed(key)
        case .answer: return .answerRequested(key)
        case .decline: return .declineRequested(key)
        case .end: return .endRequested(key)
        case .report:
            let report = try decode(CallReport.self, body, empty: CallReport())
            return .reported(key, try report.update(), ring: report.ring ?? false)
        case .fulfill: return .fulfilled(key, try action(body))
        case .fail: return .actionFailed(key, try action(body))
        case .ended:
            let name = try decode(CallEnding.self, body, empty: CallEnding()).reason ?? "remoteEnded"
            guard let reason = CallEndReason(rawValue: name), CallEndReason.reportable.contains(reason) else {
                let reasons = CallEndReason.reportable.map(\.rawValue).sorted().joined(separator: ", ")
                throw RingwakeError(.invalidRequest, "a handler ends a call with one of \(reasons), not '\(name)'")
            }
            return .remoteEnded(key, reason)
        }
    }

    private func action(_ body: [UInt8]) throws(RingwakeError) -> CallAction {
        let name = try decode(ActionResult.self, body, empty: nil).action
        guard let action = CallAction(rawValue: name) else {
            throw RingwakeError(.invalidRequest, "'action' is 'answer' or 'end', not '\(name)'")
        }
        return action
    }

    private func decode<Message: Decodable>(
        _ type: Message.Type, _ body: [UInt8], empty: Message?
    ) throws(RingwakeError) -> Message {
        if body.isEmpty, let empty {
            return empty
        }
        do {
            return try JSONDecoder().decode(type, from: Data(body))
        } catch {
            throw RingwakeError(.invalidRequest, "the body is not the JSON object that this request takes: \(error)")
        }
    }

    private func subscribe(
        _ exchange: any HTTPExchange, _ caller: ControlCaller, _ path: ControlPath
    ) throws(RingwakeError) {
        let app = try caller.confinedApp(asked: app(asked: path))
        let id = path.query["call"].map { CallID($0) }
        let now = runner.now
        let known = id.map { runner.calls(named: $0) } ?? Array(runner.coordinator.active.values)
        let matching = known.filter { app == nil || $0.key.app == app }.sorted { $0.receivedAt < $1.receivedAt }
        let first = matching.flatMap { call in
            [EventMessage(change: call, at: now)]
                + (call.machine.state.pendingAction.map { pending in
                    [EventMessage(action: pending.action, of: call.key, by: pending.by, at: now)]
                } ?? [])
        }
        events.subscribe(exchange, app: app, call: id, first: first)
    }
}

/// One client of the control socket.
private final class ControlConnection: HTTPConnectionHandler {
    private let server: ControlServer
    private let credentials: PeerCredentials?

    init(server: ControlServer, credentials: PeerCredentials?) {
        self.server = server
        self.credentials = credentials
    }

    func received(_ request: HTTPRequest, on exchange: any HTTPExchange) {
        server.answer(request, from: credentials, on: exchange)
    }

    func connectionClosed() {}
}

extension CallReport {
    /// The report with its texts checked: what is kept of a caller is bounded.
    fileprivate func update() throws(RingwakeError) -> CallUpdate {
        for text in [caller, callerName].compactMap(\.self)
        where text.utf8.count > CallUpdate.maximumTextBytes {
            throw RingwakeError(
                .invalidRequest, "'caller' and 'callerName' have at most \(CallUpdate.maximumTextBytes) bytes each")
        }
        return CallUpdate(caller: caller, callerName: callerName, hasVideo: video ?? false)
    }
}

extension EventRefusal {
    /// The refusal as the control API tells it.
    fileprivate func error(_ verb: CallVerb) -> RingwakeError {
        switch self {
        case .unknownCall(let key):
            RingwakeError(.notFound, "no call '\(key.id)' of \(key.app)")
        case .wrongState(let key, let state):
            RingwakeError(
                .conflict,
                "call '\(key.id)' is \(state.name)\(state.endReason.map { " (\($0))" } ?? ""); "
                    + "'\(verb.rawValue)' does not fit that state")
        case .tooManyCalls(let app):
            RingwakeError(.limitReached, "as many calls of \(app) run as may")
        }
    }
}
