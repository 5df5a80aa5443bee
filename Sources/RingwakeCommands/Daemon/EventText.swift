import ControlProtocol

/// One event for people.
enum EventText {
    /// `+12.34 ms  call  ringing  com.example.phone  ID  sip:alice@example.com`
    static func line(of event: EventMessage, style: TextStyle) -> String {
        var cells: [String] = []
        cells.append(pad(event.atUs.map { "+" + DurationText.short(microseconds: $0) } ?? "-", to: 12))
        cells.append(pad(TerminalText.printable(event.event), to: 6))
        let words = [
            event.action.map { action in event.digits.map { "\(action) \($0)" } ?? action }, event.state, event.kind,
            event.audio,
            event.connection, event.path?.status, event.active.map { word(for: event.event, isActive: $0) },
        ]
        let what = words.compactMap { $0 }.first ?? ""
        cells.append(style.bold(pad(TerminalText.printable(what), to: 10)))
        let names = [event.app, event.call, event.caller, event.identifiedAs.map { "maybe \($0)" }]
        cells += names.compactMap { $0 }.map(TerminalText.printable)
        if event.muted == true { cells.append("muted") }
        if let path = event.path {
            cells += path.interfaces.prefix(1).map { TerminalText.printable("\($0.name) (\($0.type))") }
            if let source = path.sources.first { cells.append("from \(TerminalText.printable(source))") }
        }
        if let route = event.route { cells.append(AudioText.line(of: route)) }
        if let reason = event.reason ?? event.code ?? event.path?.reason {
            let text = event.event == "restricted" ? RestrictionText.kind(reason) : reason
            cells.append("(\(TerminalText.printable(text)))")
        }
        if let detail = event.detail { cells.append(TerminalText.printable(detail)) }
        if let left = event.claimMs {
            cells.append(style.bad("handler lost") + ", to be claimed within \(DurationText.until(milliseconds: left))")
        }
        if event.action != nil, let deadline = event.deadlineMs {
            cells.append("within \(DurationText.until(milliseconds: deadline))")
        }
        if event.event == "struckOut", event.active == true, let app = event.app {
            cells.append("'ringwake app clear-strikes \(TerminalText.printable(app))' gives it another chance")
        }
        return cells.joined(separator: "  ")
    }

    /// What an event that says that something is so, or no more, is called.
    private static func word(for event: String, isActive: Bool) -> String {
        switch event {
        case "struckOut": isActive ? "not started any more" : "started again"
        case "cellular": isActive ? "in a call" : "no call"
        default: isActive ? "on" : "off"
        }
    }

    private static func pad(_ text: String, to width: Int) -> String {
        text + String(repeating: " ", count: max(0, width - text.count))
    }
}
