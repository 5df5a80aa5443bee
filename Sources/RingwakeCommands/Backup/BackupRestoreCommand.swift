import ArgumentParser
import BackupArchive
import ControlProtocol
import Cryptography
import FileSystem
import Glibc
import RingwakeCore

/// `ringwake backup restore`
struct BackupRestoreCommand: DaemonCommand {
    static let configuration = CommandConfiguration(
        "restore", "Put what a backup has in place of what is here.",
        examples: """
            ringwake backup restore --dry-run ringwake-2026-11-27T180000Z.tar.zst
            ringwake backup restore --passphrase-file /srv/passphrase FILE
            ringwake backup restore --merge FILE
            """,
        details: """
            The whole backup is verified, unpacked, migrated and made ready before anything
            is changed. Then the present files are moved aside, to names that are shown, and
            a running daemon starts again with the restored ones. If this is interrupted,
            run it again.

            On another machine than the one that was backed up, the device gets another
            identity and other device tokens, and senders are told that the former ones are
            gone. Restore only backups that you trust: what is in them decides which
            programs the daemon starts.
            """)

    @Argument(help: .of("file", "The backup."), completion: .file())
    var file: String

    @Flag(help: "Show what would change, and change nothing.")
    var dryRun = false

    @Flag(help: "Add the calls, pushes, lists and saved state to what is here, which stays. Nothing else is restored.")
    var merge = false

    @Flag(help: "Leave the configuration, certificates and ring sounds as they are.")
    var noConfiguration = false

    @Option(help: .of("old=new", "An app that has another bundle ID now; its tokens end. May be repeated."))
    var map: [String] = []

    @Flag(help: "Take the identity and the device tokens along: the other machine is gone.")
    var keepIdentity = false

    @Flag(help: "Make a new identity and new device tokens: the backed-up device goes on.")
    var newIdentity = false

    @Option(help: .of("file", "The file with the passphrase for private keys, in its first line."), completion: .file())
    var passphraseFile: String?

    @Flag(help: "Leave the private keys in the backup.")
    var noKeys = false

    @OptionGroup var protection: RecordPassphraseOptions

    @Flag(help: "Do not ask.")
    var yes = false

    @OptionGroup var idle: IdleDaemonOptions
    @OptionGroup var control: ControlOptions

    /// What `--json` prints.
    struct Message: Encodable {
        var schema = ControlAPI.schema
        let file: String
        /// What becomes of files, each with its path: `new`, `replaced`, `removed`.
        let files: [File]
        let store: RestoreLine.Prepared
        let stateDirectory: String
        /// What was moved aside; empty after a dry run and a merge.
        var aside: [String]
        /// `dry-run`, `restored`, or `waiting` for the daemon to start again.
        var state: String
        /// Records by kind that a merge has added and left out; nil otherwise, and if the daemon adds them in its start.
        var added: [String: Int]?
        var skipped: [String: Int]?
        /// What is wrong with the restored configuration, for example keys that are missing.
        var problems: [String]

        struct File: Encodable {
            let path: String
            let change: String
        }
    }

    func validate() throws {
        if keepIdentity, newIdentity {
            throw ValidationError("--keep-identity and --new-identity do not go together")
        }
        if noKeys, passphraseFile != nil { throw ValidationError("--no-keys and --passphrase-file do not go together") }
        if protection.isGiven, !merge, map.isEmpty {
            throw ValidationError(
                "--protection-passphrase-file goes with --merge and --map: else records stay encrypted as they are")
        }
        if merge, keepIdentity || newIdentity {
            throw ValidationError(
                "--merge leaves the identity as it is: --keep-identity and --new-identity have no use")
        }
    }

    func run(in context: CommandContext) throws(RingwakeError) -> ExitStatus {
        let apps = try apps()
        let passphrase = try protection.passphrase(in: context)
        let folder = try ScratchFolder(in: ScratchFolder.parent(in: context), prefix: "ringwake-restore-")
        // What is prepared is taken out of it.
        defer { withExtendedLifetime(folder) {} }
        let target = try RestoreTarget(control, idle, in: context)
        if !dryRun { try target.requireNoCalls() }
        let progress = WorkProgress("restore", on: context.errors)
        defer { progress.end() }
        let backup = try unpack(into: folder.path + "/backup", progress, in: context)
        let files = try RestoredFiles(
            backup, in: folder.path + "/backup", for: target, isEmpty: merge || noConfiguration)
        let state = try RestoredState(files.configuration ?? target.file, for: target)
        try folder.give("backup", to: state.owner)
        // A dry run leaves nothing behind, not even a lock.
        let place = dryRun ? try folder.makeFolder("state", for: state.owner) : state.directory
        if !dryRun { try state.create() }
        let aside = state.unusedAside(at: WallClock.seconds(), files.changes.map(\.target))
        let order = RestoreOrder(
            folder: folder.path + "/backup", aside: aside, merges: merge,
            identity: keepIdentity ? .kept : newIdentity ? .new : .automatic, apps: apps)
        let session = try RestoreSession(
            configuration: files.configuration ?? target.file, stateDirectory: place, order,
            passphrase: passphrase)
        let prepared = try session.prepared(progress)
        progress.end()
        var message = Message(
            file: file, files: files.changes.map { .init(path: $0.target, change: $0.kind.rawValue) }, store: prepared,
            stateDirectory: state.directory, aside: [], state: dryRun ? "dry-run" : "waiting", added: nil, skipped: nil,
            problems: [])
        guard !dryRun else {
            if backup.manifest.keys == .encrypted, backup.keys.isEmpty, !noKeys, !merge {
                message.problems = ["the private keys were not looked at: name a --passphrase-file"]
            }
            return try show(message, text(message), in: context)
        }
        if !wantsJSON { context.errors.write(text(message)) }
        try Confirmation.require("Restore this", given: yes, in: context)
        try target.requireNoCalls()
        let former = target.check(as: state.owner)
        var (present, done) = (former, RestoreLine())
        message.aside = try files.install(aside: aside) { () throws(RingwakeError) in
            if !files.changes.isEmpty { present = target.check(as: state.owner) }
            if former.startFailure == nil, let failure = present.startFailure {
                throw RingwakeError(
                    .conflict,
                    "with the configuration of the backup the daemon would not start: \(failure); nothing was changed. "
                        + "Restore the private keys too, or restore with --no-configuration")
            }
            done = try session.commit()
        }
        (message.added, message.skipped) = (done.added, done.skipped)
        if let why = done.why { context.errors.write("ringwake: \(TerminalText.printable(why))\n") }
        let formerState = "\(state.directory)/\(aside)"
        do throws(RingwakeError) {
            try target.restart()
        } catch {
            context.errors.write(result(message, target, apps, present))
            throw error
        }
        if target.isRunning || done.isComplete == true { message.state = "restored" }
        if FileSystem.exists(formerState) { message.aside.append(formerState) }
        message.problems = present.failures
        return try show(message, result(message, target, apps, present), in: context)
    }

    private func unpack(
        into folder: String, _ progress: WorkProgress, in context: CommandContext
    ) throws(RingwakeError) -> ArchiveReader.Unpacked {
        let reader = ArchiveReader(InputFile.absolute(file))
        let passphrase = try passphrase(for: try reader.manifest(), in: context)
        progress.begin("unpacking", of: 100, unit: .percent)
        return try reader.unpack(into: folder, passphrase: passphrase) { done, all in
            progress.advance(to: all > 0 ? done * 100 / all : 100)
            return true
        }
    }

    private func passphrase(
        for manifest: BackupManifest, in context: CommandContext
    ) throws(RingwakeError) -> Passphrase? {
        guard manifest.keys == .encrypted, !noKeys, !merge else { return nil }
        let what = "the keys of the backup"
        guard let text = try PasswordSource.password(file: passphraseFile, for: what, in: context) else {
            guard !dryRun else { return nil }
            throw RingwakeError(
                .invalidRequest,
                "there are private keys in the backup; name a --passphrase-file (- asks for it), or leave them with --no-keys"
            )
        }
        var bytes = Array(text.utf8)
        return try Passphrase(wiping: &bytes)
    }

    /// New identifiers of apps by their former ones.
    private func apps() throws(RingwakeError) -> [String: String] {
        var apps: [String: String] = [:]
        for pair in map {
            let parts = pair.split(separator: "=", omittingEmptySubsequences: false)
            guard parts.count == 2, let former = AppID(String(parts[0])), let new = AppID(String(parts[1])) else {
                throw RingwakeError(.invalidRequest, "--map needs OLD=NEW, two bundle IDs, and not '\(pair)'")
            }
            guard former != new else {
                throw RingwakeError(.invalidRequest, "--map names '\(former)' as its own new name")
            }
            guard apps.updateValue(new.rawValue, forKey: former.rawValue) == nil else {
                throw RingwakeError(.invalidRequest, "--map names '\(former)' twice")
            }
        }
        return apps
    }

    private func text(_ message: Message) -> String {
        let store = message.store
        var lines = ["\(message.file):"]
        if store.fromVersion != store.version {
            lines.append("  the store is migrated from version \(store.fromVersion) to \(store.version)")
        }
        let what = Self.counts(store.rows.mapValues { Int(clamping: $0) })
        lines.append(
            merge
                ? "  to be added, unless it is here already: \(what)"
                : "  to be restored to \(message.stateDirectory): \(what)")
        if store.isNewDevice {
            lines.append("  this device gets another identity and other device tokens; the former tokens end")
        }
        lines += store.damage.map { "  damaged: \($0)" }
        lines += message.files.map { "  \($0.change): \($0.path)" }
        lines += message.problems.map { "  \($0)" }
        return lines.map { TerminalText.printable($0) + "\n" }.joined()
    }

    private static func counts(_ counts: [String: Int]) -> String {
        let kinds = counts.filter { $0.value > 0 && !StoreText.bookkeeping.contains($0.key) }.sorted { $0.key < $1.key }
        return kinds.isEmpty ? "nothing" : kinds.map { "\($0.key) \($0.value)" }.joined(separator: ", ")
    }

    private func result(
        _ message: Message, _ target: RestoreTarget, _ apps: [String: String], _ present: RestoreTarget.Check
    ) -> String {
        var lines = ["everything is ready; the daemon puts it in place when it starts again: restart ringwaked"]
        if message.state == "restored" {
            let daemon = target.isRunning ? "the daemon has started again" : "start the daemon"
            lines = ["restored from \(message.file); \(daemon)"]
        }
        for (what, counts) in [("added", message.added), ("left out, because it is here already", message.skipped)] {
            guard let counts else { continue }
            lines.append("\(what): \(Self.counts(counts))")
        }
        lines += message.aside.map { "moved aside: \($0)" }
        lines += message.problems.map { "still wrong: \($0)" }
        if message.store.isNewDevice {
            lines.append("apps have other device tokens now: they reach their servers when the apps register again")
        }
        for (former, new) in apps.sorted(by: { $0.key < $1.key }) {
            lines.append(
                merge
                    ? "the calls that \(former) had in the backup are those of \(new) here"
                    : "the calls of \(former) are those of \(new) now; tokens of \(former) have ended")
            if !present.apps.contains(new) { lines.append("there is no app \(new) yet: 'ringwake app add \(new)'") }
        }
        return lines.map { TerminalText.printable($0) + "\n" }.joined()
    }
}
