import ArgumentParser
import BackupArchive
import ControlProtocol
import Cryptography
import FileSystem
import RingwakeCore

/// `ringwake backup list`
struct BackupListCommand: RunnableCommand {
    static let configuration = CommandConfiguration(
        "list", "List the backups in a folder.",
        examples: """
            ringwake backup list
            ringwake backup list /mnt/usb
            """)

    @Argument(
        help: .of(
            "folder",
            "The folder (default: /var/backups/ringwake for root, ~/.local/share/ringwake/backups for others)."),
        completion: .directory)
    var folder: String?

    @OptionGroup var output: OutputOptions
    var wantsJSON: Bool { output.json }

    /// What `--json` prints.
    struct Message: Encodable {
        var schema = ControlAPI.schema
        let folder: String
        let backups: [Backup]
    }

    /// One backup.
    struct Backup: Encodable {
        let file: String
        let bytes: Int64
        let manifest: BackupManifest?
        let problem: String?
    }

    func run(in context: CommandContext) throws(RingwakeError) -> ExitStatus {
        let folder = folder ?? StandardDirectory.backups(in: context)
        guard FileSystem.exists(folder) else {
            throw RingwakeError(.notFound, "there is no folder \(folder); 'ringwake backup create' makes it")
        }
        let names = try withFiles { () throws(FileSystemError) in try FileSystem.entries(of: folder) }
        let backups = names.filter { $0.hasSuffix(BackupName.suffix) }.map { backup("\(folder)/\($0)") }
            .sorted {
                ($0.manifest?.created.description ?? "", $0.file) < ($1.manifest?.created.description ?? "", $1.file)
            }
        guard !backups.isEmpty else { throw RingwakeError(.notFound, "there is no backup in \(folder)") }
        var table = TextTable([.left, .right, .left, .left, .left])
        table.add(["BACKUP", "SIZE", "KIND", "KEYS", "MADE ON"])
        for backup in backups {
            let manifest = backup.manifest
            table.add([
                FileSystem.split(backup.file).name.description, StoreText.size(backup.bytes),
                manifest?.kind.rawValue ?? "unreadable", manifest?.keys.rawValue ?? "-", manifest?.host ?? "-",
            ])
        }
        let problems = backups.compactMap(\.problem).map { TerminalText.printable($0) + "\n" }.joined()
        return try show(
            Message(folder: folder, backups: backups), table.list(style: context.style) + problems, in: context)
    }

    private func backup(_ file: String) -> Backup {
        do throws(RingwakeError) {
            return Backup(
                file: file, bytes: InputFile.size(of: file) ?? 0, manifest: try ArchiveReader(file).manifest(),
                problem: nil)
        } catch {
            return Backup(file: file, bytes: InputFile.size(of: file) ?? 0, manifest: nil, problem: error.message)
        }
    }
}

/// `ringwake backup show`
struct BackupShowCommand: RunnableCommand {
    static let configuration = CommandConfiguration(
        "show", "Show what is in a backup.",
        examples: """
            ringwake backup show /var/backups/ringwake/ringwake-2026-11-27T180000Z.tar.zst
            """)

    @Argument(help: .of("file", "The backup."), completion: .file())
    var file: String

    @OptionGroup var output: OutputOptions
    var wantsJSON: Bool { output.json }

    func run(in context: CommandContext) throws(RingwakeError) -> ExitStatus {
        let manifest = try ArchiveReader(file).manifest()
        return try show(manifest, BackupText.manifest(manifest), in: context)
    }
}

/// `ringwake backup verify`
struct BackupVerifyCommand: RunnableCommand {
    static let configuration = CommandConfiguration(
        "verify", "Read a whole backup and compare it with its checksums.",
        examples: """
            ringwake backup verify ringwake-2026-11-27T180000Z.tar.zst
            """,
        details: """
            With the passphrase, it also checks that the private keys can be opened.
            """)

    @Argument(help: .of("file", "The backup."), completion: .file())
    var file: String

    @Option(help: .of("file", "The file with the passphrase for private keys, in its first line."), completion: .file())
    var passphraseFile: String?

    @OptionGroup var output: OutputOptions
    var wantsJSON: Bool { output.json }

    func run(in context: CommandContext) throws(RingwakeError) -> ExitStatus {
        let progress = WorkProgress("backup", on: context.errors)
        defer { progress.end() }
        var passphrase: Passphrase?
        if let passphraseFile {
            let text = try PasswordSource.password(file: passphraseFile, for: "the keys of the backup", in: context)
            var bytes = Array((text ?? "").utf8)
            passphrase = try Passphrase(wiping: &bytes)
        }
        progress.begin("reading", of: 100, unit: .percent)
        let manifest = try ArchiveReader(file).verify(passphrase: passphrase) { done, all in
            progress.advance(to: all > 0 ? done * 100 / all : 100)
            return true
        }
        progress.end()
        let keys =
            switch manifest.keys {
            case .encrypted: passphrase == nil ? "its keys were not opened" : "the passphrase opens its keys"
            case .leftOut: "private keys were left out"
            case .none: "it has no private keys"
            }
        let text = "\(TerminalText.printable(file)) is whole: \(manifest.members.count) files; \(keys)\n"
        return try show(manifest, text, in: context)
    }
}

/// The text of the commands.
enum BackupText {
    static func manifest(_ manifest: BackupManifest) -> String {
        var table = TextTable([.left, .left])
        table.add(["made", "\(manifest.created) by ringwake \(manifest.program) on \(manifest.host)"])
        table.add(["kind", manifest.kind.rawValue])
        table.add(["store", "version \(manifest.store.version), \(manifest.store.bytes) bytes"])
        table.add(["keys", manifest.keys.rawValue])
        for member in manifest.members {
            let origin = member.origin.map { " (\($0))" } ?? ""
            table.add(["\(member.name)", "\(member.bytes) bytes\(origin)"])
        }
        return table.lines().map { TerminalText.printable($0) + "\n" }.joined()
    }
}
