import ControlProtocol

/// One event for people.
enum EventText {
    /// `+12.34 ms  call  ringing  com.example.phone  ID  sip:alice@example.com`
    static func line(of event: EventMessage, style: TextStyle) -> String {
        var cells: [String] = []
        cells.append(pad(event.atUs.map { "+" + DurationText.short(microseconds: $0) } ?? "-", to: 12))
        cells.append(pad(event.event, to: 6))
        let words = [event.action, event.state, event.kind, event.connection, event.path?.status]
        let what = words.compactMap { $0 }.first ?? ""
        cells.append(style.bold(pad(TerminalText.printable(what), to: 10)))
        cells += [event.app, event.call, event.caller].compactMap { $0 }.map(TerminalText.printable)
        if let path = event.path {
            cells += path.interfaces.prefix(1).map { TerminalText.printable("\($0.name) (\($0.type))") }
            if let source = path.sources.first { cells.append("from \(TerminalText.printable(source))") }
        }
        if let reason = event.reason ?? event.path?.reason {
            cells.append("(\(TerminalText.printable(reason)))")
        }
        if event.action != nil, let deadline = event.deadlineMs {
            cells.append("within \(DurationText.until(milliseconds: deadline))")
        }
        return cells.joined(separator: "  ")
    }

    private static func pad(_ text: String, to width: Int) -> String {
        text + String(repeating: " ", count: max(0, width - text.count))
    }
}
