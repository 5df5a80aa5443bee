internal import CallService
internal import ControlProtocol
internal import DaemonConfiguration
internal import HTTPServer
internal import NetworkMessages
internal import Reachability
internal import RingwakeCore

/// The control socket. Submits requests to the call service, and answers the ones that the service forwards: those
/// about the device and the daemon.
final class ControlServer {
    private unowned let daemon: Daemon
    private let calls: CallDriver
    private let network: NetworkWatch
    private let queries: NetworkQueries
    private let audio: AudioRequests

    init(daemon: Daemon, calls: CallDriver, network: NetworkWatch, queries: NetworkQueries, audio: AudioService) {
        self.daemon = daemon
        self.calls = calls
        self.network = network
        self.queries = queries
        self.audio = AudioRequests(audio: audio, calls: calls)
        calls.onForward = { [weak self] request, exchange in self?.answer(request, exchange) }
    }

    /// The handler of one connection to the control socket.
    func makeConnectionHandler(peer: PeerInfo) -> any HTTPConnectionHandler {
        ControlConnection(calls: calls, credentials: peer.credentials)
    }

    private func answer(_ request: ServiceRequest, _ exchange: any HTTPExchange) {
        do throws(RingwakeError) {
            try route(request, exchange)
        } catch {
            exchange.respond(.failure(error))
        }
    }

    private func route(_ request: ServiceRequest, _ exchange: any HTTPExchange) throws(RingwakeError) {
        switch (request.parts.first, request.parts.count) {
        case ("status", _):
            try request.require("GET")
            exchange.respond(.success(daemon.status()))
        case ("reload", _):
            try request.require("POST")
            exchange.respond(.success(try daemon.reload()))
        case ("refusals", _):
            try request.require("GET", parameters: ["id", "limit"])
            exchange.respond(.success(daemon.refusals(id: request.query["id"], limit: try request.page().limit)))
        case ("path", _):
            try request.require("GET", parameters: ["watch"])
            if try request.flag("watch") {
                return try queries.watchPath(exchange, isOthers: request.caller == .user)
            }
            exchange.respond(.success(PathMessage(try network.requireMonitor().path)))
        case ("reachability", _):
            try request.require("GET", parameters: ["target", "watch"])
            try queries.begin(
                try request.targets(), isWatching: try request.flag("watch"), exchange,
                isOthers: request.caller == .user)
        case ("audio", _): try audio.answer(request, exchange)
        case ("apps", 1):
            try request.require("GET")
            exchange.respond(.success(AppListMessage(apps: daemon.apps())))
        case ("apps", 2): exchange.respond(.success(try app(request)))
        case ("apps", _): try appPart(request, exchange)
        default: throw RingwakeError(.notFound, "there is nothing at \(request.target)")
        }
    }

    // MARK: - Apps

    private func app(_ request: ServiceRequest) throws(RingwakeError) -> AppMessage {
        let id = request.parts[1]
        guard let app = AppID(id), let message = daemon.apps().first(where: { $0.app == id }) else {
            throw RingwakeError(.notFound, "no app '\(id)' is configured; 'ringwake app list' shows those that are")
        }
        guard request.method != "DELETE" else {
            try request.require("DELETE")
            return try daemon.removeApp(app)
        }
        guard request.method == "GET" else {
            throw RingwakeError(.invalidRequest, "an app takes GET and DELETE, not \(request.method)")
        }
        try request.require("GET")
        return message
    }

    private func appPart(_ request: ServiceRequest, _ exchange: any HTTPExchange) throws(RingwakeError) {
        let app = try request.pathApp()
        guard request.parts[2] == "strikes" else {
            guard let message = daemon.credentials(of: app) else { throw ControlServer.removed(app) }
            return exchange.respond(.success(message))
        }
        daemon.clearStrikes(of: app) { [daemon] result in
            let message = daemon.apps().first { $0.app == app.rawValue }
            exchange.respond(
                result.flatMap { message.map { .success($0) } ?? .failure(ControlServer.removed(app)) })
        }
    }

    private static func removed(_ app: AppID) -> RingwakeError {
        RingwakeError(.notFound, "no app '\(app)' is configured any more")
    }
}

extension ServiceRequest {
    /// The targets that the request names, without duplicates; `any` if it names none.
    func targets() throws(RingwakeError) -> [ReachabilityTarget] {
        var targets: [ReachabilityTarget] = []
        for (name, text) in items where name == "target" {
            guard let target = ReachabilityTarget(text) else {
                throw RingwakeError(.invalidRequest, "'\(text)' is no target; \(ReachabilityTarget.forms)")
            }
            if targets.contains(target) { continue }
            guard targets.count < ControlAPI.maximumTargets else {
                throw RingwakeError(
                    .invalidRequest,
                    "more targets are named than the \(ControlAPI.maximumTargets) that one request takes")
            }
            targets.append(target)
        }
        return targets.isEmpty ? [.any] : targets
    }
}

/// One connection to the control socket.
private final class ControlConnection: HTTPConnectionHandler {
    private let calls: CallDriver
    private let credentials: PeerCredentials?

    init(calls: CallDriver, credentials: PeerCredentials?) {
        self.calls = calls
        self.credentials = credentials
    }

    func received(_ request: HTTPRequest, on exchange: any HTTPExchange) {
        calls.submit(
            .request(
                ServiceRequest(
                    calls.requests.add(exchange), request.method, request.path, body: request.body,
                    authorization: request.values(of: "authorization").first,
                    userAgent: request.values(of: "user-agent").first, isOwner: credentials?.isOwner ?? false,
                    pid: credentials.flatMap { $0.processID > 0 ? $0.processID : nil })))
    }

    func connectionClosed() {}
}

extension HTTPExchange {
    /// Answers with a message or an error.
    func respond(_ result: Result<any Encodable, RingwakeError>) {
        switch result {
        case .success(let message):
            respond(status: 200, json: controlJSON(message))
        case .failure(let error):
            respond(
                status: error.code.httpStatus,
                json: controlJSON(ErrorMessage(error: error.code.slug, message: error.message)))
        }
    }

    /// Answers with encoded JSON.
    func respond(status: Int, json: [UInt8]) {
        respond(
            HTTPResponse(
                status: status, fields: [HTTPField(name: "content-type", value: "application/json")],
                body: json + [UInt8(ascii: "\n")]))
    }

    /// Begins a stream of JSON lines.
    func beginLines() {
        beginStream(
            status: 200,
            fields: [
                HTTPField(name: "content-type", value: "application/x-ndjson"),
                HTTPField(name: "cache-control", value: "no-store"),
            ])
    }
}
