internal import ControlProtocol
internal import HTTPServer
internal import RingwakeCore

// `/v1/events`: what happens, as it happens.
extension ControlServer {
    func subscribe(_ request: ControlRequest, _ exchange: any HTTPExchange) throws(RingwakeError) {
        try request.require("GET", parameters: ["app", "call", "since"])
        let app = try request.app()
        let id = request.query["call"].map { CallID($0) }
        let since = try request.since()
        let calls = id.map { id in runner.calls(named: id).filter { app == nil || $0.key.app == app } }
        let first = beginning(calls ?? self.calls(of: app, since: since))
        // A stream of one call is about nothing else.
        events.subscribe(exchange, app: app, call: id, first: (id == nil ? connections(of: app) : []) + first)
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

    /// The calls that somebody who begins to listen is told of: those that run, and of those that are over the ones that
    /// he has not heard the end of, because the daemon or he was away.
    func calls(of app: AppID?, since: Int64?) -> [Call] {
        let running = Array(runner.coordinator.active.values)
        let over = since.map { since in runner.coordinator.finished.filter { $0.number >= since } } ?? []
        let matching = over.filter { app == nil || $0.key.app == app }
        return running.filter { app == nil || $0.key.app == app } + matching.suffix(ControlServer.maximumMissed)
    }

    /// The most calls that are over and that somebody is told of who comes again: each costs the loop some 40 us.
    private static let maximumMissed = 128

    /// What whoever begins to listen has to know of calls, the oldest first.
    func beginning(_ calls: [Call]) -> [EventMessage] {
        calls.sorted { $0.number < $1.number }.flatMap { call in
            var first = [EventMessage(change: call, at: runner.now)]
            first += call.machine.owed.map { EventMessage(action: $0, of: call.key, at: runner.now) }
            if let audio = EventMessage(audioOf: call) { first.append(audio) }
            if let unread = call.pushes.unread.first {
                first.append(EventMessage(waiting: call.key, unread.kind))
            }
            return first
        }
    }
}
