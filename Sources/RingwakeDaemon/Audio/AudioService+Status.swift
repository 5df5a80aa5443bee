internal import ControlProtocol
internal import RingwakeCore

// What is shown of audio.
extension AudioService {
    /// How the sessions stand, and the server.
    func status() -> AudioStatusMessage {
        var message = AudioStatusMessage(
            backend: program.way.backend, state: "idle", pid: program.child, output: arbiter.chosenOutput,
            sessions: arbiter.sessions.count + (arbiter.call.state == .idle ? 0 : 1),
            active: arbiter.sessions.values.count { $0.machine.state.name == .active }
                + (arbiter.activeCall == nil ? 0 : 1),
            call: arbiter.activeCall != nil, effects: counters.inForce, counters: counters.message)
        switch arbiter.engine.state {
        case .absent:
            message.state = program.way == nil ? "off" : "idle"
            if program.isRestoring {
                message.why = "what an earlier call did is put back as soon as the audio server is there"
            }
        case .starting: message.state = "starting"
        case .connected(let server):
            message.state = "connected"
            message.server = AudioStatusMessage.Server(server)
            message.route = AudioRouteMessage(arbiter.route)
        case .unavailable(let why), .failed(let why): (message.state, message.why) = ("unavailable", why)
        case .lost(let why): (message.state, message.why) = ("lost", why)
        }
        return message
    }

    /// The sessions, that of the calls first, then the oldest first.
    func sessions() -> [AudioSessionMessage] {
        let now = runner.now
        var messages: [AudioSessionMessage] = []
        if let (focus, state) = arbiter.call.shown {
            let openedAt = runner.coordinator.call(focus.call)?.receivedAt ?? now
            messages.append(
                AudioSessionMessage(
                    id: AudioSessionID.call.number, name: focus.client.name, app: focus.call.app.rawValue,
                    call: focus.call.id.rawValue, pids: Array(focus.client.processes),
                    configuration: focus.configuration, state: state,
                    route: state == "active" ? AudioRouteMessage(arbiter.route) : nil,
                    openMs: openedAt.duration(to: now).milliseconds))
        }
        return messages
            + arbiter.sessions.sorted { $0.key < $1.key }.map { id, session in message(of: session, id, at: now) }
    }

    /// One of them; nil when it is not open.
    func session(_ id: AudioSessionID) -> AudioSessionMessage? {
        arbiter.sessions[id].map { message(of: $0, id, at: runner.now) }
    }

    private func message(
        of session: AudioArbiter.Session, _ id: AudioSessionID, at now: BootInstant
    ) -> AudioSessionMessage {
        let state = session.machine.state.name
        return AudioSessionMessage(
            id: id.number, name: session.client.name, pids: Array(session.client.processes),
            configuration: session.configuration, state: state.rawValue,
            route: state == .active ? AudioRouteMessage(arbiter.route) : nil,
            openMs: session.openedAt.duration(to: now).milliseconds)
    }
}

extension AudioArbiter.CallSession {
    /// Whose it is, and how it stands, in the words of every session.
    fileprivate var shown: (Focus, String)? {
        switch state {
        case .idle: nil
        case .activating(let focus, _): (focus, "activating")
        case .active(let focus): (focus, "active")
        case .retained(let focus): (focus, "interrupted")
        case .deactivating(let focus, _): (focus, "deactivating")
        case .failed(let focus): (focus, "lost")
        }
    }
}

extension AudioEngineWay? {
    /// As the configuration names it.
    nonisolated var backend: String {
        switch self {
        case .program: "program"
        case .socket: "socket"
        case nil: "none"
        }
    }
}

extension AudioCounters {
    var message: AudioStatusMessage.Counters {
        AudioStatusMessage.Counters(
            activations: activations, activationUs: activationTime.saturatingNanoseconds / 1000,
            longestActivationUs: longestActivation.saturatingNanoseconds / 1000,
            failures: Dictionary(failures.map { ($0.key.rawValue, $0.value) }) { first, _ in first },
            effectsMade: effectsMade, effectsUndone: effectsUndone, effectsLeft: effectsLeft)
    }
}
