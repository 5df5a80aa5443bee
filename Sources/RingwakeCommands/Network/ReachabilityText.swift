import ControlProtocol
import Reachability

/// Formats reachability for people.
enum ReachabilityText {
    /// `sip.example.org  reachable via 192.0.2.1 on wlan0 (wifi), from 192.0.2.7  [reachable, transientConnection]`, and
    /// for a host name `looked up 2026-11-24T18:00:00.000Z: 198.51.100.7`.
    static func line(of target: TargetMessage, style: TextStyle) -> String {
        guard let time = target.resolvedAt else { return way(to: target, style: style) }
        let addresses = target.addresses ?? []
        let found = addresses.isEmpty ? "" : ": \(list(addresses))"
        return "\(way(to: target, style: style))  looked up \(TerminalText.printable(time))\(found)"
    }

    private static func way(to target: TargetMessage, style: TextStyle) -> String {
        let name = style.bold(TerminalText.printable(target.target))
        guard target.status != NetworkPath.Status.unsatisfied.rawValue else {
            let place = target.interface.map { " (\(TerminalText.printable($0)))" } ?? ""
            return "\(name)  \(style.bad("not reachable")): \(why(target.reason))\(place)"
        }
        var way = target.reachable ? style.good("reachable") : style.bad("needs a connection first")
        if let gateway = target.gateway { way += " via \(TerminalText.printable(gateway))" }
        if let interface = target.interface { way += " on \(named(interface, target.interfaceType))" }
        if let source = target.source { way += ", from \(TerminalText.printable(source))" }
        let flags = target.flags + properties(target.isExpensive, target.isConstrained)
        return "\(name)  \(way)  [\(TerminalText.printable(flags.joined(separator: ", ")))]"
    }

    /// The network path, as a table.
    static func text(of path: PathMessage, style: TextStyle) -> String {
        var table = TextTable([.left, .left])
        table.add(["path", summary(of: path, style: style)])
        if !path.gateways.isEmpty { table.add(["gateways", list(path.gateways)]) }
        if !path.sources.isEmpty { table.add(["sources", list(path.sources)]) }
        let supported = [("IPv4", path.supportsIPv4), ("IPv6", path.supportsIPv6), ("DNS", path.supportsDNS)]
        table.add(["supports", supported.filter(\.1).map(\.0).joined(separator: ", ").orNone])
        let properties = properties(path.isExpensive, path.isConstrained)
        if !properties.isEmpty { table.add(["is", list(properties)]) }
        return table.lines().joined(separator: "\n") + "\n"
    }

    /// `satisfied, wlan0 (wifi), then wwan0 (cellular)`
    static func summary(of path: PathMessage, style: TextStyle) -> String {
        let isSatisfied = path.status == NetworkPath.Status.satisfied.rawValue
        let status = TerminalText.printable(path.status)
        var text = isSatisfied ? style.good(status) : style.bad(status)
        if let reason = path.reason { text += ": \(why(reason))" }
        let interfaces = path.interfaces.map { named($0.name, $0.type) }
        if !interfaces.isEmpty { text += ", " + interfaces.joined(separator: ", then ") }
        return text
    }

    /// `limited: no name server is reachable`
    static func text(of connection: ConnectionMessage, style: TextStyle) -> String {
        text(of: connection.status, why: connection.why, style: style)
    }

    static func text(of status: String, why reason: String?, style: TextStyle) -> String {
        let word = TerminalText.printable(status)
        return (status == "online" ? style.good(word) : style.bad(word)) + (reason.map { ": \(why($0))" } ?? "")
    }

    /// `monitor: working, filter level 3 of 4 (Cannot allocate memory), 12 resynchronizations, ...`
    static func line(of monitor: ReachabilityMessage) -> String {
        let why = monitor.why.map { " (\($0))" } ?? ""
        let counts = [
            "resynchronizations \(monitor.resynchronizations)", "overruns \(monitor.overruns)",
            "foreign messages \(monitor.foreignMessages)", "throttles \(monitor.throttles)",
        ]
        return TerminalText.printable(
            "monitor: \(monitor.state), filter level \(monitor.filterLevel) of \(monitor.wantedFilterLevel)\(why), "
                + counts.joined(separator: ", "))
    }

    /// A reason as part of a sentence; an unknown reason is printed as received.
    static func why(_ reason: String?) -> String {
        guard let reason else { return "for an unknown reason" }
        switch reason {
        case "someTargetsUnreachable": return "some of its targets are not reachable"
        case "noNameServer": return "no name server is reachable"
        case "constrained": return "apps should use the interface sparingly"
        default: return UnsatisfiedReason(rawValue: reason)?.explanation ?? TerminalText.printable(reason)
        }
    }

    private static func named(_ interface: String, _ type: String?) -> String {
        TerminalText.printable(type.map { "\(interface) (\($0))" } ?? interface)
    }

    private static func properties(_ isExpensive: Bool, _ isConstrained: Bool) -> [String] {
        (isExpensive ? ["expensive"] : []) + (isConstrained ? ["constrained"] : [])
    }

    private static func list(_ texts: [String]) -> String { TerminalText.printable(texts.joined(separator: ", ")) }
}

extension String {
    fileprivate var orNone: String { isEmpty ? "nothing" : self }
}
