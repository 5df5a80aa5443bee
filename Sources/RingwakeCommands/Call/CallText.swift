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
        if call.attempt > 1 { table.add(["attempt", "\(call.attempt)"]) }
        if let pid = call.pid { table.add(["handler", "pid \(pid)"]) }
        if let deadline = call.deadlineMs, call.reason == nil {
            table.add(["deadline", "in \(DurationText.until(milliseconds: deadline))"])
        }
        let details = table.lines(indent: 2).map(TerminalText.printable)
        let lines = [style.bold("call " + TerminalText.printable(call.call))] + details + [""]
        return lines.joined(separator: "\n") + "\n" + timeline(call.timeline, style: style)
    }

    static func text(of calls: [CallMessage], style: TextStyle) -> String {
        guard !calls.isEmpty else { return "no calls\n" }
        var table = TextTable([.left, .left, .left, .left])
        for call in calls {
            table.add([call.call, call.app, state(of: call), call.caller.map { name(call.callerName, $0) } ?? ""])
        }
        return table.lines().map(TerminalText.printable).joined(separator: "\n") + "\n"
    }

    /// Each stage with the time since the push arrived and the step since the stage before.
    static func timeline(_ timeline: [CallMessage.Hop], style: TextStyle) -> String {
        var table = TextTable([.left, .right, .right])
        table.add(["stage", "since push", "step"])
        var previous: Int64?
        for hop in timeline {
            let step = previous.map { hop.atUs.subtractingReportingOverflow($0).partialValue }
            table.add([
                TerminalText.printable(hop.stage), DurationText.short(microseconds: hop.atUs),
                step.map { "+" + DurationText.short(microseconds: $0) } ?? "",
            ])
            previous = hop.atUs
        }
        var lines = table.lines(indent: 2)
        lines[0] = style.dim(lines[0])
        return lines.joined(separator: "\n") + "\n"
    }

    private static func state(of call: CallMessage) -> String {
        call.state + (call.reason.map { " (\($0))" } ?? "")
    }

    private static func name(_ name: String?, _ caller: String) -> String {
        name.map { "\($0) <\(caller)>" } ?? caller
    }
}
