import ControlProtocol

/// There is a backup, and those on a schedule are made.
enum BackupCheck {
    private static let name = "backup"
    /// Seconds. Backups are made each day: that many in a row have failed.
    private static let maximumAge: Int64 = 7 * 24 * 60 * 60

    static func findings(_ facts: DoctorFacts) -> [Finding] {
        let systemctl = facts.systemctl
        var findings: [Finding] = []
        if let schedule = facts.backupSchedule, schedule.service.active == "failed" {
            let (unit, line) = (schedule.service, schedule.service.lastLine.map { ": \($0)" } ?? "")
            findings.append(
                .warning(
                    name, "the last scheduled backup failed (\(unit.result), exit status \(unit.exitStatus))\(line)",
                    hint: "repair that, then run '\(systemctl) start ringwake-backup'"))
        }
        // Another user may not look into the folder.
        guard let backups = facts.backups else { return findings }
        guard let last = backups.last else { return findings + [absence(in: backups.folder, facts)] }
        let age = "the newest is \(DurationText.long(milliseconds: last.agoMs)) old"
        guard facts.backupSchedule?.isEnabled == true, last.agoMs > maximumAge * 1_000 else {
            return findings + [.ok(name, "\(age): \(last.file)")]
        }
        let text = "\(age), although ringwake-backup.timer is enabled: \(last.file)"
        let hint =
            "'\(systemctl) status ringwake-backup.timer' says when it runs; '\(systemctl) start ringwake-backup' does it now"
        return findings + [.warning(name, text, hint: hint)]
    }

    private static func absence(in folder: String, _ facts: DoctorFacts) -> Finding {
        let text = "there is none in \(folder)"
        switch facts.backupSchedule?.isEnabled {
        case true:
            return .note(name, text, hint: "'\(facts.systemctl) start ringwake-backup' makes the first one now")
        case false:
            return .note(name, text, hint: "'\(facts.systemctl) enable --now ringwake-backup.timer' makes one each day")
        case nil:
            return .note(name, text, hint: "'ringwake backup create --passphrase-file -' makes one")
        }
    }
}
