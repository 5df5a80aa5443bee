import ControlProtocol

/// One event for people.
enum EventText {
    /// `+12.34 ms  call  ringing  com.example.phone  ID  sip:alice@example.com`
    static func line(of event: EventMessage, style: TextStyle) -> String {
        var cells: [String] = []
        cells.append(pad(event.atUs.map { "+" + DurationText.short(microseconds: $0) } ?? "-", to: 12))
        cells.append(pad(event.event, to: 6))
        let what = [event.action, event.state, event.kind].compactMap { $0 }.first ?? ""
        cells.append(style.bold(pad(TerminalText.printable(what), to: 10)))
        cells += [event.app, event.call, event.caller].compactMap { $0 }.map(TerminalText.printable)
        if let reason = event.reason {
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
