internal import ControlProtocol
internal import RingwakeCore

/// `/v1/events`: a stream of events.
enum StreamRoutes {
    /// The maximum number of ended calls that a reconnecting client gets: each takes the loop about 40 us.
    private static let maximumMissed = 128

    static func subscribe(
        _ request: ServiceRequest, _ service: inout CallServiceStateMachine, _ turn: inout Turn
    ) throws(RingwakeError) {
        try request.require("GET", parameters: ["app", "call", "pushes", "since"])
        let app = try request.app()
        if let error = service.error(ofFilter: app) { throw error }
        let since = try request.since()
        if try request.flag("pushes") {
            try request.caller.requireOwner()
            guard request.query["call"] == nil, since == nil else {
                throw RingwakeError(.invalidRequest, "with 'pushes' there is no 'call' and no 'since'")
            }
            return service.subscriptions.beginRequests(request.id, app: app, &turn)
        }
        guard let id = request.query["call"].map({ CallID($0) }) else {
            let first =
                turn.host.connections(app) + protectedData(service, turn) + restrictions(of: app, service, turn)
                + turn.host.telephony() + beginning(of: app, since: since, service, turn)
            return service.subscriptions.begin(request.id, app: app, call: nil, first: first, &turn)
        }
        // A stream of one call has only that call's events.
        let calls = service.calls(named: id, of: app)
        service.subscriptions.begin(request.id, app: app, call: id, first: beginning(calls, service, turn), &turn)
    }

    /// Begins the stream of a handler.
    static func greet(
        _ request: ServiceRequest, _ app: AppID, secret: String?, _ service: inout CallServiceStateMachine,
        _ turn: inout Turn
    ) {
        let hello = EventMessage(
            handler: app, secret: secret, socket: service.configuration.socketPath,
            protectedData: service.protectedData, restrictions: service.screening.restrictions(of: app, turn))
        let since = try? request.since()
        let first =
            protectedData(service, turn) + turn.host.telephony() + beginning(of: app, since: since, service, turn)
        service.subscriptions.begin(request.id, app: app, call: nil, first: [hello] + first, &turn)
    }

    /// What a stream begins with if protected data can't be read, or soon not any more.
    private static func protectedData(_ service: CallServiceStateMachine, _ turn: Turn) -> [EventMessage] {
        service.protectedData == .available ? [] : [EventMessage(protectedData: service.protectedData, at: turn.now)]
    }

    /// What a stream of one app, or of all, begins with if something is restricted.
    private static func restrictions(
        of app: AppID?, _ service: CallServiceStateMachine, _ turn: Turn
    ) -> [EventMessage] {
        let restrictions = service.screening.restrictions(of: app, turn)
        return restrictions == AppRestrictions() ? [] : [EventMessage(restrictions: restrictions, of: app)]
    }

    /// Active calls, and the ended ones whose end the client may have missed.
    static func beginning(
        of app: AppID?, since: Int64?, _ service: CallServiceStateMachine, _ turn: Turn
    ) -> [EventMessage] {
        let ended = since.map { since in service.coordinator.finished.filter { $0.number >= since } } ?? []
        let missed = ended.filter { app == nil || $0.key.app == app }.suffix(maximumMissed)
        let active = service.coordinator.active.values.filter { app == nil || $0.key.app == app }
        return beginning(active + missed, service, turn)
    }

    /// The first events of a new stream, the oldest call first.
    private static func beginning(
        _ calls: [Call], _ service: CallServiceStateMachine, _ turn: Turn
    ) -> [EventMessage] {
        let told = calls.filter { !service.subscriptions.awaitsAudio($0.key) }
        return told.sorted { $0.number < $1.number }.flatMap { call in
            var first = [EventMessage(change: call, at: turn.now)]
            first += call.machine.owed.map { EventMessage(action: $0, of: call.key, at: turn.now) }
            if let audio = EventMessage(audioOf: call) { first.append(audio) }
            if let unread = call.pushes.unread.first { first.append(EventMessage(waiting: call.key, unread.kind)) }
            return first
        }
    }
}
