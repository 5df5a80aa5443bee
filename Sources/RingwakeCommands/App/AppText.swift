import ControlProtocol
import RingwakeCore

/// Formats apps for people.
enum AppText {
    static func text(of app: AppMessage, style: TextStyle) -> String {
        var table = TextTable([.left, .left])
        table.add(["topic", TerminalText.printable(app.topic)])
        table.add(["state", app.state == "broken" ? style.bad("broken") : TerminalText.printable(app.state)])
        if let why = app.why {
            let effect = app.state == "broken" ? "its handler is not started" : "what it said before is in force"
            table.add(["", TerminalText.printable("the file is wrong, \(effect): \(why)")])
        }
        if let connection = app.connection {
            table.add(["connection", ReachabilityText.text(of: connection, style: style)])
            for target in connection.targets ?? [] {
                table.add(["target", ReachabilityText.line(of: target, style: style)])
            }
        }
        for (environment, token) in app.tokens.sorted(by: { $0.key < $1.key }) {
            table.add(["token", "\(TerminalText.printable(token)) (\(TerminalText.printable(environment)))"])
        }
        for (environment, address) in (app.pushAddresses ?? [:]).sorted(by: { $0.key < $1.key }) {
            table.add(["push to", "\(TerminalText.printable(address)) (\(TerminalText.printable(environment)))"])
        }
        for fault in app.faults ?? [] { table.add(["fault", style.bad(TerminalText.printable(text(of: fault)))]) }
        table.add(["wake", way(of: app)])
        if !app.exec.isEmpty { table.add(["exec", command(app.exec)]) }
        table.add(["handlers", app.instances == "call" ? "one for each call" : "one for all calls"])
        if app.connected > 0 { table.add(["connected", "\(app.connected)"]) }
        for kit in app.kits ?? [] {
            table.add([
                "kit", TerminalText.printable((["RingwakeKit \(kit.version)"] + kit.gaps).joined(separator: "; ")),
            ])
        }
        if let payload = app.payload { table.add(["payload", TerminalText.printable(payload)]) }
        if let level = app.level { table.add(["level", "\(level)"]) }
        if let teams = teams(of: app) { table.add(["teams", TerminalText.printable(teams)]) }
        if let vendor = app.vendorIdentifier {
            table.add(["vendor", TerminalText.printable(vendor + (app.vendor.map { " (\($0))" } ?? ""))])
        }
        if let saved = app.savedState {
            for (index, line) in SavedStateText.lines(of: saved).enumerated() {
                table.add([index == 0 ? "saved state" : "", TerminalText.printable(line)])
            }
        }
        table.add(["strikes", strikes(of: app, style: style)])
        for strike in app.strikes.recent {
            table.add(["", TerminalText.printable(text(of: strike))])
        }
        table.add(["file", TerminalText.printable(app.file)])
        let lines = [style.bold(TerminalText.printable(app.app))] + table.lines(indent: 2)
        return lines.joined(separator: "\n") + "\n"
    }

    static func text(of apps: [AppMessage], style: TextStyle) -> String {
        guard !apps.isEmpty else {
            return "no apps; add one with 'ringwake app add ID --exec PATH'\n"
        }
        var table = TextTable([.left, .left, .left])
        table.add(["app", "state", "handler"])
        for app in apps {
            let state = app.strikes.struckOut ? "struck out" : app.state
            table.add([
                TerminalText.printable(app.app), TerminalText.printable(state),
                app.exec.isEmpty ? way(of: app) : command(app.exec),
            ])
        }
        return table.list(style: style)
    }

    /// Who may push to the app; nil if its daemon doesn't know it any more.
    private static func teams(of app: AppMessage) -> String? {
        let own = app.teams.joined(separator: ", ")
        if let gateway = app.gateway { return (own.isEmpty ? "" : own + ", and ") + "those of the gateway \(gateway)" }
        if !own.isEmpty { return own }
        guard app.state == "registered" else { return nil }
        return app.onlyGateway == true
            ? "those of the gateway; this device is not paired with one: run 'ringwake link pair'"
            : "none, so every push is refused; add one: 'ringwake team add ID --app \(app.app)'"
    }

    /// How the handler is woken.
    private static func way(of app: AppMessage) -> String {
        // The command has a row of its own.
        let what = app.exec.isEmpty && !app.wake.isEmpty ? " \(app.wake)" : ""
        return TerminalText.printable(app.way + what)
    }

    /// `2 of 5 in 1 h 0 min`
    private static func strikes(of app: AppMessage, style: TextStyle) -> String {
        let strikes = app.strikes
        var text = "\(strikes.count)"
        if strikes.limit > 0 {
            text += " of \(strikes.limit) in \(DurationText.long(milliseconds: strikes.windowMs))"
        }
        guard strikes.struckOut else { return text }
        return text + ": " + style.bad("the daemon no longer starts its handler")
            + "; run 'ringwake app clear-strikes \(TerminalText.printable(app.app))'"
    }

    private static func text(of strike: StrikeMessage) -> String {
        "\(DurationText.long(milliseconds: strike.agoMs)) ago: \(StrikeText.text(of: strike.failure)) "
            + "(call \(strike.call))"
    }

    /// `BadDeviceToken (development), after 2 pushes, for 3 pushes, for 59.8 s`
    private static func text(of fault: PushFaultMessage) -> String {
        let delay = fault.delayMs.map { " of " + DurationText.short(milliseconds: $0) } ?? ""
        let parts = [
            fault.after.map { "after \($0) \($0 == 1 ? "push" : "pushes")" },
            fault.count.map { "for \($0) \($0 == 1 ? "push" : "pushes")" },
            fault.forMs.map { "for \(DurationText.until(milliseconds: $0))" },
        ]
        let name = fault.fault + delay + (fault.environment.map { " (\($0))" } ?? "")
        return ([name] + parts.compactMap { $0 }).joined(separator: ", ")
    }

    /// A command line, with quotes around words that a shell would split or expand.
    private static func command(_ words: [String]) -> String {
        let quoted = words.map { word in
            let isPlain = !word.isEmpty && word.allSatisfy { $0.isLetter || $0.isNumber || "/-_.=:,@%+".contains($0) }
            return isPlain ? word : "'" + word.replacing("'", with: "'\\''") + "'"
        }
        return TerminalText.printable(quoted.joined(separator: " "))
    }
}

extension KitMessage {
    /// What the two sides lack of each other, for people; empty if nothing.
    var gaps: [String] {
        [("it lacks", lacks), ("the daemon lacks", daemonLacks)].compactMap { side, names in
            names.isEmpty ? nil : "\(side) \(names.joined(separator: ", "))"
        }
    }
}

/// Describes the failures of handlers, for people.
enum StrikeText {
    /// An unknown failure is printed as received.
    static func text(of failure: String) -> String {
        switch HandlerFailure(rawValue: failure) {
        case .didNotStart: "it did not start"
        case .didNotReport: "it did not report its call in time"
        case .didNotConfirm: "it did not confirm its call in time"
        case .didNotAct: "it did not do in time what the user asked for"
        case .exited: "it exited during a call"
        case .didNotClaim: "it did not claim its call in time"
        case nil: failure
        }
    }
}
