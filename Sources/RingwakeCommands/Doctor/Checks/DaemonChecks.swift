import ControlProtocol
import RingwakeCore

/// The configuration can be read, and the daemon would start with it.
enum ConfigurationCheck {
    private static let name = "configuration"

    static func findings(_ facts: DoctorFacts) -> [Finding] {
        let wrong = facts.wrongFiles
        if !wrong.isEmpty {
            let andReload = facts.status == nil ? "" : ", then run 'ringwake reload'"
            return zip(wrong, SetAsideText.lines(wrong)).map { file, line in
                .problem(name, line, hint: "correct or remove \(file.file)\(andReload)", code: .badConfiguration)
            }
        }
        if let error = facts.configurationError {
            // Programs that are missing have lines of their own.
            let isFatal = facts.configuration.map { $0.startFailure != nil } ?? true
            if isFatal {
                let why = RingwakeError(error.code, facts.configuration?.startFailure ?? error.message)
                return [finding(why, facts)] + otherDaemon(facts)
            }
        }
        let other = otherDaemon(facts)
        guard other.isEmpty else { return other }
        return reload(facts.status) ?? [.ok(name, facts.file)]
    }

    /// What the checks after this one say is of another daemon.
    private static func otherDaemon(_ facts: DoctorFacts) -> [Finding] {
        guard let status = facts.status, InputFile.absolute(status.configuration) != InputFile.absolute(facts.file)
        else { return [] }
        return [
            .warning(
                name, "the running daemon uses another one: \(status.configuration)",
                hint: "leave out --config, or name the other daemon's socket with --socket")
        ]
    }

    /// What the last reload has left behind; nil if nothing.
    private static func reload(_ status: StatusMessage?) -> [Finding]? {
        guard let reload = status?.reload else { return nil }
        if let why = reload.why {
            return [.warning(name, "the last reload failed: \(why)", hint: "correct it, then run 'ringwake reload'")]
        }
        guard !reload.needsRestart.isEmpty else { return nil }
        let settings = reload.needsRestart.joined(separator: ", ")
        return [.note(name, "takes effect after a restart only: \(settings)", hint: "restart the daemon")]
    }

    private static func finding(_ error: RingwakeError, _ facts: DoctorFacts) -> Finding {
        if error.code == .notPermitted || FileLook.isForbidden(facts.file) {
            let text = "this user may not read all that the daemon reads: \(facts.file)"
            let advice = "run 'sudo ringwake doctor' to check it"
            // A daemon that runs has read it.
            return facts.status != nil || facts.publicStatus != nil
                ? .note(name, text, hint: advice) : .problem(name, text, hint: advice, code: .notPermitted)
        }
        let isMissing = error.code == .notFound && FileLook.owner(facts.file) == nil
        return .problem(
            name, error.message,
            hint: isMissing ? "'ringwake setup' writes one" : nil, code: .badConfiguration)
    }
}

/// The daemon runs; if not, why.
enum DaemonCheck {
    private static let name = "daemon"

    static func findings(_ facts: DoctorFacts) -> [Finding] {
        if let status = facts.publicStatus {
            let uptime = DurationText.long(milliseconds: status.uptimeMs)
            return [
                .ok(name, "ringwaked \(status.version) runs, up \(uptime)"),
                .note(name, "it tells this user no more", hint: "for the rest, run 'ringwake doctor' as root"),
            ]
        }
        guard let status = facts.status else { return [absence(facts)] }
        let uptime = DurationText.long(milliseconds: status.uptimeMs)
        let running = Finding.ok(name, "ringwaked \(status.version) runs, pid \(status.pid), up \(uptime)")
        guard status.version != ProductVersion.current else { return [running] }
        return [
            running,
            .note(
                name, "this is ringwake \(ProductVersion.current)",
                hint: "restart the daemon after an upgrade, and install the same version of both"),
        ]
    }

    private static func absence(_ facts: DoctorFacts) -> Finding {
        let error = facts.statusError ?? RingwakeError(.daemonNotRunning, "the daemon does not run")
        // systemd holds the socket and starts the service again and again: then something answers, and not the daemon.
        let isFailing = ["failed", "activating"].contains(facts.unit?.active)
        guard error.code == .daemonNotRunning || (isFailing && error.code != .notPermitted), let unit = facts.unit,
            unit.load != "not-found"
        else {
            return .problem(name, error.message, code: error.code)
        }
        let command = facts.systemctl
        let line = unit.lastLine.map { ": \($0)" } ?? ""
        switch (unit.load, unit.active) {
        case ("masked", _):
            return .problem(
                name, "ringwaked.service is masked", hint: "run '\(command) unmask ringwaked'",
                code: .daemonNotRunning)
        case (_, "failed"):
            return .problem(
                name,
                "ringwaked.service has failed (\(unit.result), exit status \(unit.exitStatus))\(line)",
                hint: "repair that, then run '\(command) restart ringwaked'", code: .daemonNotRunning)
        case (_, "activating"), (_, "active"):
            return .problem(
                name, "ringwaked.service is \(unit.active), and nothing answers at its socket\(line)",
                hint: "see '\(command) status ringwaked'; give its socket with --socket if it has another",
                code: .daemonNotRunning)
        default:
            return .problem(
                name, "ringwaked.service does not run\(line)", hint: "run '\(command) enable --now ringwaked'",
                code: .daemonNotRunning)
        }
    }
}

/// Apps whose handlers failed too often.
enum StrikeCheck {
    private static let name = "strikes"

    static func findings(_ facts: DoctorFacts) -> [Finding] {
        guard let status = facts.status else { return [] }
        guard status.struckOut.isEmpty else {
            return status.struckOut.map { app in
                let failures = facts.apps?.first { $0.app == app }?.strikes.recent.last.map { " (last: \($0.failure))" }
                return .problem(
                    name, "the handler of \(app) failed too often\(failures ?? ""), and is no longer started",
                    hint: "repair it, then run 'ringwake app clear-strikes \(app)'")
            }
        }
        let counted = (facts.apps ?? []).filter { $0.strikes.count > 0 && $0.strikes.limit > 0 }
        guard !counted.isEmpty else { return [.ok(name, "no handler is struck out")] }
        return counted.map {
            .note(
                name, "the handler of \($0.app) has \($0.strikes.count) of \($0.strikes.limit) strikes",
                hint: "'ringwake app show \($0.app)' lists them")
        }
    }
}

/// Do not disturb.
enum DoNotDisturbCheck {
    static func findings(_ facts: DoctorFacts) -> [Finding] {
        let name = "dnd"
        guard let state = facts.status?.doNotDisturb else { return [] }
        guard state.active else { return [.ok(name, "do not disturb is \(state.state), and lets calls through now")] }
        return [
            .warning(
                name, "do not disturb is on (\(state.state)), so calls do not ring now",
                hint: "'ringwake dnd off' ends it; 'ringwake dnd' shows whom it lets through")
        ]
    }
}
