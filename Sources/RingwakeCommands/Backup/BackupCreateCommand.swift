import ArgumentParser
import BackupArchive
import ControlProtocol
import Cryptography
import FileSystem
import Glibc
import RingwakeCore
import VoIPCertificates

/// `ringwake backup create`
struct BackupCreateCommand: DaemonCommand {
    static let configuration = CommandConfiguration(
        "create", "Back up everything that the daemon keeps into one file.",
        examples: """
            ringwake backup create --to /mnt/usb --passphrase-file /srv/passphrase
            ringwake backup create --no-keys --keep 7
            """,
        details: """
            The backup has the store, device tokens, the configuration with the files of
            apps and teams, certificates and ring sounds. Private keys are in it encrypted
            under a passphrase; with --no-keys they are left out, and after a restore on
            another machine certificates have to be made or copied again. Calls and pushes
            go on meanwhile. The file can be read by its owner only.
            """)

    @Option(
        help: .of("path", "A folder, or a new file that ends in .tar.zst (default: /var/backups/ringwake for root)."),
        completion: .file())
    var to: String?

    @Flag(help: "Write the store as records that other programs read, and not as it is.")
    var portable = false

    @Flag(help: "Leave private keys out.")
    var noKeys = false

    @Option(help: .of("file", "The file with the passphrase for private keys, in its first line."), completion: .file())
    var passphraseFile: String?

    @OptionGroup var protection: RecordPassphraseOptions

    @Option(help: .of("number", "Keep so many of this machine's backups in the folder, and remove older ones."))
    var keep: Int?

    @Option(help: .of("program", "Run this with the path of the backup, for example to copy it to another machine."))
    var hook: String?

    @OptionGroup var idle: IdleDaemonOptions
    @OptionGroup var control: ControlOptions

    /// What `--json` prints.
    struct Message: Encodable {
        var schema = ControlAPI.schema
        let file: String
        let bytes: Int64
        let keys: String
        let missing: [String]
        let foreign: [String]
        let removed: [String]
    }

    func validate() throws {
        if let keep, keep < 1 { throw ValidationError("--keep needs at least 1") }
        if noKeys, passphraseFile != nil { throw ValidationError("--no-keys and --passphrase-file do not go together") }
        if !portable, protection.isGiven {
            throw ValidationError("--protection-passphrase-file goes with --portable: else records stay encrypted")
        }
    }

    func run(in context: CommandContext) throws(RingwakeError) -> ExitStatus {
        let source = try StoreSource(control, idle, in: context)
        let configuration = try DaemonProgram().configuration(source.file())
        let state = try source.stateDirectory(of: configuration)
        let sources = try BackupSources(configuration, stateDirectory: state)
        let keys = try keys(of: sources, in: context)
        let (folder, path, now) = try target(at: WallClock.seconds(), in: context)
        let progress = WorkProgress("backup", on: context.errors)
        defer { progress.end() }
        let manifest = try write(path, sources, keys, (source, state), now, progress, in: context)
        progress.end()
        // What it copies may be the only other backup.
        try runHook(path)
        let removed = try removeOld(in: folder, new: BackupName(now))
        let message = Message(
            file: path, bytes: InputFile.size(of: path) ?? 0, keys: manifest.keys.rawValue, missing: sources.missing,
            foreign: sources.foreign,
            removed: removed)
        return try show(message, text(message), in: context)
    }

    private func text(_ message: Message) -> String {
        var lines = ["\(message.file): \(message.bytes) bytes"]
        if message.keys == BackupManifest.Keys.leftOut.rawValue { lines.append("private keys are not in it") }
        lines += message.missing.map { "is not there, and not in the backup: \($0)" }
        lines += message.foreign.map { "belongs to another user, and is not in the backup: \($0)" }
        lines += message.removed.map { "removed: \($0)" }
        return lines.map { TerminalText.printable($0) + "\n" }.joined()
    }

    private func keys(
        of sources: BackupSources, in context: CommandContext
    ) throws(RingwakeError) -> ArchiveWriter.Keys {
        guard !sources.keys.isEmpty else { return .none }
        guard !noKeys else { return .leftOut }
        guard
            let text = try PasswordSource.password(
                file: passphraseFile, for: "the keys of the backup", isNew: true, in: context)
        else {
            throw RingwakeError(
                .invalidRequest,
                "there are private keys to back up; name a --passphrase-file (- asks for it), or leave them out with --no-keys"
            )
        }
        var bytes = Array(text.utf8)
        return .sealed(sources.keys, try Passphrase(wiping: &bytes))
    }

    /// Seconds. As many backups have names ahead of the clock at most.
    private static let maximumAhead: Int64 = 60

    /// The folder, the new file in it, and its time: one that no other file there has.
    private func target(
        at seconds: Int64, in context: CommandContext
    ) throws(RingwakeError) -> (folder: String, file: String, time: BackupTime) {
        let path = to ?? StandardDirectory.backups(in: context)
        // Whoever decides what the name stands for decides where root writes and removes.
        try TrustedDirectory.require(path.hasSuffix(BackupName.suffix) ? FileSystem.split(path).directory : path)
        var status = stat()
        let isFolder = stat(path, &status) == 0 && status.st_mode & S_IFMT == S_IFDIR
        if to == nil, !isFolder {
            try withFiles { () throws(FileSystemError) in try FileSystem.createDirectory(path, mode: 0o700) }
        } else if !isFolder {
            guard path.hasSuffix(BackupName.suffix) else {
                throw RingwakeError(
                    .notFound,
                    "there is no folder \(path); create it, or name a file that ends in \(BackupName.suffix)")
            }
            return (FileSystem.split(path).directory, path, BackupTime(secondsSince1970: seconds))
        }
        // Later than those that were made in this second, also if --keep has removed one. A date far ahead is of a wrong clock.
        let names = try withFiles { () throws(FileSystemError) in try FileSystem.entries(of: path) }
        let latest = names.compactMap { BackupName($0)?.time.secondsSince1970 }
            .filter { (seconds..<seconds + Self.maximumAhead).contains($0) }.max()
        let time = BackupTime(secondsSince1970: latest.map { $0 + 1 } ?? seconds)
        return (path, "\(path)/\(BackupName(time))", time)
    }

    private func write(
        _ path: String, _ sources: BackupSources, _ keys: ArchiveWriter.Keys,
        _ store: (source: StoreSource, state: String), _ now: BackupTime,
        _ progress: WorkProgress, in context: CommandContext
    ) throws(RingwakeError) -> BackupManifest {
        try PartialFile.removeAll(in: FileSystem.split(path).directory)
        let status = try store.source.status(in: context)
        let description = BackupManifest(
            created: now, program: ProductVersion.current, host: LocalNames().hostName ?? "", device: nil,
            kind: portable ? .portable : .raw, store: .init(version: Int(clamping: status.version), bytes: status.bytes)
        )
        let write = { (store: ArchiveWriter.Source) throws(RingwakeError) in
            try sources.requireFormerKeys()
            progress.begin("packing", of: 100, unit: .percent)
            return try ArchiveWriter.write(path, description, [store] + sources.files, keys: keys) { done, all in
                progress.advance(to: all > 0 ? done * 100 / all : 100)
                return true
            }
        }
        return try StoreForBackup(
            source: store.source, stateDirectory: store.state,
            portable: portable ? protection.passphrase(in: context) : nil,
            scratch: ScratchFolder.parent(in: context), progress: progress
        ) { said in
            progress.end()
            context.errors.write("ringwake: \(TerminalText.printable(said))\n")
        }.use(write)
    }

    private func removeOld(in folder: String, new: BackupName) throws(RingwakeError) -> [String] {
        guard let keep else { return [] }
        let host = LocalNames().hostName ?? ""
        // Another machine's are not this one's to remove; nor is what can't be read.
        var (names, keyed): ([String], Set<String>) = ([], [])
        for name in try withFiles({ () throws(FileSystemError) in try FileSystem.entries(of: folder) })
        where BackupName(name) != nil {
            guard let manifest = try? ArchiveReader("\(folder)/\(name)").manifest(), manifest.host == host else {
                continue
            }
            names.append(name)
            if manifest.keys == .encrypted { keyed.insert(name) }
        }
        var removed: [String] = []
        for name in BackupName.expired(names, keeping: keep, new: new, keyed: keyed) {
            try withFiles { () throws(FileSystemError) in try FileSystem.remove("\(folder)/\(name)") }
            removed.append("\(folder)/\(name)")
        }
        return removed
    }

    private func runHook(_ path: String) throws(RingwakeError) {
        guard let hook else { return }
        do throws(RingwakeError) {
            let status = DaemonProgram.reap(
                try spawn([hook, path], input: STDIN_FILENO, output: STDERR_FILENO, error: STDERR_FILENO))
            guard status == 0 else { throw RingwakeError(.failed, "the hook \(hook) ended with \(status)") }
        } catch {
            throw RingwakeError(
                error.code, "the backup \(path) was made, and no other was removed, but \(error.message)")
        }
    }
}
