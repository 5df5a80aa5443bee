import ControlProtocol

/// Handlers can be woken.
enum HandlerCheck {
    static let name = "handlers"

    static func findings(_ facts: DoctorFacts) -> [Finding] {
        guard let configuration = facts.configuration, !configuration.handlers.isEmpty else { return [] }
        let found = configuration.handlers.flatMap { findings($0, facts) } + (facts.apps ?? []).flatMap { gaps(of: $0) }
        let isFine = !found.contains { $0.state == .problem }
        return (isFine ? [.ok(name, "every handler is there")] : []) + found
    }

    /// A handler whose RingwakeKit and the daemon are of different versions, and what one side lacks.
    private static func gaps(of app: AppMessage) -> [Finding] {
        (app.kits ?? []).filter { !$0.gaps.isEmpty }.map { kit in
            let text = "\(app.app) uses RingwakeKit \(kit.version): \(kit.gaps.joined(separator: "; "))"
            let older =
                kit.daemonLacks.isEmpty ? "build the app with the daemon's version of RingwakeKit" : "upgrade ringwaked"
            return kit.daemonLacks.isEmpty ? .note(name, text, hint: older) : .warning(name, text, hint: older)
        }
    }

    private static func findings(_ handler: ConfigurationMessage.Handler, _ facts: DoctorFacts) -> [Finding] {
        if let problem = handler.problem { return [.problem(name, problem)] }
        if handler.way == "unit" { return HandlerUnitCheck.findings(handler, facts) }
        if handler.way == "dbus", facts.knownNames[handler.target] == false {
            return [
                .problem(
                    name,
                    "the handler of \(handler.app): nobody owns \(handler.target) on the \(handler.bus ?? "system") bus, "
                        + "and the bus knows no service of that name to start",
                    hint: "start the app, or install its .service file below /usr/share/dbus-1")
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
        // The daemon looks from within its unit's sandbox, which hides more.
        let problems = facts.status?.ring.problems ?? used.compactMap(\.fault)
        var findings = problems.map { Finding.problem(name, $0) }
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
