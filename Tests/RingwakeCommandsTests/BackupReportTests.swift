import BackupArchive
import FoundationEssentials
import Glibc
import RingwakeCore
import Testing

@testable import RingwakeCommands

@Suite("What the doctor and the status say about backups")
struct BackupReportTests {
    private static let day: Int64 = 86_400
    private let now: Int64 = 2_000_000_000
    private let directory = TemporaryDirectory()

    private func name(_ age: Int64) -> String { BackupName(BackupTime(secondsSince1970: now - age)).description }

    private func newest(_ names: [String]) throws -> LastBackup? {
        for name in names { directory.write("", to: name) }
        return try LastBackup.find(in: directory.path, now: now)
    }

    /// The findings of the check, with the folder's newest backup of this age, if there is one.
    private func found(
        age: Int64? = nil, isEnabled: Bool? = nil, failed: Bool = false, isReadable: Bool = true
    ) -> [String] {
        var facts = DoctorFacts(now: now, userID: 1000, file: "/etc/ringwake/ringwaked.toml")
        let last = age.map {
            LastBackup(file: "/b/x", created: BackupTime(secondsSince1970: now - $0), now: now)
        }
        facts.backups = isReadable ? BackupsLook(folder: "/b", last: last) : nil
        facts.backupSchedule = isEnabled.map {
            var unit = UnitLook(load: "loaded", active: "inactive", result: "success", exitStatus: "0")
            if failed {
                (unit.active, unit.result, unit.exitStatus) = ("failed", "exit-code", "1")
                unit.lastLine = "ringwake: no room"
            }
            return BackupScheduleLook(isEnabled: $0, service: unit)
        }
        return BackupCheck.findings(facts).map { "\($0.state) \($0.message)" + ($0.hint.map { " | \($0)" } ?? "") }
    }

    @Test("The newest name counts, and no other file; one from the future only if there is none else")
    func newestName() throws {
        #expect(try newest([]) == nil)
        #expect(try newest(["ringwake-notes.tar.zst", name(5) + ".partial", "keys"]) == nil)
        #expect(try newest([name(-Self.day)])?.agoMs == 0)
        let last = try #require(try newest([name(3 * Self.day), name(90), name(Self.day)]))
        #expect(last.file == "\(directory.path)/\(name(90))" && last.agoMs == 90_000)
    }

    @Test("A folder that is not there has no backup; one that cannot be read is not looked into")
    func folders() throws {
        #expect(try LastBackup.find(in: directory.path + "/nowhere", now: now) == nil)
        #expect(BackupsLook(folder: directory.path + "/nowhere", now: now)?.last == nil)
        #expect(BackupsLook(folder: directory.path + "/nowhere", now: now) != nil)
        #expect(BackupsLook(folder: "/a\0b", now: now) == nil)
    }

    @Test("No backup is a note with the next step")
    func none() {
        #expect(
            found() == ["note there is none in /b | 'ringwake backup create --passphrase-file -' makes one"])
        #expect(
            found(isEnabled: false) == [
                "note there is none in /b | 'sudo systemctl enable --now ringwake-backup.timer' makes one each day"
            ])
        #expect(
            found(isEnabled: true) == [
                "note there is none in /b | 'sudo systemctl start ringwake-backup' makes the first one now"
            ])
    }

    @Test("An old backup is a warning only on a schedule")
    func age() {
        let week = 7 * Self.day
        #expect(found(age: 90 * Self.day) == ["ok the newest is 90 d 0 h old: /b/x"])
        #expect(found(age: 90 * Self.day, isEnabled: false) == ["ok the newest is 90 d 0 h old: /b/x"])
        #expect(found(age: week, isEnabled: true) == ["ok the newest is 7 d 0 h old: /b/x"])
        let old = found(age: week + 1, isEnabled: true)
        #expect(old.count == 1)
        #expect(
            old[0].hasPrefix("warning the newest is 7 d 0 h old, although ringwake-backup.timer is enabled: /b/x |"))
    }

    @Test("A run that failed is a warning with its last words, whether the timer is enabled or not, for every user")
    func failure() {
        let warning =
            "warning the last scheduled backup failed (exit-code, exit status 1): ringwake: no room | "
            + "repair that, then run 'sudo systemctl start ringwake-backup'"
        #expect(found(age: 60, isEnabled: false, failed: true) == [warning, "ok the newest is 1 min old: /b/x"])
        #expect(found(isEnabled: true, failed: true, isReadable: false) == [warning])
        #expect(found(isEnabled: true, isReadable: false) == [])
    }

    @Test("The status has the newest backup, or no word about backups")
    func status() throws {
        let daemon = FakeDaemon { _ in .json(Sample.status()) }
        // Each removes what is in it, one level deep.
        let (data, middle) = (TemporaryDirectory(), TemporaryDirectory())
        #expect(symlink(middle.path, data.path + "/ringwake") == 0)
        #expect(symlink(directory.path, middle.path + "/backups") == 0)
        func run(_ words: String...) -> String {
            ringwake(["status"] + words, at: daemon, environment: ["XDG_DATA_HOME": data.path]).output
        }
        #expect(!run().contains("backup") && !run("--json").contains("backup"))
        let name = "ringwake-2026-01-02T030405Z.tar.zst"
        directory.write("", to: name)
        let file = "\(data.path)/ringwake/backups/\(name)"
        #expect(run().contains("\nbackup  ") && run().contains(" ago (\(file))\n"))
        struct Message: Decodable {
            struct Backup: Decodable {
                let file: String
                let created: String
                let agoMs: Int64
            }
            let backup: Backup
            let version: String
        }
        let message = try JSONDecoder().decode(Message.self, from: Data(run("--json").utf8))
        #expect(message.version == "0.1.0" && message.backup.file == file)
        #expect(message.backup.created == "2026-01-02T03:04:05Z" && message.backup.agoMs > 0)
    }
}
