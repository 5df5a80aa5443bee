internal import ControlProtocol
internal import HTTPServer
internal import HandlerActivation
internal import RingwakeCore

// What is an app's own: the connection that its handler keeps, its state, its strikes.
extension ControlServer {
    /// `GET /v1/apps/{app}/handler`: this connection is a handler's from now on, and ends with it. What comes for the
    /// app is delivered by it, and nothing is started.
    func keepHandler(_ request: ControlRequest, _ exchange: any HTTPExchange) throws(RingwakeError) {
        try request.require("GET", parameters: ["since"])
        let since = try request.since()
        let (app, policy) = try ownApp(request)
        let found = request.caller.wake == nil ? runner.handlers.guest(request.peer, of: app) : nil
        let renewed: String? = if let found { try runner.handlers.renewSecret(of: found) } else { nil }
        let wake = request.caller.wake ?? found
        try runner.connect(exchange, of: app, policy, wake: wake, peer: request.peer) { [self] secret in
            exchange.beginLines()
            let hello = EventMessage(
                handler: app, secret: secret ?? renewed, socket: daemon.configuration.controlSocket)
            _ = exchange.send(controlLine(hello))
            // One that came by itself learns which start of a handler it is only now.
            guard let known = wake ?? secret.flatMap({ runner.handlers.wake(ofSecret: $0)?.wake }) else { return }
            events.subscribe(
                exchange, app: app, call: nil, first: beginning(calls(of: app, since: since)), hasBegun: true,
                onClose: { [weak self] in self?.runner.disconnected(known, of: app) })
        }
    }

    /// `GET /v1/apps/{app}/credentials`: what the app hands to its sender.
    func credentials(_ request: ControlRequest) throws(RingwakeError) -> CredentialsMessage {
        try request.require("GET")
        let (app, _) = try ownApp(request)
        guard let message = daemon.credentials(of: app) else {
            throw RingwakeError(.notFound, "no app '\(app)' is configured any more")
        }
        return message
    }

    /// `/v1/apps/{app}/state`: what the app keeps with the daemon, octet for octet.
    func state(_ request: ControlRequest, _ exchange: any HTTPExchange) throws(RingwakeError) {
        let (app, _) = try ownApp(request)
        guard runner.configuration.apps[app]?.keepsState == true else {
            throw RingwakeError(
                .notPermitted, "\(app) keeps nothing here: its file has no 'state = true' under [restoration]")
        }
        let kept: [UInt8]?
        switch request.method {
        case "GET":
            try request.require("GET")
            guard let state = restoration.states[app] else {
                throw RingwakeError(.notFound, "\(app) has kept nothing; PUT it first")
            }
            return exchange.respond(
                HTTPResponse(
                    status: 200, fields: [HTTPField(name: "content-type", value: "application/octet-stream")],
                    body: state))
        case "PUT":
            try request.require("PUT")
            guard request.body.count <= ControlAPI.maximumStateBytes else {
                throw RingwakeError(
                    .invalidRequest,
                    "an app keeps at most \(ControlAPI.maximumStateBytes) bytes, not \(request.body.count)")
            }
            kept = request.body
        case "DELETE":
            try request.require("DELETE")
            kept = nil
        default:
            throw RingwakeError(.invalidRequest, "the state takes GET, PUT and DELETE, not \(request.method)")
        }
        restoration.keepState(kept, of: app) { result in
            exchange.respond(result.map { AppStateMessage(app: app.rawValue, bytes: kept?.count ?? 0) })
        }
    }

    /// `DELETE /v1/apps/{app}/strikes`
    func clearStrikes(_ request: ControlRequest, _ exchange: any HTTPExchange) throws(RingwakeError) {
        try request.require("DELETE")
        try request.caller.requireOwner()
        let (app, _) = try ownApp(request)
        runner.submit(.strikesCleared(app))
        // What the owner was told must not come back with the daemon's next start.
        restoration.forgetStrikes(of: app) { [self] result in
            let message = daemon.apps().first { $0.app == app.rawValue }
            exchange.respond(
                result.flatMap {
                    message.map { .success($0) }
                        ?? .failure(RingwakeError(.notFound, "no app '\(app)' is configured any more"))
                })
        }
    }

    /// The app that the path names, which has to be configured, and the caller's own.
    private func ownApp(_ request: ControlRequest) throws(RingwakeError) -> (AppID, AppPolicy) {
        guard let app = AppID(request.parts[1]) else {
            throw RingwakeError(.notFound, "'\(request.parts[1])' is not a bundle id")
        }
        _ = try request.caller.confinedApp(asked: app)
        guard let policy = runner.policy(of: app) else {
            throw RingwakeError(.notFound, "no app '\(app)' is configured; 'ringwake app list' shows those that are")
        }
        return (app, policy)
    }
}
