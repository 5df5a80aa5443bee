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
            // 'ringwake setup' makes a daemon with an app.
            let isForApps = problem.problem == CredentialProblem.Kind.wrongNames.rawValue && facts.role == "gateway"
            let hint = isForApps ? "issue it for the name or address that they use" : problem.hint
            return problem.severity == .error ? .problem(name, text, hint: hint) : .warning(name, text, hint: hint)
        }
    }
}

/// Somebody may send, to each app.
enum TeamCheck {
    private static let name = "teams"

    static func findings(_ facts: DoctorFacts) -> [Finding] {
        guard let configuration = facts.configuration else { return [] }
        // A device's senders are its gateway's.
        if facts.role == "device" { return [] }
        guard !configuration.teams.isEmpty else {
            let hint = "add one with 'ringwake team add'" + (facts.role == "gateway" ? "" : ", or run 'ringwake setup'")
            return [.problem(name, "no team may send pushes", hint: hint)]
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
        if facts.role == "gateway" { return [] }
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
        if facts.role == "device" { return [] }
        guard facts.status != nil else {
            guard let listeners = facts.configuration?.listeners else { return [] }
            if listeners.isEmpty { return facts.unit == nil || !facts.isSystem ? [none(facts)] : [] }
            return facts.takenPorts.map {
                .problem(
                    name, "another process holds \($0), so the daemon cannot start",
                    hint: "'ss -ltnp' names it: stop it, or change the address of the [[listener]]")
            }
        }
        // A gateway's line says it.
        guard !facts.ports.isEmpty else { return facts.status?.gateway == nil ? [none(facts)] : [] }
        return facts.ports.flatMap(findings)
    }

    private static func none(_ facts: DoctorFacts) -> Finding {
        .problem(
            name, "the daemon listens on no port, so no sender reaches it",
            hint: remedy + (facts.role == "gateway" ? "" : ", or run 'ringwake setup'"))
    }

    /// What opens a port for senders.
    static let remedy =
        "with systemd's sockets run 'systemctl restart ringwaked'; without them add a [[listener]] to the configuration"

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
        return refused(pushes) + failed(pushes) + clocks(pushes, role: facts.role)
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

    private static func clocks(_ pushes: StatusMessage.Pushes, role: String?) -> [Finding] {
        let effect = role == "device" ? "makes pushes expire" : "makes pushes expire and provider tokens invalid"
        return SenderClockText.lines(pushes).map {
            .warning(name, $0, hint: "set both clocks by NTP: a wrong one \(effect)")
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
