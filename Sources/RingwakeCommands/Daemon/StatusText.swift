import ControlProtocol
import RingwakeCore

/// The daemon's status for people.
enum StatusText {
    static func text(of status: StatusMessage, backup: LastBackup? = nil, style: TextStyle) -> String {
        var lines = [
            style.bold(TerminalText.printable("ringwaked \(status.version)"))
                + "  pid \(status.pid), up \(DurationText.long(milliseconds: status.uptimeMs))"
                + (status.outOfOrder.isEmpty
                    ? ""
                    : "; " + style.bad("out of order")
                        + TerminalText.printable(": " + status.outOfOrder.joined(separator: ", ")))
        ]
        var paths = TextTable([.left, .left])
        paths.add(["configuration", TerminalText.printable(status.configuration)])
        paths.add(["apps", TerminalText.printable(status.appsDirectory)])
        paths.add(["state", TerminalText.printable(status.stateDirectory)])
        paths.add(["socket", TerminalText.printable(status.controlSocket)])
        lines += paths.lines(indent: 2) + reload(status, style: style) + damage(status, style: style)

        lines += ["", style.bold("connection") + "  " + connection(status, style: style)]
        if let path = status.path {
            lines.append(style.bold("path") + "  " + ReachabilityText.summary(of: path, style: style))
            lines += ways(path)
        }
        lines += ["", style.bold("listeners") + (status.listeners.isEmpty ? "    none" : "")]
        var listeners = TextTable([.left, .left, .left])
        for listener in status.listeners {
            listeners.add([listener.address, listener.environment, count(listener.connections, "connection")])
        }
        lines += listeners.lines(indent: 2)
        for port in status.unusedPorts ?? [] {
            let place = "\(port.address) (\(port.environment))"
            let text = "systemd holds \(place), and a device takes pushes from its gateway only; \(port.remedy)"
            lines.append("  " + style.bad("not used") + ": " + TerminalText.printable(text))
        }
        lines.append(style.bold("certificate") + "  " + certificate(status, style: style))
        for problem in status.problems {
            lines.append(
                "  " + style.bad(problem.severity.rawValue) + ": "
                    + TerminalText.printable("\(problem.file): \(problem.sentence)"))
        }
        lines += ["", style.bold("apps") + "  \(status.apps) configured"]
        lines.append(style.bold("calls") + " \(status.activeCalls) active")

        let refused = status.pushes.refused.values.reduce(UInt64(0)) { $0.addingReportingOverflow($1).partialValue }
        lines.append(style.bold("pushes") + "  \(status.pushes.accepted) accepted, \(refused) refused")
        lines += table(status.pushes.refused)
        if let failed = status.pushes.failedConnections, !failed.isEmpty {
            lines.append("  connections of senders that failed before a push; see 'ringwake push list --refused'")
            lines += table(failed).map { "  " + $0 }
        }
        if let met = status.pushes.limitsMet, !met.isEmpty {
            lines.append("  limits that senders or strangers met; see LIMITS in ringwaked(8)")
            lines += table(met).map { "  " + $0 }
        }
        lines += SenderClockText.lines(status.pushes).map { "  " + style.bad("clock") + ": " + $0 }
        for app in status.pushes.appsWithFaults ?? [] {
            let name = TerminalText.printable(app)
            lines.append(
                "  " + style.bad("pushes to \(name) meet a fault that 'ringwake app fault' has set")
                    + "; end it with 'ringwake app fault \(name) --clear'")
        }
        lines.append(style.bold("journal") + " " + journal(status.journal, style: style))
        if let backup {
            let ago = DurationText.long(milliseconds: backup.agoMs)
            lines.append(style.bold("backup") + "  " + TerminalText.printable("\(ago) ago (\(backup.file))"))
        }
        let strikes = status.strikes.values.reduce(UInt64(0)) { $0.addingReportingOverflow($1).partialValue }
        if strikes > 0 {
            lines.append(style.bold("strikes") + " \(strikes)")
            lines += table(status.strikes)
        }
        for app in status.struckOut {
            let name = TerminalText.printable(app)
            lines.append(
                "  " + style.bad("the daemon no longer starts \(name)")
                    + "; run 'ringwake app clear-strikes \(name)'")
        }
        lines += [""] + DeviceText.lines(of: status, style: style) + [""]
        lines.append(style.bold("wakeups") + "  \(status.wakeups.total)")
        lines += table(status.wakeups.byCause)
        return lines.joined(separator: "\n") + "\n"
    }

    /// What a reload has left behind: an error, settings that wait for a restart, files that are set aside.
    private static func reload(_ status: StatusMessage, style: TextStyle) -> [String] {
        var lines: [String] = []
        if let reload = status.reload {
            let ago = "\(DurationText.long(milliseconds: reload.agoMs)) ago"
            if let why = reload.why {
                lines.append("  " + style.bad("the last reload failed") + TerminalText.printable(" \(ago): \(why)"))
            }
            if !reload.needsRestart.isEmpty {
                let settings = TerminalText.printable(reload.needsRestart.joined(separator: ", "))
                lines.append("  takes effect after a restart only: " + settings)
            }
        }
        return lines + SetAsideText.lines(status.setAside).map { "  " + style.bad(TerminalText.printable($0)) }
    }

    /// What every local user sees.
    static func text(of status: PublicStatusMessage, style: TextStyle) -> String {
        let connection = status.connection.map { ReachabilityText.text(of: $0, style: style) } ?? style.bad("unknown")
        return """
            \(style.bold(TerminalText.printable("ringwaked \(status.version)")))  up \
            \(DurationText.long(milliseconds: status.uptimeMs))
            \(style.bold("connection"))  \(connection)
            For the rest, root adds you to the group ringwake-control.

            """
    }

    /// A clock that can't be right, an identity that another device may have, and what was found damaged or lost.
    private static func damage(_ status: StatusMessage, style: TextStyle) -> [String] {
        var lines: [String] = []
        if let clock = status.clock, let why = clock.why {
            lines.append("  " + style.bad("clock") + TerminalText.printable(": \(why)"))
        }
        if let identity = status.identity {
            lines.append("  " + style.bad("identity") + TerminalText.printable(": \(identity.why)"))
        }
        for damage in status.damage ?? [] {
            lines.append("  " + style.bad("damage") + TerminalText.printable(": \(damage.why)"))
            lines += damage.files.map { "    " + TerminalText.printable($0) }
        }
        return lines
    }

    private static func connection(_ status: StatusMessage, style: TextStyle) -> String {
        guard let connection = status.connection else {
            return style.bad("unknown") + TerminalText.printable(status.reachability.why.map { ": \($0)" } ?? "")
        }
        return ReachabilityText.text(of: connection, style: style)
    }

    /// The gateways and source addresses in use.
    private static func ways(_ path: PathMessage) -> [String] {
        var table = TextTable([.left, .left])
        if !path.gateways.isEmpty { table.add(["via", TerminalText.printable(path.gateways.joined(separator: ", "))]) }
        if !path.sources.isEmpty { table.add(["from", TerminalText.printable(path.sources.joined(separator: ", "))]) }
        return table.lines(indent: 2)
    }

    private static func certificate(_ status: StatusMessage, style: TextStyle) -> String {
        guard let certificate = status.serverCertificate else { return "none" }
        let left =
            certificate.daysLeft < 0
            ? style.bad("expired \(certificate.daysLeft.magnitude) days ago")
            : "\(certificate.daysLeft) days left"
        return TerminalText.printable(certificate.subject) + ", \(left) (\(TerminalText.printable(certificate.file)))"
    }

    private static func journal(_ journal: StatusMessage.Journal, style: TextStyle) -> String {
        let size = journal.bytes < 1024 * 1024 ? "\(journal.bytes / 1024) KiB" : "\(journal.bytes / 1024 / 1024) MiB"
        let content = "\(journal.pushes) pushes, \(journal.calls) calls, \(size) (\(journal.file))"
        let gaveWay = journal.gaveWay.map { ", the disk is full: the oldest \($0) were removed for new ones" } ?? ""
        let damaged = journal.damagedRecords.map { ", " + style.bad("\($0) protected records are damaged") } ?? ""
        guard journal.state != "working" else {
            return "working, " + TerminalText.printable(content) + gaveWay + damaged
        }
        let since = journal.sinceMs.map { " for \(DurationText.long(milliseconds: $0))" } ?? ""
        let why = journal.why.map { ": \($0)" } ?? ""
        return style.bad(TerminalText.printable(journal.state) + since)
            + TerminalText.printable(why) + "\n  " + TerminalText.printable(content)
    }

    /// The counts, the highest first.
    private static func table(_ counts: [String: UInt64]) -> [String] {
        var table = TextTable([.left, .right])
        for (name, count) in counts.sorted(by: { ($1.value, $0.key) < ($0.value, $1.key) }) {
            table.add([TerminalText.printable(name), "\(count)"])
        }
        return table.lines(indent: 2)
    }

    private static func count(_ number: Int, _ noun: String) -> String {
        number == 1 ? "1 \(noun)" : "\(number) \(noun)s"
    }
}
