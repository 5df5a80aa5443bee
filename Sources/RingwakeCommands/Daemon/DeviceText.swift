import ControlProtocol

/// The device resources that the daemon uses, for people.
enum DeviceText {
    static func lines(of status: StatusMessage, style: TextStyle) -> [String] {
        var table = TextTable([.left, .left])
        let dnd = status.doNotDisturb
        table.add([
            "do not disturb", TerminalText.printable(dnd.state) + (dnd.active ? ", calls are blocked now" : ""),
        ])
        table.add([
            "staying awake",
            awake(status.awake) + problem(status.awake.why, style),
        ])
        table.add([
            "cellular calls",
            TerminalText.printable(status.cellular.state) + (status.cellular.active ? ", in a call now" : "")
                + problem(status.cellular.why, style),
        ])
        if let protection = status.protection {
            table.add(["protection", ProtectionText.summary(protection, style: style)])
        }
        if let link = status.link {
            table.add(["link", LinkText.summary(of: link, style: style)])
        }
        if let gateway = status.gateway {
            let counts = "\(gateway.online) of \(gateway.devices) devices online, \(gateway.waiting) pushes wait"
            table.add(["gateway", counts + (gateway.drainedMs == nil ? "" : ", " + style.bad("drained"))])
        }
        if let audio = status.audio {
            let sessions = audio.sessions == 1 ? "1 session" : "\(audio.sessions) sessions"
            table.add([
                "audio",
                TerminalText.printable(audio.state) + ", \(sessions)" + (audio.call ? ", a call's is active now" : ""),
            ])
        }
        if status.ring.ringing > 0 || status.ring.why != nil {
            table.add(["ring", "\(status.ring.ringing) now" + problem(status.ring.why, style)])
        }
        for problem in status.ring.problems ?? [] {
            table.add(["ring", style.bad("cannot ring") + TerminalText.printable(": \(problem)")])
        }
        for (name, bus) in status.buses.sorted(by: { $0.key < $1.key }) {
            table.add([
                "\(TerminalText.printable(name)) bus", TerminalText.printable(bus.state) + problem(bus.why, style),
            ])
        }
        let restoration = status.restoration
        if restoration.restored > 0 || restoration.setAside > 0 {
            let aside = restoration.setAside > 0 ? ", \(restoration.setAside) set aside" : ""
            table.add(["restored", "\(restoration.restored)\(aside)" + problem(restoration.why, style)])
        }
        return [style.bold("device")] + table.lines(indent: 2)
    }

    private static func awake(_ awake: StatusMessage.Awake) -> String {
        guard awake.by != StatusMessage.Awake().by else { return "nothing keeps the machine awake" }
        return "by \(TerminalText.printable(awake.by))" + (awake.needed ? ", for a call now" : "")
    }

    private static func problem(_ why: String?, _ style: TextStyle) -> String {
        why.map { ": " + style.bad(TerminalText.printable($0)) } ?? ""
    }
}
