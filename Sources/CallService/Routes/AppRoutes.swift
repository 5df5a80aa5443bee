internal import ControlProtocol
internal import RingwakeCore

/// `/v1/apps/{app}/...`: requests about one app and its handlers.
enum AppRoutes {
    static func answer(
        _ request: ServiceRequest, _ service: inout CallServiceStateMachine, _ turn: inout Turn
    ) throws(RingwakeError) {
        switch request.parts[2] {
        case "pushes": try waiting(request, &service, &turn)
        case "handler":
            try request.require("GET", parameters: ["since"])
            _ = try request.since()
            let (id, app) = try configured(request, service)
            try service.connect(request, of: id, app.policy, &turn)
        case "state": try state(request, &service, &turn)
        case "restored": try restored(request, &service, &turn)
        case "reset": try reset(request, &service, &turn)
        case "credentials":
            try request.require("GET")
            try request.caller.requireOwnerOrHandler()
            _ = try configured(request, service)
            turn.add(.forward(request))
        case "restrictions": try RestrictionRoutes.show(request, service, &turn)
        case "tokens":
            try request.require("POST")
            try request.caller.requireOwner()
            _ = try configured(request, service)
            turn.add(.forward(request))
        case "fault":
            if request.method == "DELETE" {
                try request.require("DELETE", parameters: ["environment"])
            } else {
                try request.require("PUT")
            }
            try request.caller.requireOwner()
            _ = try configured(request, service)
            turn.add(.forward(request))
        case "strikes":
            try request.require("DELETE")
            try request.caller.requireOwner()
            _ = try configured(request, service)
            turn.add(.forward(request))
        default: throw RingwakeError(.notFound, "there is nothing at \(request.target)")
        }
    }

    /// The app in the path. It must be configured, and the caller must have permission for it.
    private static func configured(
        _ request: ServiceRequest, _ service: CallServiceStateMachine
    ) throws(RingwakeError) -> (AppID, ServiceConfiguration.App) {
        let id = try request.pathApp()
        guard let app = service.configuration.apps[id] else { throw .noApp(id.rawValue) }
        return (id, app)
    }

    /// The waiting pushes of an app. A handler fetches them, as if they were on its standard input. The owner only sees
    /// them.
    private static func waiting(
        _ request: ServiceRequest, _ service: inout CallServiceStateMachine, _ turn: inout Turn
    ) throws(RingwakeError) {
        try request.require("GET")
        let app = try request.pathApp()
        guard let wake = request.caller.wake else {
            let calls = service.coordinator.active.values
                .filter { $0.key.app == app && $0.pushes.hasUnfetched }.sorted { $0.number < $1.number }
            guard !calls.isEmpty || service.configuration.apps[app] != nil else { throw .noApp(app.rawValue) }
            return turn.respond(request.id, CallListMessage(calls: calls.map { service.message(of: $0, turn) }))
        }
        let outcome = service.submit(.pushesFetched(wake), &turn)
        if let refusal = outcome.refusal { throw refusal.error("fetching") }
        service.recordAttempts(outcome.fetched, &turn) { _, turn in
            turn.add(.respond(request.id, status: 200, json: WaitingMessage.json(outcome.fetched, at: turn.now)))
        }
    }

    /// The app's stored state, byte for byte.
    private static func state(
        _ request: ServiceRequest, _ service: inout CallServiceStateMachine, _ turn: inout Turn
    ) throws(RingwakeError) {
        let app = try keeper(request, service)
        switch request.method {
        case "GET":
            try request.require("GET")
            if let lock = service.lock(ofState: app, by: request.caller.wake) {
                throw .locked(lock, "what \(app) keeps")
            }
            guard let state = service.readState(of: app, by: request.caller.wake) else {
                throw RingwakeError(.notFound, "\(app) has kept nothing; PUT it first")
            }
            turn.add(.respondBytes(request.id, state))
        case "PUT":
            try request.require("PUT")
            guard request.body.count <= ControlAPI.maximumStateBytes else {
                throw RingwakeError(
                    .invalidRequest,
                    "an app keeps at most \(ControlAPI.maximumStateBytes) bytes, not \(request.body.count)")
            }
            // What a reset has dropped must not come back.
            guard !service.isStopping(request.caller.wake, of: app) else {
                throw RingwakeError(.conflict, "this handler is being stopped, so \(app) keeps nothing more of it")
            }
            store(request.body, of: app, request.id, &turn)
        case "DELETE":
            try request.require("DELETE")
            store(nil, of: app, request.id, &turn)
        default:
            throw RingwakeError(.invalidRequest, "the state takes GET, PUT and DELETE, not \(request.method)")
        }
    }

    /// The app in the path, if it may store something and the caller may act for it.
    private static func keeper(
        _ request: ServiceRequest, _ service: CallServiceStateMachine
    ) throws(RingwakeError) -> AppID {
        try request.caller.requireOwnerOrHandler()
        let (app, settings) = try configured(request, service)
        guard settings.keepsState else {
            throw RingwakeError(
                .notPermitted, "\(app) keeps nothing here: its file has no 'state = true' under [restoration]")
        }
        return app
    }

    /// A handler has restored the app's state: a crash from now on is not the state's fault.
    private static func restored(
        _ request: ServiceRequest, _ service: inout CallServiceStateMachine, _ turn: inout Turn
    ) throws(RingwakeError) {
        try request.require("POST")
        let app = try keeper(request, service)
        guard let wake = request.caller.wake else {
            throw RingwakeError(.notPermitted, "a handler says this, with the secret of its wake")
        }
        service.states.restored(by: wake, saying: app, &turn)
        turn.respond(request.id, AppStateMessage(app: app.rawValue, bytes: service.states[app]?.count ?? 0))
    }

    /// The user forces the end of an app.
    private static func reset(
        _ request: ServiceRequest, _ service: inout CallServiceStateMachine, _ turn: inout Turn
    ) throws(RingwakeError) {
        try request.require("POST")
        try request.caller.requireOwner()
        let (app, _) = try configured(request, service)
        let message = AppResetMessage(
            app: app.rawValue, calls: service.coordinator.active.keys.count { $0.app == app },
            handlers: service.coordinator.lanes[app]?.handlers.count ?? 0, bytes: service.states[app]?.count ?? 0)
        service.states.drop(app, .reset, service.subscriptions, &turn)
        service.submit(.appReset(app), &turn)
        // A later commit has both: the state that is gone, and the calls that have ended.
        let id = request.id
        turn.add(
            .storeState(nil, of: app) { result in
                .resumed { _, turn in
                    if case .failure(let error) = result { return turn.respond(id, .failure(error)) }
                    turn.add(.barrier { _, turn in turn.respond(id, message) })
                }
            })
    }

    private static func store(_ state: [UInt8]?, of app: AppID, _ request: RequestID, _ turn: inout Turn) {
        turn.add(
            .storeState(state, of: app) { result in
                .resumed { service, turn in
                    if case .success = result { service.states.set(state, of: app) }
                    turn.respond(
                        request, result.map { AppStateMessage(app: app.rawValue, bytes: state?.count ?? 0) })
                }
            })
    }
}

extension CallServiceStateMachine {
    /// The app's stored state. Nobody learns how a handler ends that came by itself.
    fileprivate mutating func readState(of app: AppID, by wake: WakeID?) -> [UInt8]? {
        guard let wake, handlers[wake]?.cameByItself == false else { return states[app] }
        return states.read(app, by: wake)
    }

    /// The class that keeps from reading what an app stores; nil if it can be read, or there is nothing.
    fileprivate func lock(ofState app: AppID, by wake: WakeID?) -> ProtectionClass? {
        if let lock = states.lock(of: app) { return lock }
        guard states[app] != nil else { return nil }
        let hasCall = wake.map { wake in coordinator.active.values.contains { $0.handler == wake } } ?? false
        return protection.lock(of: .appState, isOpen: hasCall)
    }

    /// Whether a handler was asked to exit.
    fileprivate func isStopping(_ wake: WakeID?, of app: AppID) -> Bool {
        wake.flatMap { coordinator.lanes[app]?.handlers[$0]?.isStopping } ?? false
    }

    /// Why a filter by this app matches nothing; nil if the app is configured, or if there is no filter.
    func error(ofFilter app: AppID?) -> RingwakeError? {
        app.flatMap { configuration.apps[$0] == nil ? .noApp($0.rawValue) : nil }
    }
}
