internal import DaemonConfiguration
internal import ControlProtocol
internal import RingwakeCore

extension AudioStatusMessage {
    /// The state of the audio sessions and of the server.
    init(_ audio: AudioService) {
        let (arbiter, program) = (audio.arbiter, audio.program)
        self.init(backend: program.way.backend, state: "idle")
        (pid, output) = (program.child, arbiter.chosenOutput)
        sessions = arbiter.sessions.count + (arbiter.call.state == .idle ? 0 : 1)
        call = !arbiter.activeCalls.isEmpty
        active = arbiter.sessions.values.count { $0.machine.state.name == .active } + (call ? 1 : 0)
        let held = program.effects
        let isRestoring = held.count > 0 && (held.isRestoring || arbiter.engine.isUndoing)
        (effects, counters) = (held.count, audio.counters)
        switch arbiter.engine.state {
        case .absent:
            if program.way == nil { state = "off" }
            if isRestoring || program.isRestoring {
                state = "restoring"
                why = "what an earlier call changed is undone as soon as the audio server answers"
            }
        case .starting: state = "starting"
        case .connected(let description):
            state = isRestoring ? "restoring" : "connected"
            server = AudioStatusMessage.Server(description)
            route = AudioRouteMessage(arbiter.route)
        case .unavailable(let why), .failed(let why, _): (state, self.why) = ("unavailable", why)
        case .lost(let why): (state, self.why) = ("lost", why)
        }
    }

    /// The server may still become connected: the daemon hasn't tried yet, or is trying.
    nonisolated var isUndecided: Bool { state == "idle" || state == "starting" }
}

extension AudioSessionMessage {
    /// The session of the calls; nil if there is none.
    init?(callOf arbiter: AudioArbiter, _ coordinator: CoordinatorStateMachine, at now: BootInstant) {
        let (focus, state): (CallSession.Focus, String)
        switch arbiter.call.state {
        case .idle: return nil
        case .activating(let own, _): (focus, state) = (own, "activating")
        case .active(let own): (focus, state) = (own, "active")
        case .retained(let own): (focus, state) = (own, "interrupted")
        case .deactivating(let own, _): (focus, state) = (own, "deactivating")
        case .failed(let own): (focus, state) = (own, "lost")
        }
        self.init(
            id: AudioSessionID.call.number, name: focus.client.name, app: focus.call.app.rawValue,
            call: focus.call.id.rawValue, pids: Array(focus.client.processes), configuration: focus.configuration,
            state: state, route: state == "active" ? AudioRouteMessage(arbiter.route) : nil,
            openMs: (coordinator.call(focus.call)?.receivedAt ?? now).duration(to: now).milliseconds)
    }

    /// The session of a client.
    init(
        _ id: AudioSessionID, _ session: AudioSessions.Session, app: AppID?, of arbiter: AudioArbiter,
        at now: BootInstant
    ) {
        let state = session.machine.state.name
        self.init(
            id: id.number, name: session.client.name, app: app?.rawValue, pids: Array(session.client.processes),
            configuration: session.configuration, state: state.rawValue,
            route: state == .active ? AudioRouteMessage(arbiter.route) : nil,
            openMs: session.openedAt.duration(to: now).milliseconds)
    }
}

extension AudioEngineWay? {
    /// The name that the configuration uses.
    nonisolated var backend: String {
        switch self {
        case .program: "program"
        case .socket: "socket"
        case nil: "none"
        }
    }
}
