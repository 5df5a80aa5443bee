internal import ControlProtocol
internal import HTTPServer
internal import NetworkMessages
internal import Reachability
internal import RingwakeCore

// `/v1/path` and `/v1/reachability`: what the network offers, and what of it leads where.
extension ControlServer {
    func path(_ request: ControlRequest, _ exchange: any HTTPExchange) throws(RingwakeError) {
        try request.require("GET", parameters: ["watch"])
        if try request.flag("watch") {
            return try queries.watchPath(exchange, isOthers: request.caller == .user)
        }
        exchange.respond(.success(PathMessage(try network.requireMonitor().path)))
    }

    func reachability(_ request: ControlRequest, _ exchange: any HTTPExchange) throws(RingwakeError) {
        try request.require("GET", parameters: ["target", "watch"])
        try queries.begin(
            try request.targets(), isWatching: try request.flag("watch"), exchange,
            isOthers: request.caller == .user)
    }
}
