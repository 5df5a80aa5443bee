import ControlProtocol
import RingwakeCore

/// Formats calls for people.
enum CallText {
    static func text(of call: CallMessage, style: TextStyle) -> String {
        var table = TextTable([.left, .left])
        table.add(["app", call.app])
        table.add(["state", state(of: call)])
        if let detail = call.detail { table.add(["detail", detail]) }
        if !caller(of: call).isEmpty { table.add([call.outgoing == true ? "to" : "caller", caller(of: call)]) }
        if let restriction = call.restriction {
            table.add(["blocked by", RestrictionText.kind(restriction.kind)])
            if restriction.detail != call.detail { table.add(["", restriction.detail]) }
        }
        if call.video { table.add(["video", "yes"]) }
        if call.supportsHold == false { table.add(["hold", "not possible"]) }
        if call.supportsDTMF == false { table.add(["digits", "not possible"]) }
        if call.muted { table.add(["muted", "yes"]) }
        if let conference = call.conference { table.add(["conference", "\(conference)"]) }
        if let audio = call.audio { table.add(["audio", text(of: audio)]) }
        for action in call.pending { table.add(["pending", text(of: action)]) }
        if let push = call.pushId, push != call.call { table.add(["push", push]) }
        if let team = call.team, let environment = call.environment {
            table.add(["sender", "team \(team), \(environment)"])
        }
        table.add([call.outgoing == true ? "begun" : "received", style.times.full(call.receivedAt)])
        if call.attempt > 1 { table.add(["attempt", "\(call.attempt)"]) }
        if call.ringer != "app" { table.add(["ringer", call.ringer]) }
        if let pid = call.pid { table.add(["handler", "pid \(pid)"]) }
        if let left = call.claimMs {
            table.add(["handler", "lost; a handler has \(DurationText.until(milliseconds: left)) to claim the call"])
        }
        if let deadline = call.deadlineMs, call.reason == nil {
            table.add(["deadline", "in \(DurationText.until(milliseconds: deadline))"])
        }
        let details = table.lines(indent: 2).map(TerminalText.printable)
        let lines = [style.bold("call " + TerminalText.printable(call.call))] + details + [""]
        return lines.joined(separator: "\n") + "\n"
            + TimelineText.text(
                of: call.timeline, receivedAt: call.receivedAt, since: call.outgoing == true ? "request" : "push",
                style: style)
    }

    static func text(of list: CallListMessage, style: TextStyle) -> String {
        var table = TextTable([.left, .left, .left, .left, .left])
        table.add([style.times.heading, "call", "app", "state", "caller"])
        for call in list.calls {
            table.add([
                style.times.short(call.receivedAt), call.call, call.app, state(of: call),
                ([other(of: call)] + remarks(on: call)).filter { !$0.isEmpty }.joined(separator: "  "),
            ])
        }
        var text = list.calls.isEmpty ? "no calls\n" : table.list(style: style)
        if let why = list.incomplete {
            text += style.bad("the call log is incomplete:") + " \(TerminalText.printable(why))\n"
        }
        return text + ListOptions.more(list.next, style: style)
    }

    /// `ID: connected, pending: hold`
    static func summary(of call: CallMessage) -> String {
        "\(call.call): \(call.state)" + reason(of: call)
            + (pending(of: call).map { ", \($0)" } ?? "")
    }

    /// `Alice <sip:alice@example.org>, ringing`: what tells one call from the others in a sentence.
    static func short(of call: CallMessage) -> String {
        [other(of: call), state(of: call)].filter { !$0.isEmpty }.joined(separator: ", ")
    }

    /// Why a call ended, in words; an unknown reason is printed as received.
    static func reason(_ reason: String, isOutgoing: Bool = false) -> String {
        CallEndReason(rawValue: reason)?.words(isOutgoing: isOutgoing) ?? reason
    }

    /// `active on Headset`, `failed (mediaServicesFailed): WHY`
    private static func text(of audio: CallAudioMessage) -> String {
        let outputs = (audio.route?.outputs ?? []).map { $0.name ?? $0.kind }
        return audio.state + (outputs.isEmpty ? "" : " on " + outputs.joined(separator: ", "))
            + (audio.code.map { " (\($0))" } ?? "") + (audio.why.map { ": \($0)" } ?? "")
    }

    /// Pending actions that the state doesn't show.
    private static func pending(of call: CallMessage) -> String? {
        let actions = call.pending.map(\.action).filter { !["answer", "start", "end"].contains($0) }
        return actions.isEmpty ? nil : "pending: " + actions.joined(separator: ", ")
    }

    private static func state(of call: CallMessage) -> String {
        (call.missed ? "missed" : call.state) + reason(of: call)
    }

    /// ` (caller hung up)`; empty before the end.
    static func reason(of call: CallMessage) -> String {
        call.reason.map { " (\(reason($0, isOutgoing: call.outgoing == true)))" } ?? ""
    }

    /// `NAME <HANDLE>`, and the name from an identification list; empty if nothing is known.
    private static func caller(of call: CallMessage) -> String {
        let said = call.caller.map { caller in call.callerName.map { "\($0) <\(caller)>" } ?? caller }
        let locked = call.lockedBy.map { "locked (\($0))" }
        let words = [said, call.identifiedAs.map { "maybe \($0)" }, locked].compactMap { $0 }
        return words.joined(separator: ", ")
    }

    /// The caller, or `to` and who is called.
    private static func other(of call: CallMessage) -> String {
        let other = caller(of: call)
        return call.outgoing == true && !other.isEmpty ? "to \(other)" : other
    }

    /// Remarks in a line of the list, after the state.
    private static func remarks(on call: CallMessage) -> [String] {
        var words: [String] = []
        if call.muted { words.append("muted") }
        if let conference = call.conference { words.append("conference \(conference)") }
        if let restriction = call.restriction { words.append("blocked by \(RestrictionText.kind(restriction.kind))") }
        if call.claimMs != nil { words.append("handler lost") }
        if let pending = pending(of: call) { words.append(pending) }
        return words
    }

    /// `dtmf 12#, within 9.00 s`
    private static func text(of action: PendingActionMessage) -> String {
        "\(action.action)" + (action.digits.map { " \($0)" } ?? "") + (action.with.map { " with \($0)" } ?? "")
            + ", within \(DurationText.until(milliseconds: action.deadlineMs))"
    }
}
