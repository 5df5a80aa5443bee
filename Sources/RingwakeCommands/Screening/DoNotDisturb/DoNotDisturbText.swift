import ControlProtocol

/// Do not disturb, for people.
enum DoNotDisturbText {
    static func text(of message: DoNotDisturbMessage, style: TextStyle) -> String {
        let head =
            message.active
            ? style.bad("calls are blocked") : message.state == "off" ? "calls ring" : "calls ring now"
        var table = TextTable([.left, .left])
        table.add(["why", message.why])
        if let until = message.until { table.add(["until", LocalTimeText.dateAndTime(until)]) }
        add("schedule", message.schedule, to: &table)
        table.add([
            "repeat",
            message.repeatWithinMs.map {
                "a second call of the same caller within \(DurationText.long(milliseconds: $0)) rings"
            } ?? "off",
        ])
        add("apps that ring", message.allowApps, to: &table)
        add("callers that ring", message.allowCallers, to: &table)
        let lines = [head] + table.lines(indent: 2).map(TerminalText.printable)
        return lines.joined(separator: "\n") + "\n"
    }

    private static func add(_ name: String, _ values: [String], to table: inout TextTable) {
        for (index, value) in values.enumerated() {
            table.add([index == 0 ? name : "", value])
        }
    }
}
