internal import ControlProtocol
internal import HTTPServer
internal import HandlerActivation
internal import RingwakeCore

// `/v1/apps`: the apps, and what waits for the handler of each.
extension ControlServer {
    func apps(_ request: ControlRequest) throws(RingwakeError) -> AppListMessage {
        try request.require("GET")
        try request.caller.requireOwner()
        return AppListMessage(apps: daemon.apps())
    }

    func app(_ request: ControlRequest) throws(RingwakeError) -> AppMessage {
        try request.caller.requireOwner()
        let id = request.parts[1]
        guard let app = AppID(id), let message = daemon.apps().first(where: { $0.app == id }) else {
            throw RingwakeError(.notFound, "no app '\(id)' is configured; 'ringwake app list' shows those that are")
        }
        switch request.method {
        case "DELETE":
            try request.require("DELETE")
            return try daemon.removeApp(app)
        case "GET":
            try request.require("GET")
            return message
        default:
            throw RingwakeError(.invalidRequest, "an app takes GET and DELETE, not \(request.method)")
        }
    }

    /// `/v1/apps/{app}/...`
    func appPart(_ request: ControlRequest, _ exchange: any HTTPExchange) throws(RingwakeError) {
        switch request.parts[2] {
        case "pushes": try waiting(request, exchange)
        case "handler": try keepHandler(request, exchange)
        case "state": try state(request, exchange)
        case "strikes": try clearStrikes(request, exchange)
        case "credentials": exchange.respond(.success(try credentials(request)))
        default: throw RingwakeError(.notFound, "there is nothing at \(request.target)")
        }
    }

    /// What waits for an app's handler. A handler that asks has it from now on: it is in the answer as it would have
    /// been on standard input. The owner is told of it, and it goes on waiting.
    func waiting(_ request: ControlRequest, _ exchange: any HTTPExchange) throws(RingwakeError) {
        try request.require("GET")
        guard let app = AppID(request.parts[1]) else {
            throw RingwakeError(.notFound, "'\(request.parts[1])' is not a bundle id")
        }
        _ = try request.caller.confinedApp(asked: app)
        guard let wake = request.caller.wake else {
            let calls = runner.coordinator.active.values
                .filter { $0.key.app == app && $0.pushes.hasUnfetched }
                .sorted { $0.number < $1.number }
            guard !calls.isEmpty || runner.configuration.apps[app] != nil else {
                throw RingwakeError(
                    .notFound, "no app '\(app)' is configured; 'ringwake app list' shows those that are")
            }
            return exchange.respond(.success(CallListMessage(calls: messages(of: calls))))
        }
        do throws(EventRefusal) {
            exchange.respond(status: 200, json: WaitingMessage.json(try runner.fetchPushes(by: wake), at: runner.now))
        } catch {
            throw error.error("fetching")
        }
    }
}
