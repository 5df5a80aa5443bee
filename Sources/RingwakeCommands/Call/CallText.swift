import ControlProtocol

/// Calls for people.
enum CallText {
    static func text(of call: CallMessage, style: TextStyle) -> String {
        var table = TextTable([.left, .left])
        table.add(["app", call.app])
        table.add(["state", state(of: call)])
        if let detail = call.detail { table.add(["detail", detail]) }
        if let caller = call.caller { table.add(["caller", name(call.callerName, caller)]) }
        if call.video { table.add(["video", "yes"]) }
        if call.apnsId != call.call { table.add(["apns-id", call.apnsId]) }
        table.add(["sender", "team \(call.team), \(call.environment)"])
        table.add(["received", call.receivedAt])
        if call.attempt > 1 { table.add(["attempt", "\(call.attempt)"]) }
        if let pid = call.pid { table.add(["handler", "pid \(pid)"]) }
        if let deadline = call.deadlineMs, call.reason == nil {
            table.add(["deadline", "in \(DurationText.until(milliseconds: deadline))"])
        }
        let details = table.lines(indent: 2).map(TerminalText.printable)
        let lines = [style.bold("call " + TerminalText.printable(call.call))] + details + [""]
        return lines.joined(separator: "\n") + "\n"
            + TimelineText.text(of: call.timeline, receivedAt: call.receivedAt, style: style)
    }

    static func text(of list: CallListMessage, style: TextStyle) -> String {
        var table = TextTable([.left, .left, .left, .left, .left])
        for call in list.calls {
            table.add([
                TimelineText.dateAndTime(call.receivedAt), call.call, call.app, state(of: call),
                call.caller.map { name(call.callerName, $0) } ?? "",
            ])
        }
        var text = table.lines().map { TerminalText.printable($0) + "\n" }.joined()
        if list.calls.isEmpty { text = "no calls\n" }
        if let why = list.incomplete {
            text += style.bad("the call log is not complete:") + " \(TerminalText.printable(why))\n"
        }
        return text + ListOptions.more(list.next, style: style)
    }

    private static func state(of call: CallMessage) -> String {
        (call.missed ? "missed" : call.state) + (call.reason.map { " (\($0))" } ?? "")
    }

    private static func name(_ name: String?, _ caller: String) -> String {
        name.map { "\($0) <\(caller)>" } ?? caller
    }
}
