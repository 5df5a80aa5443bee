internal import ControlProtocol
internal import HTTPServer
internal import RingwakeCore

/// Answers the control API: says who asks, what for, and whether that one may; the rest is the daemon's.
///
/// This file takes requests in and tells them apart; each resource has a file of its own.
final class ControlServer {
    unowned let daemon: Daemon
    let runner: EffectRunner
    let events: EventStreams
    let journal: JournalReader
    let network: NetworkWatch
    let queries: NetworkQueries
    let restoration: Restoration
    let callerLists: CallerLists

    init(
        daemon: Daemon, runner: EffectRunner, events: EventStreams, journal: JournalReader, network: NetworkWatch,
        queries: NetworkQueries, restoration: Restoration, callerLists: CallerLists
    ) {
        self.daemon = daemon
        self.runner = runner
        self.events = events
        self.journal = journal
        self.network = network
        self.queries = queries
        self.restoration = restoration
        self.callerLists = callerLists
    }

    /// The handler of one connection to the control socket.
    func makeConnectionHandler(peer: PeerInfo) -> any HTTPConnectionHandler {
        ControlConnection(server: self, credentials: peer.credentials)
    }

    fileprivate func answer(
        _ request: HTTPRequest, from credentials: PeerCredentials?, on exchange: any HTTPExchange
    ) {
        do throws(RingwakeError) {
            guard let path = ControlPath(request.path) else {
                throw RingwakeError(
                    .invalidRequest,
                    "\(request.path) is no path of this API: it begins with a slash, and each '%' in it begins an escape "
                        + "of two hex digits; what the escapes stand for is UTF-8")
            }
            guard path.parts.first == "v1" else {
                throw RingwakeError(.notFound, "there is nothing at \(request.path); the paths begin with /v1/")
            }
            let caller = try ControlCaller(
                request: request, credentials: credentials, secrets: { runner.handlers.wake(ofSecret: $0) },
                processes: { runner.handlers.wake(ofPeer: $0) })
            try route(
                ControlRequest(
                    method: request.method, target: request.path, parts: Array(path.parts.dropFirst()),
                    query: path.query, items: path.items, body: request.body, caller: caller,
                    peer: credentials.flatMap { $0.processID > 0 ? $0.processID : nil }),
                exchange)
        } catch {
            exchange.respond(.failure(error))
        }
    }

    private func route(_ request: ControlRequest, _ exchange: any HTTPExchange) throws(RingwakeError) {
        switch (request.parts.first, request.parts.count) {
        case ("status", 1):
            try request.require("GET")
            exchange.respond(.success(daemon.status()))
        case ("reload", 1):
            try request.require("POST")
            try request.caller.requireOwner()
            exchange.respond(.success(try daemon.reload()))
        case ("path", 1): try path(request, exchange)
        case ("reachability", 1): try reachability(request, exchange)
        case ("apps", 1): exchange.respond(.success(try apps(request)))
        case ("apps", 2): exchange.respond(.success(try app(request)))
        case ("apps", 3): try appPart(request, exchange)
        case ("pushes", 1): try pushes(request, exchange)
        case ("pushes", 2): try push(request, exchange)
        case ("calls", 1): try calls(request, exchange)
        case ("calls", 2): try call(request, exchange)
        case ("calls", 3): try act(request, exchange)
        case ("events", 1): try subscribe(request, exchange)
        case ("audio", _): try audio(request, exchange)
        case ("dnd", 1): try doNotDisturb(request, exchange)
        case ("lists", _): try lists(request, exchange)
        case ("imports", _): try imports(request, exchange)
        default: throw RingwakeError(.notFound, "there is nothing at \(request.target)")
        }
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

extension HTTPExchange {
    /// Answers with a message, or with why there is none.
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

    /// Answers with JSON that is written already.
    func respond(status: Int, json: [UInt8]) {
        respond(
            HTTPResponse(
                status: status, fields: [HTTPField(name: "content-type", value: "application/json")],
                body: json + [UInt8(ascii: "\n")]))
    }
}
