import ControlProtocol

/// Formats audio sessions for people.
enum AudioText {
    static func text(of status: AudioStatusMessage, style: TextStyle) -> String {
        var table = TextTable([.left, .left])
        table.add(["server", server(status, style: style)])
        addRoute(of: status, to: &table)
        if let pid = status.pid { table.add(["ringwake-audio", "pid \(pid)"]) }
        table.add([
            "sessions",
            "\(status.sessions) open, \(status.active) active" + (status.call ? ", including a call's" : ""),
        ])
        table.add(["active changes", "\(status.effects)"])
        let counters = status.counters
        if counters.activations > 0 {
            let average = counters.activationUs / Int64(clamping: counters.activations)
            table.add([
                "calls activated",
                "\(counters.activations), after \(DurationText.short(microseconds: average)) on average and "
                    + "\(DurationText.short(microseconds: counters.longestActivationUs)) at most",
            ])
        }
        table.add([
            "changes so far",
            "\(counters.effectsMade) made, \(counters.effectsUndone) undone, \(counters.effectsLeft) left because the "
                + "user had changed them",
        ])
        for (code, count) in counters.failures.sorted(by: { ($1.value, $0.key) < ($0.value, $1.key) }) {
            table.add([TerminalText.printable("failed: \(code)"), style.bad("\(count)")])
        }
        return table.lines().joined(separator: "\n") + "\n"
    }

    /// The route, as a table.
    static func route(of status: AudioStatusMessage, style: TextStyle) -> String {
        var table = TextTable([.left, .left])
        if status.route == nil { table.add(["server", server(status, style: style)]) }
        addRoute(of: status, to: &table)
        return table.lines().joined(separator: "\n") + "\n"
    }

    static func text(of list: AudioSessionListMessage, style: TextStyle) -> String {
        guard !list.sessions.isEmpty else { return "no audio session is open\n" }
        var table = TextTable([.right, .left, .left, .left, .left, .right])
        table.add(["id", "state", "category", "options", "name", "open"])
        for session in list.sessions {
            let kind = [session.category, session.mode == "default" ? nil : session.mode].compactMap { $0 }
            let whose = session.app.flatMap { $0 == session.name ? nil : "\(session.name) (\($0))" } ?? session.name
            table.add([
                "\(session.id)", TerminalText.printable(session.state),
                TerminalText.printable(kind.joined(separator: "/")),
                TerminalText.printable(session.options.isEmpty ? "-" : session.options.joined(separator: ",")),
                TerminalText.printable(session.call.map { "\(whose), call \($0)" } ?? whose),
                DurationText.long(milliseconds: session.openMs),
            ])
        }
        return table.list(style: style)
    }

    /// `builtInReceiver (Earpiece) with builtInMicrophone (Microphone)`
    static func line(of route: AudioRouteMessage) -> String {
        let outputs = route.outputs.map(short), inputs = route.inputs.map(short)
        let ways = [outputs, inputs].filter { !$0.isEmpty }.map { $0.joined(separator: " and ") }
        return ways.isEmpty ? "no device" : ways.joined(separator: " with ")
    }

    private static func addRoute(of status: AudioStatusMessage, to table: inout TextTable) {
        if let route = status.route {
            table.add(["output", ports(route.outputs)])
            let lack = route.isInputAvailable == false ? " (no microphone is connected)" : ""
            table.add(["input", ports(route.inputs) + lack])
        }
        if let output = status.output { table.add(["chosen", TerminalText.printable(output)]) }
    }

    private static func server(_ status: AudioStatusMessage, style: TextStyle) -> String {
        let why = status.why.map { ": \(TerminalText.printable($0))" } ?? ""
        switch status.state {
        case "connected":
            guard let server = status.server else { return style.good("connected") }
            let place = server.location.map { ", \($0)" } ?? ""
            return style.good("connected") + TerminalText.printable(": \(server.name) \(server.version)\(place)")
        case "off": return "off: [audio] backend is \"none\"; the daemon notifies handlers and uses no audio server"
        case "idle": return "idle: nothing needs it" + why
        case "starting": return "connecting"
        case "restoring": return "restoring what was changed" + why
        default: return style.bad(TerminalText.printable(status.state)) + why
        }
    }

    /// `bluetoothHFP  Alice's headset  (bluez_output.AA, headset-hf-output)`
    private static func ports(_ ports: [AudioPortMessage]) -> String {
        guard !ports.isEmpty else { return "none" }
        return ports.map { port in
            let place = [port.device, port.port].compactMap { $0 }.joined(separator: ", ")
            return TerminalText.printable(
                [port.kind, port.name, place.isEmpty ? nil : "(\(place))"].compactMap { $0 }.joined(separator: "  "))
        }.joined(separator: ", ")
    }

    private static func short(_ port: AudioPortMessage) -> String {
        TerminalText.printable(port.name.map { "\(port.kind) (\($0))" } ?? port.kind)
    }
}
