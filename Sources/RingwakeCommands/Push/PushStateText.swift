import ControlProtocol

/// Pushes that the daemon has taken, for people.
enum PushStateText {
    static func text(of push: PushMessage, style: TextStyle) -> String {
        var table = TextTable([.left, .left])
        table.add(["app", push.app])
        table.add(["state", state(of: push)])
        if let detail = push.detail { table.add(["detail", detail]) }
        if push.outcome != "started" { table.add(["outcome", push.outcome]) }
        table.add(["call", push.call])
        table.add(["sender", "team \(push.team), \(push.environment)"])
        if let priority = push.priority { table.add(["priority", "\(priority)"]) }
        if let collapseID = push.collapseId { table.add(["collapse-id", collapseID]) }
        if push.attempt > 1 { table.add(["attempt", "\(push.attempt)"]) }
        table.add(["received", push.receivedAt])
        let details = table.lines(indent: 2).map(TerminalText.printable)
        let lines = [style.bold("push " + TerminalText.printable(push.apnsId))] + details + [""]
        return lines.joined(separator: "\n") + "\n"
            + TimelineText.text(of: push.timeline, receivedAt: push.receivedAt, style: style)
    }

    static func text(of list: PushListMessage, style: TextStyle) -> String {
        guard !list.pushes.isEmpty else { return "no pushes\n" }
        var table = TextTable([.left, .left, .left, .left, .left])
        for push in list.pushes {
            table.add([
                TimelineText.dateAndTime(push.receivedAt), push.apnsId, push.app, state(of: push),
                push.outcome == "started" ? "" : push.outcome,
            ])
        }
        return table.lines().map(TerminalText.printable).joined(separator: "\n") + "\n"
            + ListOptions.more(list.next, style: style)
    }

    /// The state, and where it does not say it already, why the call ended.
    private static func state(of push: PushMessage) -> String {
        push.state + (push.reason.map { $0 == push.state ? "" : " (\($0))" } ?? "")
    }
}
