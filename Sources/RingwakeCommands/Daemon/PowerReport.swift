import ControlProtocol

/// What wakes the daemon up, since it started.
struct PowerReport: Codable, Equatable {
    var schema = ControlAPI.schema
    /// Milliseconds since the daemon started.
    let uptimeMs: Int64
    /// All wakeups.
    let wakeups: UInt64
    /// All wakeups per hour.
    let perHour: Double
    /// The most frequent cause first.
    let causes: [Cause]
    /// Current level of the kernel filter that drops irrelevant messages, 0 to 4.
    let filterLevel: Int
    /// The level that the configuration asks for.
    let wantedFilterLevel: Int
    /// Timers that run while nothing happens, which a configuration can turn on. There are none in this version.
    let optionalTimers: [String]

    struct Cause: Codable, Equatable {
        let cause: String
        let wakeups: UInt64
        let perHour: Double
        /// The cause in words.
        let meaning: String
    }

    init(_ status: StatusMessage) {
        uptimeMs = status.uptimeMs
        wakeups = status.wakeups.total
        perHour = PowerReport.rate(status.wakeups.total, status.uptimeMs)
        causes = status.wakeups.byCause.sorted { ($1.value, $0.key) < ($0.value, $1.key) }.map { name, count in
            Cause(
                cause: name, wakeups: count, perHour: PowerReport.rate(count, status.uptimeMs),
                meaning: PowerReport.meanings[name] ?? "a cause that this version does not know")
        }
        filterLevel = status.reachability.filterLevel
        wantedFilterLevel = status.reachability.wantedFilterLevel
        optionalTimers = []
    }

    /// Descriptions of the causes, by the daemon's names.
    static let meanings = [
        "provider": "a sender connected, sent a push or disconnected",
        "control": "a handler, ringwake or another local program sent a request",
        "timer": "a deadline passed: of a call, a handler or a connection, or to check the network again",
        "signal": "a signal arrived, for example to reload",
        "child": "a handler's process ended",
        "handler-output": "a handler printed something",
        "journal": "the disk finished a write of the journal",
        "netlink": "the kernel reported a change of the network that may matter",
        "resolver": "the file of name servers, or of hosts, changed",
        "resume": "the machine resumed, or its clock was set",
        "name-lookup": "the look-up of a host name made progress",
        "audio": "ringwake-audio reported the server, a route or an applied plan",
        "handler-socket": "a handler on a socket took a push, or disconnected",
        "dbus-system": "the system bus: systemd, logind, the modem, or a handler there",
        "dbus-session": "the session bus: systemd, notifications, or a handler there",
        "interruption": "the process was stopped, continued or traced",
        "timeout": "a wait with a time limit ended",
    ]

    /// `count` per hour, rounded to two decimals.
    private static func rate(_ count: UInt64, _ milliseconds: Int64) -> Double {
        (Double(count) * 3_600_000 / Double(max(1, milliseconds)) * 100).rounded() / 100
    }

    func text(style: TextStyle) -> String {
        var table = TextTable([.left, .right, .right, .left])
        table.add(["cause", "wakeups", "an hour", ""])
        for cause in causes {
            table.add([
                TerminalText.printable(cause.cause), "\(cause.wakeups)", PowerReport.text(cause.perHour),
                cause.meaning,
            ])
        }
        var lines = [
            style.bold("wakeups") + "  \(wakeups) in \(DurationText.long(milliseconds: uptimeMs)), "
                + "\(PowerReport.text(perHour)) an hour"
        ]
        if !causes.isEmpty { lines += table.lines(indent: 2) }
        let isLower = filterLevel < wantedFilterLevel
        lines.append(
            style.bold("filter") + "   level \(filterLevel)"
                + (isLower ? style.bad(", \(wantedFilterLevel) is configured; 'ringwake status' shows why") : ""))
        let timers = optionalTimers.isEmpty ? ["none runs while nothing happens"] : optionalTimers
        lines.append(style.bold("timers") + "   " + timers.joined(separator: ", "))
        return lines.joined(separator: "\n") + "\n"
    }

    /// With one decimal.
    private static func text(_ rate: Double) -> String {
        let tenths = UInt64(exactly: (rate * 10).rounded()) ?? .max
        return "\(tenths / 10).\(tenths % 10)"
    }
}
