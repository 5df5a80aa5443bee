import ControlProtocol
import RingwakeCore

/// Certificates and keys, now and soon.
enum CertificateCheck {
    private static let name = "certificates"

    static func findings(_ facts: DoctorFacts) -> [Finding] {
        // As root sees the files with the daemon's eyes, the configuration's list is the better one. A running daemon
        // knows besides what it has loaded.
        guard let problems = facts.status?.problems ?? facts.configuration?.problems else { return [] }
        let hasServer = facts.status.map { $0.serverCertificate != nil } ?? (facts.configuration?.server != nil)
        let merged = problems + (facts.configuration?.problems ?? []).filter { !problems.contains($0) }
        if merged.isEmpty {
            guard hasServer else { return [] }
            let left = facts.status?.serverCertificate.map { ", \($0.daysLeft) days left" } ?? ""
            return [.ok(name, "certificates and keys are in order\(left)")]
        }
        return CredentialProblem.sorted(merged).map { problem in
            let text = "\(problem.file): \(problem.message)"
            return problem.severity == .error
                ? .problem(name, text, hint: problem.hint) : .warning(name, text, hint: problem.hint)
        }
    }
}

/// Somebody may send, to each app.
enum TeamCheck {
    private static let name = "teams"

    static func findings(_ facts: DoctorFacts) -> [Finding] {
        guard let configuration = facts.configuration else { return [] }
        // A device's senders are its gateway's.
        if configuration.role == "device" { return [] }
        guard !configuration.teams.isEmpty else {
            return [
                .problem(
                    name, "no team may send pushes",
                    hint: "add one with 'ringwake team add', or run 'ringwake setup'")
            ]
        }
        let hasAuthorities = configuration.server?.providerCas.isEmpty == false
        var findings = configuration.teams.filter { $0.keys.isEmpty && !hasAuthorities }.map { team in
            Finding.problem(
                name, "team \(team.id) has no key, and there is no provider CA for certificates",
                hint: "add a key with 'ringwake team key add \(team.id)'")
        }
        for app in configuration.apps {
            let topic = app + ".voip"
            guard !configuration.teams.contains(where: { $0.maySend(to: topic) }) else { continue }
            // A running daemon may still let a team send whose file is wrong now; that has a line of its own.
            guard facts.apps?.first(where: { $0.app == app })?.teams.isEmpty != false else { continue }
            findings.append(
                .problem(
                    name, "no team may send to \(app)",
                    hint: "add the topic \(topic) to a team: 'ringwake team show TEAM' names its file"))
        }
        let count = configuration.teams.count
        return findings.isEmpty ? [.ok(name, count == 1 ? "1 team may send" : "\(count) teams may send")] : findings
    }
}

/// There is an app to ring for.
enum AppCheck {
    static func findings(_ facts: DoctorFacts) -> [Finding] {
        let name = "apps"
        guard let count = facts.status?.apps ?? facts.configuration?.apps.count else { return [] }
        if facts.configuration?.role == "gateway" { return [] }
        guard count > 0 else {
            return [
                .problem(
                    name, "no app is configured",
                    hint: "add one with 'ringwake app add BUNDLE-ID --exec PROGRAM', or run 'ringwake setup'")
            ]
        }
        return [.ok(name, count == 1 ? "1 app is configured" : "\(count) apps are configured")]
    }
}

/// Senders reach the ports.
enum PortCheck {
    private static let name = "ports"

    static func findings(_ facts: DoctorFacts) -> [Finding] {
        if let unused = facts.status?.unusedPorts {
            return unused.map { port -> Finding in
                let place = "\(port.address) (\(port.environment))"
                return .warning(
                    name, "systemd holds \(place), and a device takes no pushes there, so senders wait in vain",
                    hint: port.remedy)
            }
        }
        if facts.configuration?.role == "device" { return [] }
        guard facts.status != nil else {
            guard let listeners = facts.configuration?.listeners else { return [] }
            if listeners.isEmpty { return facts.unit == nil || !facts.isSystem ? [none] : [] }
            return facts.takenPorts.map {
                .problem(
                    name, "another process holds \($0), so the daemon cannot start",
                    hint: "'ss -ltnp' names it: stop it, or change the address of the [[listener]]")
            }
        }
        guard !facts.ports.isEmpty else { return [none] }
        return facts.ports.flatMap(findings)
    }

    private static var none: Finding {
        .problem(
            name, "the daemon listens on no port, so no sender reaches it",
            hint: "with systemd's sockets run 'systemctl restart ringwaked'; without them add a [[listener]] to the "
                + "configuration, or run 'ringwake setup'")
    }

    private static func findings(_ port: PortLook) -> [Finding] {
        let place = "\(port.address) (\(port.environment))"
        if let problem = port.problem {
            return [
                .problem(
                    name, "\(place) takes no push: \(problem)",
                    hint: "see the daemon's log, and whether a packet filter drops connections on this machine")
            ]
        }
        let answer = "\(place) answers with \(port.agreed ?? "TLS")"
        // A packet from this machine is no proof for others: a filter may let in only the loopback interface's.
        guard port.isLoopback else {
            return [
                .ok(name, "\(answer), on the addresses of the network; only a firewall can keep senders elsewhere out")
            ]
        }
        return [
            .ok(name, answer),
            .note(
                name, "\(place) is a loopback address: only this machine reaches it",
                hint: "for senders elsewhere set the address of its [[listener]] to 0.0.0.0:PORT or [::]:PORT"),
        ]
    }
}

/// The last push that was refused, and connections of senders that failed.
enum PushCheck {
    private static let name = "pushes"

    static func findings(_ facts: DoctorFacts) -> [Finding] {
        guard let pushes = facts.status?.pushes else { return [] }
        return refused(pushes) + failed(pushes) + clocks(pushes)
    }

    private static func failed(_ pushes: StatusMessage.Pushes) -> [Finding] {
        let counts = (pushes.failedConnections ?? [:]).sorted { ($1.value, $0.key) < ($0.value, $1.key) }
        guard !counts.isEmpty else { return [] }
        let reasons = counts.map { "\($0.key) \($0.value)" }.joined(separator: ", ")
        return [
            .note(
                name, "connections of senders failed before a push: \(reasons)",
                hint: "'ringwake push list --refused' shows each with its cause")
        ]
    }

    private static func clocks(_ pushes: StatusMessage.Pushes) -> [Finding] {
        SenderClockText.lines(pushes).map {
            .warning(
                name, $0,
                hint: "set both clocks by NTP: a wrong one makes pushes expire and provider tokens invalid")
        }
    }

    private static func refused(_ pushes: StatusMessage.Pushes) -> [Finding] {
        guard let last = pushes.lastRefused else {
            return [.ok(name, "\(pushes.accepted) accepted, none refused since the daemon's start")]
        }
        let ago = DurationText.long(milliseconds: last.agoMs)
        let text = "the last refused push: \(last.reason), \(ago) ago"
        let hint = "'ringwake push list --refused' shows the cause"
        return last.acceptedSince > 0
            ? [.note(name, text + ", \(last.acceptedSince) accepted since", hint: hint)]
            : [.warning(name, text + ", none accepted since", hint: hint)]
    }
}

/// The network.
enum NetworkCheck {
    static func findings(_ facts: DoctorFacts) -> [Finding] {
        let name = "network"
        guard let status = facts.status else { return [] }
        guard let connection = status.connection else {
            return [
                .note(
                    name, "the network is not watched" + (status.reachability.why.map { ": \($0)" } ?? ""),
                    hint: "calls ring nevertheless; handlers are not notified of changes")
            ]
        }
        let why = connection.why.map { " (\($0))" } ?? ""
        guard connection.status == "offline" else { return [.ok(name, connection.status + why)] }
        return [
            .warning(
                name, "this machine is offline\(why), so senders elsewhere do not reach it",
                hint: "'ringwake reachability' shows what is missing")
        ]
    }
}

/// The link to the gateway is there.
enum LinkCheck {
    private static let name = "link"

    static func findings(_ facts: DoctorFacts) -> [Finding] {
        guard let status = facts.status else { return [] }
        guard let link = status.link else {
            guard facts.configuration?.role == "device" else { return [] }
            return [
                .problem(
                    name, "the device is not paired with a gateway, so no push reaches it",
                    hint: "run 'ringwake gateway invite' on the gateway, and 'ringwake link pair' here")
            ]
        }
        if let problem = link.problem {
            return [.problem(name, problem, hint: "'ringwake link status' says more")]
        }
        let gateway = link.gateway ?? ""
        switch link.state {
        case LinkMessage.State.linked.rawValue: return [.ok(name, "linked to \(gateway)")]
        case LinkMessage.State.unreachable.rawValue:
            return [
                .problem(
                    name, "there is no way to the gateway \(gateway)",
                    hint: "'ringwake reachability' shows where it ends: the name, the route, or the network")
            ]
        default:
            let why = link.lastEnd.map { ": \($0.why)" } ?? ""
            return [
                .problem(
                    name, "not linked to \(gateway)\(why)",
                    hint: "if the certificate is refused, or nothing answers, look at 'ringwake gateway status' there")
            ]
        }
    }
}
