import ControlProtocol

/// Handlers can be woken.
enum HandlerCheck {
    private static let name = "handlers"

    static func findings(_ facts: DoctorFacts) -> [Finding] {
        guard let configuration = facts.configuration, !configuration.handlers.isEmpty else { return [] }
        let found = configuration.handlers.flatMap { findings($0, facts) }
        let isFine = !found.contains { $0.state == .problem }
        return (isFine ? [.ok(name, "every handler is there")] : []) + found
    }

    private static func findings(_ handler: ConfigurationMessage.Handler, _ facts: DoctorFacts) -> [Finding] {
        if let problem = handler.problem { return [.problem(name, problem)] }
        if handler.way == "unit", facts.handlerUnits[handler.target] == false {
            let option = handler.manager == "user" ? " --user" : ""
            return [
                .problem(
                    name, "the handler of \(handler.app): systemd knows no unit \(handler.target)",
                    hint: "install it and run 'systemctl\(option) daemon-reload', or correct wake.unit")
            ]
        }
        if handler.way == "exec", facts.isSystem, facts.unit?.active == "active" {
            return [
                .note(
                    name, "the handler of \(handler.app) runs in the daemon's sandbox: no home folders, no devices",
                    hint: "give it a unit of its own if it needs them: 'ringwake app add \(handler.app) --unit UNIT'")
            ]
        }
        return []
    }
}

/// Programs that the daemon runs to ring.
enum ProgramCheck {
    static func findings(_ facts: DoctorFacts) -> [Finding] {
        let name = "ring"
        let used = (facts.configuration?.dependencies ?? []).filter { $0.name.hasPrefix("ring.") }
        var findings = used.compactMap { dependency in
            dependency.problem.map { problem in
                Finding.problem(name, "\(dependency.name) \(dependency.path): \(problem)")
            }
        }
        if let why = facts.status?.ring.why {
            findings.append(.warning(name, "the last alert failed: \(why)", hint: "see [ring] of the configuration"))
        }
        guard findings.isEmpty, !used.isEmpty else { return findings }
        return [.ok(name, "what rings is there")]
    }
}

/// The audio server can be reached.
enum AudioCheck {
    private static let name = "audio"

    static func findings(_ facts: DoctorFacts) -> [Finding] {
        let used = (facts.configuration?.dependencies ?? []).filter { $0.name.hasPrefix("audio.") }
        if let broken = used.first(where: { $0.problem != nil }) {
            return [
                .warning(
                    name, "\(broken.name) \(broken.path): \(broken.problem ?? "")",
                    hint: "calls ring; players are not paused for them, and the route is not set")
            ]
        }
        guard let state = facts.audio?.state ?? facts.status?.audio?.state else {
            return facts.missingAudioSocket.map { [missing($0)] } ?? []
        }
        switch state {
        case "off": return [.ok(name, "the daemon uses no audio server")]
        case "unavailable", "lost":
            let why = facts.audio?.why.map { ": \($0)" } ?? ""
            return [
                .warning(
                    name, "the audio server is \(state)\(why)",
                    hint: "start PipeWire or PulseAudio as the daemon's user, or set backend in [audio]")
            ]
        default:
            if state == "idle", let socket = facts.missingAudioSocket { return [missing(socket)] }
            return [.ok(name, "the audio server is \(state)")]
        }
    }

    private static func missing(_ socket: String) -> Finding {
        .warning(
            name, "no audio server listens: there is no \(socket)",
            hint: "start PipeWire or PulseAudio as the daemon's user, or set backend = \"none\" in [audio]")
    }
}
