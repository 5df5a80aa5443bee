import ArgumentParser
import ControlProtocol
import FileSystem
import FoundationEssentials
import Glibc
import RingwakeCore

/// `ringwake backup import`
struct BackupImportCommand: DaemonCommand {
    static let configuration = CommandConfiguration(
        "import", "Add the records of an export to the store.",
        examples: """
            systemctl stop ringwaked && ringwake backup import calls.jsonl
            """,
        details: """
            Adds all records, or none. What the store has already stays, and is counted as
            skipped. Calls that had not ended are ended by the next start of the daemon. No
            daemon may run. Documentation/portable.md describes the records.
            """)

    @Argument(help: .of("file", "The export; - is standard input."), completion: .file())
    var file: String

    @OptionGroup var idle: IdleDaemonOptions
    @OptionGroup var control: ControlOptions

    /// What `--json` prints.
    struct Message: Encodable {
        var schema = ControlAPI.schema
        let added: [String: Int]
        let skipped: [String: Int]
    }

    func run(in context: CommandContext) throws(RingwakeError) -> ExitStatus {
        let source = try StoreSource(control, idle, in: context)
        guard !source.isRunning else {
            throw RingwakeError(
                .inUse, "the daemon runs and has its store open; stop it, import, and start it again")
        }
        let input = file == "-" ? STDIN_FILENO : open(file, O_RDONLY | O_CLOEXEC)
        guard input >= 0 else { throw RingwakeError(FileSystemError(operation: "open", path: file, errno: errno)) }
        defer { if input != STDIN_FILENO { close(input) } }
        let output = try Pipe()
        let said = try DaemonProgram().store(
            ["import"], configuration: try source.file(), input: input, output: output.writing)
        output.closeWriting()
        guard let line = try? JSONDecoder().decode(StoreLine.self, from: Data(output.readAll())) else {
            throw RingwakeError(.failed, "ringwaked did not say what it has imported; install the same version of both")
        }
        if let said { context.errors.write("ringwake: \(TerminalText.printable(said))\n") }
        let message = Message(added: line.added ?? [:], skipped: line.skipped ?? [:])
        let text = [("added", message.added), ("skipped", message.skipped)].map { what, counts in
            let kinds = counts.sorted { $0.key < $1.key }.map { "\($0.value) \($0.key)" }
            return "\(what): " + TerminalText.printable("\(kinds.isEmpty ? "nothing" : kinds.joined(separator: ", "))")
                + "\n"
        }
        return try show(message, text.joined(), in: context)
    }
}
