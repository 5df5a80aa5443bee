import ControlProtocol

/// Formats one event for people.
struct EventText {
    private let event: EventMessage
    private let style: TextStyle

    /// `+12.34 ms  call  ringing  com.example.phone  ID  sip:alice@example.com`
    static func line(of event: EventMessage, style: TextStyle) -> String {
        EventText(event: event, style: style).line
    }

    private var line: String {
        var age = "-"
        if case .call(let call) = event { age = "+" + DurationText.short(microseconds: call.atUs) }
        let (subject, names, more) = parts
        let cells = [age.padded(to: 12), printable(event.name).padded(to: 6)]
        return (cells + [style.bold(printable(subject).padded(to: 10))] + names.compactMap { $0 }.map(printable) + more)
            .joined(separator: "  ")
    }

    /// The event in a word, the names that it is about, and more details.
    private var parts: (subject: String, names: [String?], more: [String]) {
        switch event {
        case .handler(let event): ("", [event.app], [])
        case .wake(let event): ("", [event.app], [])
        case .call(let call):
            (
                call.state,
                [
                    call.app, call.call, call.outgoing == true ? call.caller.map { "to \($0)" } : call.caller,
                    call.identifiedAs.map { "maybe \($0)" },
                ],
                (call.muted ? ["muted"] : [])
                    + reason(call.endReason.map { CallText.reason($0, isOutgoing: call.outgoing == true) })
                    + lost(call.claimMs)
            )
        case .action(let event):
            (
                event.digits.map { "\(event.action) \($0)" } ?? event.action, [event.app, event.call],
                ["within \(DurationText.until(milliseconds: event.deadlineMs))"]
            )
        case .pushRequest(let event): request(event)
        case .pushIgnored(let event): (event.outcome, [event.app, event.call], [])
        case .pushWaiting(let event): (event.kind, [event.app, event.call], [])
        case .strike(let event): (event.failure, [event.app, event.call], [])
        case .struckOut(let event): struckOut(event)
        case .restricted(let event):
            (
                "", [event.app, event.call],
                reason(RestrictionText.kind(event.restriction.kind)) + [printable(event.restriction.detail)]
            )
        case .missed(let event):
            ("", [event.app, event.call, event.caller], reason(event.endReason.map { CallText.reason($0) }))
        case .cellular(let event): (event.active ? "in a call" : "no call", [], [])
        case .audioActivated(let event): ("", [event.app, event.call], audio(event.route))
        case .audioDeactivated(let event): ("", [event.app, event.call], [])
        case .audioFailed(let event):
            ("", [event.app, event.call], reason(event.code) + [printable(event.message)])
        case .audioRouteChanged(let event):
            ("", [event.app, event.call], audio(event.route) + reason(event.changeReason))
        case .path(let event): (event.path.status, [event.app, event.call], path(event.path))
        case .connection(let event): (event.connection, [event.app], reason(event.connectionReason))
        case .credentials(let event): (event.valid ? "renewed" : "none", [event.app], [])
        case .linkReset(let event):
            (
                event.reset.result, [event.gateway, event.reset.code, event.reset.mode],
                reason(event.reset.why) + (event.reset.copies.map { [printable($0)] } ?? [])
            )
        case .stateDropped(let event): ("", [event.app], reason(event.reason))
        case .protectedData(let event):
            (event.state, [], event.deadlineMs.map { ["in " + DurationText.long(milliseconds: $0)] } ?? [])
        case .restrictions(let event):
            ("", [event.app], [AppRestrictionsText.line(of: event.restrictions, style.times)])
        case .telephony(let event): ("", [], [TelephonyText.line(of: event.modems)])
        case .reload, .unknown: ("", [], [])
        }
    }

    private func struckOut(_ event: EventMessage.StruckOut) -> (String, [String?], [String]) {
        guard event.struckOut else { return ("started again", [event.app], []) }
        let remedy = "run 'ringwake app clear-strikes \(printable(event.app))'"
        return ("no longer started", [event.app], [remedy])
    }

    private func request(_ event: EventMessage.PushRequest) -> (String, [String?], [String]) {
        let answer = event.status.map { "\($0)" } ?? event.fault ?? ""
        let detail = event.headers.map { "\($0.name): \($0.value)" } + [event.payload ?? event.payloadBinary ?? ""]
        let lines = detail.filter { !$0.isEmpty }.map { "\n    " + printable($0) }.joined()
        return (
            answer, [event.app, event.pushId, "from \(event.peer)"],
            reason(event.pushReason) + reason(event.cause) + [lines]
        )
    }

    private func lost(_ milliseconds: Int64?) -> [String] {
        guard let milliseconds else { return [] }
        let left = DurationText.until(milliseconds: milliseconds)
        return [style.bad("handler lost") + ", a handler has \(left) to claim the call"]
    }

    private func path(_ path: PathMessage) -> [String] {
        path.interfaces.prefix(1).map { printable("\($0.name) (\($0.type))") }
            + path.sources.prefix(1).map { "from \(printable($0))" } + reason(path.reason)
    }

    private func audio(_ route: AudioRouteMessage) -> [String] {
        [AudioText.line(of: route)] + (route.isInputAvailable == false ? [style.bad("no microphone is connected")] : [])
    }

    private func reason(_ reason: String?) -> [String] { reason.map { ["(\(printable($0)))"] } ?? [] }

    private func printable(_ text: String) -> String { TerminalText.printable(text) }
}

extension String {
    fileprivate func padded(to width: Int) -> String { self + String(repeating: " ", count: max(0, width - count)) }
}
