import ControlProtocol
import RingwakeCore

/// Links and gateways for people.
enum LinkText {
    static func text(of gateway: GatewayMessage, style: TextStyle) -> String {
        var table = TextTable([.left, .left])
        let ports = [gateway.address, gateway.onPushPorts ? "the ports for pushes" : nil].compactMap { $0 }
        table.add(["port", ports.isEmpty ? "none" : ports.joined(separator: ", and ")])
        if let time = gateway.drainedMs {
            let since = "for \(DurationText.long(milliseconds: time)); it takes no links"
            table.add(["drained", style.bad(since)])
        }
        table.add(["pairing", gateway.admission == "open" ? "open to everybody" : "by invitation"])
        if gateway.invitations > 0 { table.add(["invitations", "\(gateway.invitations) open"]) }
        table.add(["devices", "\(gateway.devices) paired, \(gateway.online) online"])
        table.add(["waiting", "\(gateway.waiting) pushes"])
        table.add(["settled", "\(gateway.acknowledged) pushes, \(gateway.dropped) dropped"])
        table.add(["links", "\(gateway.linked) made, \(gateway.unlinked) ended, \(gateway.refused) refused"])
        return ([style.bold("gateway")] + table.lines(indent: 2)).joined(separator: "\n") + "\n"
    }

    static func text(of devices: [LinkedDeviceMessage], style: TextStyle) -> String {
        guard !devices.isEmpty else { return "no device is paired; 'ringwake gateway invite' makes a code\n" }
        var table = TextTable([.left, .left, .left, .right, .left])
        table.add(["NAME", "ID", "STATE", "WAITING", "APPS"].map { style.bold($0) })
        for device in devices {
            let apps = Set(device.apps.map(\.app)).sorted().joined(separator: ", ")
            table.add([
                TerminalText.printable(device.name), String(device.device.prefix(8)), state(device),
                "\(device.waiting)", apps.isEmpty ? "none" : TerminalText.printable(apps),
            ])
        }
        return table.lines(indent: 0).joined(separator: "\n") + "\n"
    }

    private static func state(_ device: LinkedDeviceMessage) -> String {
        guard let target = device.movesTo else { return device.state }
        return TerminalText.printable(
            device.state == "moved" ? "moved to \(target)" : "\(device.state), moves to \(target)")
    }

    static func text(of invitation: InvitationMessage, style: TextStyle) -> String {
        // An invitation that was just made is for ten minutes, not for nine.
        let minutes = (invitation.expiresInMs + 59_999) / 60_000
        var lines = [
            "On the device, within \(minutes) min:", "",
            "  ringwake link pair '\(TerminalText.printable(invitation.link))'", "",
            "or, to type:", "",
        ]
        let pin = invitation.pin.map { " --pin \($0)" } ?? ""
        lines.append("  ringwake link pair \(TerminalText.printable(invitation.gateway)) \(invitation.code)\(pin)")
        switch invitation.pins {
        case "ca":
            lines += ["", "The pin is the key of the CA: every certificate of this CA may replace the present one."]
        case "key":
            lines += ["", "The pin is the gateway's own key: renew its certificate with the same key."]
        default: break
        }
        return lines.joined(separator: "\n") + "\n"
    }

    static func text(of link: LinkMessage, style: TextStyle) -> String {
        guard let gateway = link.gateway else {
            return "not paired with a gateway; 'ringwake gateway invite' there makes a code\n"
        }
        var table = TextTable([.left, .left])
        table.add(["state", link.state == "linked" ? style.good(link.state) : style.bad(link.state)])
        table.add(["gateway", TerminalText.printable(gateway)])
        if let other = link.visiting { table.add(["uses now", TerminalText.printable(other)]) }
        if let former = link.leaving { table.add(["leaving", TerminalText.printable(former)]) }
        if let other = link.notFollowed {
            table.add(["not followed", TerminalText.printable("\(other.gateway): \(other.why)")])
        }
        table.add(["trust", trust(link)])
        if let device = link.device { table.add(["device", device]) }
        if let time = link.linkedMs { table.add(["since", DurationText.long(milliseconds: time)]) }
        if let time = link.retryInMs, link.state == "waiting" {
            table.add(["next attempt", "in " + DurationText.long(milliseconds: time)])
        }
        if let seconds = link.keepAliveSeconds {
            let parts = [
                "every \(seconds) s, by the gateway", link.keepAliveTriedSeconds.map { "\($0) s is being tried" },
                link.keepAliveFailedSeconds.map { "\($0) s failed" },
                link.keepAliveLongestSeconds.map { "\($0) s at most" },
            ]
            table.add(["keep-alive", parts.compactMap { $0 }.joined(separator: "; ")])
        }
        if let wakeup = link.wakeup { table.add(["wakes by", TerminalText.printable(text(of: wakeup))]) }
        if let received = link.received { table.add(["pushes", "\(received)"]) }
        if let here = link.revision {
            let there = link.gatewayRevision.map { "\($0)" } ?? "none"
            table.add(["registrations", "revision \(here), the gateway has \(there)"])
        }
        if let end = link.lastEnd {
            let ago = DurationText.long(milliseconds: end.agoMs)
            table.add(["last end", "\(TerminalText.printable(end.why)), \(ago) ago"])
        }
        if let reset = link.reset {
            let advice = reset.isWaiting ? "; run 'ringwake link reset --now'" : ""
            table.add(["reset", TerminalText.printable("\(reset.result): \(reset.why)\(advice)")])
            if let copies = reset.copies { table.add(["copies", TerminalText.printable(copies)]) }
        }
        var lines = [style.bold("link")] + table.lines(indent: 2)
        if let problem = link.problem {
            lines.append("  " + style.bad("problem") + ": " + TerminalText.printable(problem))
        }
        return lines.joined(separator: "\n") + "\n"
    }

    /// A line for the daemon's status.
    static func summary(of link: LinkMessage, style: TextStyle) -> String {
        let state = TerminalText.printable("\(link.state), gateway \(link.gateway ?? "none")")
        guard let problem = link.problem else { return state }
        return state + "; " + style.bad("problem") + TerminalText.printable(": \(problem)")
    }

    private static func text(of wakeup: LinkMessage.Wakeup) -> String {
        switch LinkMessage.Wakeup.State(rawValue: wakeup.state) {
        case .enabled: "\(wakeup.interface), if its driver does"
        case .disabled: "nothing: 'disabled' is in \(wakeup.file ?? wakeup.interface)"
        default: "nothing that is known: the kernel doesn't say whether \(wakeup.interface) can"
        }
    }

    private static func trust(_ link: LinkMessage) -> String {
        switch link.trust {
        case "pin": "the pinned key or CA"
        case "authorities": "the CA given at pairing"
        default: "the CAs of this system"
        }
    }
}
