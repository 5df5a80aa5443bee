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
        let aside: [String]
        /// `dry-run`, `restored`, or `waiting` for the daemon to start again.
        let state: String
        /// What is wrong with the restored configuration, for example keys that are missing.
        let problems: [String]

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
        if merge, keepIdentity || newIdentity {
            throw ValidationError(
                "--merge leaves the identity as it is: --keep-identity and --new-identity have no use")
        }
        _ = try apps()
    }

    func run(in context: CommandContext) throws(RingwakeError) -> ExitStatus {
        let reader = ArchiveReader(InputFile.absolute(file))
        let passphrase = try passphrase(for: try reader.manifest(), in: context)
        let progress = WorkProgress("restore", on: context.errors)
        defer { progress.end() }
        let target = try RestoreTarget(control, idle, in: context)
        try target.requireNoCalls()
        let folder = try ScratchFolder(in: ScratchFolder.parent(in: context))
        progress.begin("unpacking", of: 100, unit: .percent)
        let backup = try reader.unpack(into: folder.path + "/backup", passphrase: passphrase) { done, all in
            progress.advance(to: all > 0 ? done * 100 / all : 100)
            return true
        }
        let files = try RestoredFiles(
            backup, in: folder.path + "/backup", for: target, isEmpty: merge || noConfiguration)
        let state = try RestoredState(files.configuration ?? target.file, readIn: target.home)
        try folder.give("backup", to: state.owner)
        let aside = state.unusedAside(at: WallClock.seconds())
        let order = RestoreOrder(
            folder: folder.path + "/backup", aside: aside, merges: merge,
            identity: keepIdentity ? .kept : newIdentity ? .new : .automatic, apps: try apps(refusing: ()))
        let session = try RestoreSession(
            configuration: files.configuration ?? target.file, stateDirectory: state.directory, order)
        let prepared = try session.prepared(progress)
        progress.end()
        let message = { (state: RestoredState, result: String, problems: [String], moved: [String]) in
            Message(
                file: file, files: files.changes.map { .init(path: $0.target, change: $0.kind.rawValue) },
                store: prepared, stateDirectory: state.directory, aside: moved, state: result, problems: problems)
        }
        guard !dryRun else {
            let message = message(state, "dry-run", [], [])
            return try show(message, text(message), in: context)
        }
        context.errors.write(wantsJSON ? "" : text(message(state, "dry-run", [], [])))
        try Confirmation.require("Restore this", given: yes, in: context)
        try target.requireNoCalls()
        let moved = try files.install(aside: aside) { () throws(RingwakeError) in try session.commit() }
        let isInPlace = try session.isComplete ? true : target.restart()
        let after = try? DaemonProgram().inspect(target.file)
        let done = message(
            state, isInPlace ? "restored" : "waiting", after?.0?.failures ?? [],
            moved + (merge ? [] : ["\(state.directory)/\(aside)"]))
        return try show(done, result(done), in: context)
    }

    private func passphrase(
        for manifest: BackupManifest, in context: CommandContext
    ) throws(RingwakeError) -> Passphrase? {
        guard manifest.keys == .encrypted, !noKeys, !merge else { return nil }
        let what = "the keys of the backup"
        guard let text = try PasswordSource.password(file: passphraseFile, for: what, in: context) else {
            throw RingwakeError(
                .invalidRequest,
                "there are private keys in the backup; name a --passphrase-file (- asks for it), or leave them with --no-keys"
            )
        }
        var bytes = Array(text.utf8)
        return try Passphrase(wiping: &bytes)
    }

    private func apps() throws -> [String: String] {
        var apps: [String: String] = [:]
        for pair in map {
            let parts = pair.split(separator: "=", omittingEmptySubsequences: false)
            guard parts.count == 2, let former = AppID(String(parts[0])), let new = AppID(String(parts[1])) else {
                throw ValidationError("--map needs OLD=NEW, two bundle IDs, and not '\(pair)'")
            }
            guard apps.updateValue(new.rawValue, forKey: former.rawValue) == nil else {
                throw ValidationError("--map names '\(former)' twice")
            }
        }
        return apps
    }

    private func apps(refusing: Void) throws(RingwakeError) -> [String: String] {
        do {
            return try apps()
        } catch {
            throw RingwakeError(.invalidRequest, "\(error)")
        }
    }

    private func text(_ message: Message) -> String {
        let store = message.store
        var lines = ["\(message.file):"]
        if store.fromVersion != store.version {
            lines.append("  the store is migrated from version \(store.fromVersion) to \(store.version)")
        }
        let rows = store.rows.sorted { $0.key < $1.key }.filter {
            $0.value > 0 && !StoreText.bookkeeping.contains($0.key)
        }
        let what = rows.isEmpty ? "nothing" : rows.map { "\($0.value) \($0.key)" }.joined(separator: ", ")
        lines.append(merge ? "  to be added: \(what)" : "  to be restored to \(message.stateDirectory): \(what)")
        if store.isNewDevice {
            lines.append("  this device gets another identity and other device tokens; the former tokens end")
        }
        lines += store.damage.map { "  damaged: \($0)" }
        lines += message.files.map { "  \($0.change): \($0.path)" }
        return lines.map { TerminalText.printable($0) + "\n" }.joined()
    }

    private func result(_ message: Message) -> String {
        var lines = [
            message.state == "restored"
                ? "restored from \(message.file)"
                : "everything is ready; the daemon puts it in place when it starts again: restart ringwaked"
        ]
        lines += message.aside.map { "moved aside: \($0)" }
        lines += message.problems.map { "still wrong: \($0)" }
        if message.store.isNewDevice {
            lines.append("apps have other device tokens now: they reach their servers when the apps register again")
        }
        return lines.map { TerminalText.printable($0) + "\n" }.joined()
    }
}
