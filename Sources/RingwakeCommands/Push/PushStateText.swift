import ControlProtocol
import RingwakeCore

/// Pushes that the daemon accepted, for people.
enum PushStateText {
    static func text(of push: PushMessage, style: TextStyle) -> String {
        var table = TextTable([.left, .left])
        table.add(["app", push.app])
        table.add(["state", state(of: push)])
        if let detail = push.detail { table.add(["detail", detail]) }
        if let restriction = push.restriction {
            table.add(["blocked by", RestrictionText.kind(restriction.kind)])
            if restriction.detail != push.detail { table.add(["", restriction.detail]) }
        }
        if let remedy = remedy(for: push) { table.add(["to do", remedy]) }
        if push.outcome != "started" { table.add(["outcome", push.outcome]) }
        table.add(["call", push.call])
        if let team = push.team, let environment = push.environment {
            table.add(["sender", "team \(team), \(environment)"])
        }
        if let priority = push.priority { table.add(["priority", "\(priority)"]) }
        if let collapseID = push.collapseId { table.add(["collapse-id", collapseID]) }
        if push.attempt > 1 { table.add(["attempt", "\(push.attempt)"]) }
        table.add(["received", style.times.full(push.receivedAt)])
        let details = table.lines(indent: 2).map(TerminalText.printable)
        let lines = [style.bold("push " + TerminalText.printable(push.pushId))] + details + [""]
        return lines.joined(separator: "\n") + "\n"
            + TimelineText.text(of: push.timeline, receivedAt: push.receivedAt, style: style)
    }

    /// A push for a linked device, as its device says.
    static func text(of receipt: PushReceiptMessage, style: TextStyle) -> String {
        var table = TextTable([.left, .left])
        table.add(["state", receipt.state])
        if let reason = receipt.reason { table.add(["reason", reason]) }
        if let attempt = receipt.attempt, attempt > 1 { table.add(["attempt", "\(attempt)"]) }
        table.add(["received", style.times.full(receipt.receivedAt)])
        let details = table.lines(indent: 2).map(TerminalText.printable)
        let lines = [style.bold("push " + TerminalText.printable(receipt.pushId)) + " for a linked device"] + details
        let text = lines.joined(separator: "\n") + "\n"
        // What waits at the gateway, or was dropped there, has no stages.
        guard !receipt.timeline.isEmpty else { return text }
        return text + "\n"
            + TimelineText.text(of: receipt.timeline, receivedAt: receipt.receivedAt, style: style)
    }

    static func text(of list: PushListMessage, style: TextStyle) -> String {
        guard !list.pushes.isEmpty else { return "no pushes\n" }
        var table = TextTable([.left, .left, .left, .left, .left])
        table.add([style.times.heading, "push", "app", "state", "outcome"])
        for push in list.pushes {
            table.add([
                style.times.short(push.receivedAt), push.pushId, push.app, state(of: push),
                push.outcome == "started" ? "" : push.outcome,
            ])
        }
        return table.list(style: style)
            + ListOptions.more(list.next, style: style)
    }

    /// What to do about an accepted push that woke no handler.
    private static func remedy(for push: PushMessage) -> String? {
        if push.state == PushMessage.State.withheld.rawValue || push.outcome == PushOutcome.withheld.rawValue {
            return "the app's handler has too many strikes: run 'ringwake app clear-strikes \(push.app)'"
        }
        if let restriction = push.restriction {
            return RestrictionText.remedy(restriction.kind, app: push.app)
        }
        switch push.reason.flatMap(CallEndReason.init(rawValue:)) {
        case .blocked: return RestrictionText.remedy(Restriction.Kind.blocked.rawValue, app: push.app)
        case .restricted: return "see 'ringwake dnd' and [restrictions] in ringwaked.toml(5)"
        default: return nil
        }
    }

    /// The state, and why the call ended if the state doesn't show that.
    private static func state(of push: PushMessage) -> String {
        push.state + (push.reason.map { $0 == push.state ? "" : " (\(CallText.reason($0)))" } ?? "")
    }
}
