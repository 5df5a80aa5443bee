import ArgumentParser
import ControlProtocol
import FileSystem
import Glibc
import RingwakeCore

/// `ringwake backup export`
struct BackupExportCommand: DaemonCommand {
    static let configuration = CommandConfiguration(
        "export", "Write what the store holds as records that other programs read.",
        examples: """
            ringwake backup export --to calls.jsonl
            ringwake backup export --to - | jq 'select(.kind == "call")'
            """,
        details: """
            Writes JSON, one record a line: calls, pushes, lists of callers, do not disturb,
            what apps keep, and on a gateway the linked devices. Documentation/portable.md
            describes them. Calls and pushes go on meanwhile. Device tokens, keys and the
            configuration are not in it. The file can be read by its owner only: it says
            who called whom.
            """)

    @Option(help: .of("file", "The file to write; - is standard output."), completion: .file())
    var to: String

    @OptionGroup var protection: RecordPassphraseOptions
    @OptionGroup var idle: IdleDaemonOptions
    @OptionGroup var control: ControlOptions

    /// What `--json` prints.
    struct Message: Encodable {
        var schema = ControlAPI.schema
        let file: String
        let bytes: Int64
    }

    func run(in context: CommandContext) throws(RingwakeError) -> ExitStatus {
        let source = try StoreSource(control, idle, in: context)
        guard to != "-" else {
            try export(source, STDOUT_FILENO, in: context)
            return .success
        }
        let file = try NewFile(to)
        try export(source, file.descriptor, in: context)
        let bytes = try file.finish()
        return try show(Message(file: to, bytes: bytes), "\(TerminalText.printable(to)): \(bytes) bytes\n", in: context)
    }

    private func stateDirectory(_ source: StoreSource) throws(RingwakeError) -> String {
        try source.stateDirectory(of: try DaemonProgram().configuration(source.file()))
    }

    private func export(_ source: StoreSource, _ output: Int32, in context: CommandContext) throws(RingwakeError) {
        let passphrase = try protection.passphrase(in: context)
        let progress = WorkProgress("backup", on: context.errors)
        defer { progress.end() }
        let copy = try source.isRunning ? StoreCopy(source, in: stateDirectory(source), progress: progress) : nil
        defer { withExtendedLifetime(copy) {} }
        progress.begin("writing the records", of: nil, unit: .rows)
        let said = try DaemonProgram().export(
            copy: copy?.file, passphrase, configuration: try source.file(), output: output)
        progress.end()
        if let said { context.errors.write("ringwake: \(TerminalText.printable(said))\n") }
    }
}

/// A file that appears when it is complete: whatever happens before, there is none, or the former one.
final class NewFile {
    private let path: String
    private let partial: String
    let descriptor: Int32
    private var isFinished = false

    /// Only the owner may read it.
    init(_ path: String) throws(RingwakeError) {
        self.path = path
        let (directory, name) = FileSystem.split(path)
        var status = stat()
        guard lstat(path, &status) != 0 || status.st_mode & S_IFMT == S_IFREG else {
            throw RingwakeError(
                .conflict, "\(path) is no regular file, and is not replaced; name another one, or - for standard output"
            )
        }
        // Two exports to one name must not write the same file.
        partial = "\(directory)/.\(name).\(getpid()).partial"
        unlink(partial)
        descriptor = open(partial, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else {
            throw RingwakeError(FileSystemError(operation: "create", path: path, errno: errno))
        }
    }

    deinit {
        close(descriptor)
        if !isFinished { unlink(partial) }
    }

    /// Makes it durable, and gives it its name.
    /// - Returns: its size in bytes.
    func finish() throws(RingwakeError) -> Int64 {
        var status = stat()
        guard fsync(descriptor) == 0, fstat(descriptor, &status) == 0 else {
            throw RingwakeError(FileSystemError(operation: "sync", path: path, errno: errno))
        }
        try withFiles { () throws(FileSystemError) in try FileSystem.move(partial, to: path) }
        isFinished = true
        return Int64(status.st_size)
    }
}
