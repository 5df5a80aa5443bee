internal import ControlProtocol
internal import HTTPServer
internal import RingwakeCore

// `/v1/events`: what happens, as it happens.
extension ControlServer {
    func subscribe(_ request: ControlRequest, _ exchange: any HTTPExchange) throws(RingwakeError) {
        try request.require("GET", parameters: ["app", "call"])
        let app = try request.app()
        let id = request.query["call"].map { CallID($0) }
        let known = id.map { runner.calls(named: $0) } ?? Array(runner.coordinator.active.values)
        let matching = known.filter { app == nil || $0.key.app == app }.sorted { $0.number < $1.number }
        let calls = matching.flatMap { beginning($0, at: runner.now) }
        // A stream of one call is about nothing else.
        events.subscribe(exchange, app: app, call: id, first: (id == nil ? connections(of: app) : []) + calls)
    }

    /// Whether the daemon and the apps with targets are connected; of one app that one alone.
    private func connections(of app: AppID?) -> [EventMessage] {
        if let app {
            guard runner.configuration.apps[app] != nil, let status = network.connection(of: app) else { return [] }
            return [EventMessage(connection: status, of: app)]
        }
        let apps = network.appsWithTargets.compactMap { app in
            network.connection(of: app).map { EventMessage(connection: $0, of: app) }
        }
        return (network.connection.map { [EventMessage(connection: $0, of: nil)] } ?? []) + apps
    }

    /// What whoever begins to listen has to know of a call.
    func beginning(_ call: Call, at now: BootInstant) -> [EventMessage] {
        var first = [EventMessage(change: call, at: now)]
        first += call.machine.owed.map { EventMessage(action: $0, of: call.key, at: now) }
        if let unread = call.unread.first {
            first.append(EventMessage(waiting: call.key, unread.kind))
        }
        return first
    }
}
