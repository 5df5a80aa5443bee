internal import CallService
internal import ControlProtocol
internal import DaemonConfiguration
internal import HTTPServer
internal import NetworkMessages
internal import Reachability
internal import RingwakeCore
internal import RunLoop

/// The control socket and the status socket. Submits the control socket's requests to the call service, and answers the
/// ones that the service forwards: those about the device and the daemon. The status socket's never reach the service.
final class ControlServer {
    private unowned let daemon: Daemon
    private let calls: CallDriver
    private let network: NetworkWatch
    private let queries: NetworkQueries
    private let audio: AudioRequests
    private let copies: StoreCopies
    private let protection: ProtectionRequests
    /// The requests about links.
    let links: LinkRequests
    /// The answer to everybody who asks in one turn of the loop.
    private var status: (turn: UInt64, json: [UInt8])?

    init(daemon: Daemon, calls: CallDriver, network: NetworkWatch, queries: NetworkQueries, audio: AudioService) {
        self.daemon = daemon
        self.calls = calls
        self.network = network
        self.queries = queries
        self.audio = AudioRequests(audio: audio, calls: calls)
        copies = StoreCopies(
            journal: daemon.journal, directory: daemon.configuration.stateDirectory, runLoop: daemon.runLoop,
            logger: daemon.logger)
        links = LinkRequests(daemon: daemon)
        protection = ProtectionRequests(daemon.protection)
        calls.onForward = { [weak self] request, exchange in self?.answer(request, exchange) }
    }

    /// The handler of one connection to the control socket. The peer is judged here, when it connects.
    func makeConnectionHandler(peer: PeerInfo, group: UInt32?) -> any HTTPConnectionHandler {
        ControlConnection(calls: calls, peer: peer.credentials, group: group)
    }

    /// The handler of one connection to the status socket.
    func makeStatusHandler(peer: PeerInfo) -> any HTTPConnectionHandler {
        StatusConnection(user: peer.credentials?.userID) { [unowned self] request, exchange in answer(request, exchange)
        }
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
            switch request.caller {
            case .owner, .member: exchange.respond(status: 200, json: statusOfThisTurn())
            case .handler: exchange.respond(.success(daemon.publicStatus(isHandler: true)))
            case .stranger: exchange.respond(.success(daemon.publicStatus(isHandler: false)))
            }
        case ("metrics", _):
            try request.require("GET")
            exchange.respond(
                HTTPResponse(
                    status: 200, fields: [HTTPField(name: "content-type", value: MetricsText.contentType)],
                    body: Array(daemon.metrics().text.utf8)))
        case ("clock", _):
            guard request.parts[1] == "accept" else { throw ControlServer.nothing(at: request) }
            try request.require("POST")
            daemon.judge.accept { [daemon] result in exchange.respond(result.map { daemon.status() }) }
        case ("store", 2):
            guard request.parts[1] == "copy" else { throw ControlServer.nothing(at: request) }
            try request.require("POST")
            try copies.begin(exchange)
        case ("store", _):
            try request.require("GET")
            JournalReader(journal: daemon.journal, runLoop: daemon.runLoop).report { result in
                exchange.respond(result.map { StoreMessage($0) })
            }
        case ("restart", _):
            try request.require("POST")
            exchange.respond(status: 200, json: statusOfThisTurn())
            daemon.restart()
        case ("reload", _):
            try request.require("POST")
            exchange.respond(.success(try daemon.reload()))
        case ("refusals", _):
            try request.require("GET", parameters: ["id", "limit"])
            exchange.respond(.success(daemon.refusals(id: request.query["id"], limit: try request.page().limit)))
        case ("path", _):
            try request.require("GET", parameters: ["watch"])
            let isStrangers = request.caller == .stranger
            if try request.flag("watch") { return try queries.watchPath(exchange, isStrangers: isStrangers) }
            let path = PathMessage(try network.requireMonitor().currentPath(forUser: request.peer.user))
            exchange.respond(.success(isStrangers ? path.withoutAddresses : path))
        case ("reachability", _):
            try request.require("GET", parameters: ["target", "watch"])
            try queries.begin(
                try request.targets(), isWatching: try request.flag("watch"), exchange,
                isStrangers: request.caller == .stranger, user: request.peer.user)
        case ("telephony", _):
            try request.require("GET")
            daemon.device.telephony.answer(exchange)
        case ("audio", _): try audio.answer(request, exchange)
        case ("gateway", _), ("link", _): try links.answer(request, exchange)
        case ("protection", _): try protection.answer(request, exchange)
        case ("identity", _): exchange.respond(.success(try identity(request)))
        case ("apps", 1):
            try request.require("GET")
            exchange.respond(.success(AppListMessage(apps: daemon.apps())))
        case ("apps", 2): try app(request, exchange)
        case ("apps", _): try appPart(request, exchange)
        default: throw ControlServer.nothing(at: request)
        }
    }

    private func statusOfThisTurn() -> [UInt8] {
        let turn = daemon.runLoop.turnNumber
        if let status, status.turn == turn { return status.json }
        let json = controlJSON(daemon.status())
        status = (turn, json)
        return json
    }

    private static func nothing(at request: ServiceRequest) -> RingwakeError {
        RingwakeError(.notFound, "there is nothing at \(request.target)")
    }

    private func identity(_ request: ServiceRequest) throws(RingwakeError) -> IdentityMessage {
        switch (request.parts.count, request.parts.last) {
        case (1, _): try request.require("GET")
        case (2, "reset"):
            try request.require("POST")
            let reset = try request.decode(IdentityReset.self, empty: IdentityReset())
            try daemon.resetIdentity(keepingTokens: reset.keepTokens ?? false)
        case (2, "accept"):
            try request.require("POST")
            try daemon.identity.accept()
        default: throw ControlServer.nothing(at: request)
        }
        return try daemon.identity.message()
    }

    // MARK: - Apps

    private func app(_ request: ServiceRequest, _ exchange: any HTTPExchange) throws(RingwakeError) {
        let id = request.parts[1]
        guard let app = AppID(id), let message = daemon.apps().first(where: { $0.app == id }) else {
            throw .noApp(id)
        }
        guard request.method != "DELETE" else {
            try request.require("DELETE")
            return try daemon.removeApp(app) { exchange.respond(.success($0)) }
        }
        guard request.method == "GET" else {
            throw RingwakeError(.invalidRequest, "an app takes GET and DELETE, not \(request.method)")
        }
        try request.require("GET")
        exchange.respond(.success(message))
    }

    private func appPart(_ request: ServiceRequest, _ exchange: any HTTPExchange) throws(RingwakeError) {
        let app = try request.pathApp()
        let message = { [daemon] in daemon.apps().first { $0.app == app.rawValue } }
        switch request.parts[2] {
        case "strikes":
            return daemon.clearStrikes(of: app) { result in
                exchange.respond(
                    result.flatMap { message().map { .success($0) } ?? .failure(ControlServer.removed(app)) })
            }
        case "tokens": try daemon.renewTokens(of: app)
        case "fault":
            let fault = try request.method == "DELETE" ? nil : request.decode(PushFaultMessage.self, empty: nil)
            try daemon.setFault(fault, environment: fault?.environment ?? request.query["environment"], of: app)
        default:
            guard let credentials = daemon.credentials(of: app) else { throw ControlServer.removed(app) }
            return exchange.respond(.success(credentials))
        }
        guard let changed = message() else { throw ControlServer.removed(app) }
        exchange.respond(.success(changed))
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

    /// Answers 429 with encoded JSON, and when to ask again, rounded up to seconds (RFC 9110 § 10.2.3).
    func refuse(for wait: Duration, json: [UInt8]) {
        let seconds = wait.components.seconds + (wait.components.attoseconds > 0 ? 1 : 0)
        respond(
            HTTPResponse(
                status: 429,
                fields: [
                    HTTPField(name: "content-type", value: "application/json"),
                    HTTPField(name: "retry-after", value: "\(max(1, seconds))"),
                ], body: json + [UInt8(ascii: "\n")]))
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
