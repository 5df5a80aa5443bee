import ArgumentParser
import ControlProtocol
import FileSystem
import RingwakeCore

/// `ringwake app state`
struct AppStateCommand: RunnableCommand {
    static let configuration = CommandConfiguration(
        commandName: "state",
        abstract: "Handler: read, keep or drop the app's own small state.",
        discussion: """
            EXAMPLES:
              In a handler ($RINGWAKE_APP names the app):
                ringwake app state > state
                ringwake app state --put state
                some-program | ringwake app state --put -
                ringwake app state --clear

            The daemon keeps up to \(ControlAPI.maximumStateBytes / 1024) KiB for an app over restarts, when its
            file says [restoration] state = true. It does not look at them.
            """)

    @Argument(help: ArgumentHelp("The app's bundle id (default: $RINGWAKE_APP).", valueName: "id"))
    var id: AppIDArgument?

    @Option(help: ArgumentHelp("Keep what this file holds; - is standard input.", valueName: "file"))
    var put: String?

    @Flag(help: "Drop it.")
    var clear = false

    @OptionGroup var control: ControlOptions
    @OptionGroup var output: OutputOptions

    var wantsJSON: Bool { output.json }

    func validate() throws {
        guard put == nil || !clear else {
            throw ValidationError("Give one of --put and --clear.")
        }
    }

    func run(in context: CommandContext) throws(RingwakeError) -> ExitStatus {
        guard let app = id?.app.rawValue ?? context.environment("RINGWAKE_APP") else {
            throw RingwakeError(
                .invalidRequest, "which app? give its bundle id; only a woken handler has $RINGWAKE_APP")
        }
        let client = control.client(in: context)
        let target = RequestTarget("apps", app, "state")
        guard put != nil || clear else {
            context.output.write(bytes: try client.octets(target))
            return .success
        }
        let kept: AppStateMessage =
            if let put { try client.put(target, octets: try octets(of: put)) } else { try client.delete(target) }
        context.output.write(
            wantsJSON ? try JSONText.document(kept) : "\(TerminalText.printable(kept.app)): \(kept.bytes) bytes kept\n")
        return .success
    }

    private func octets(of file: String) throws(RingwakeError) -> [UInt8] {
        let octets = try InputFile.read(file, allowsStandardInput: true)
        guard octets.count <= ControlAPI.maximumStateBytes else {
            throw RingwakeError(
                .limitReached,
                "'\(file)' has \(octets.count) bytes, and \(ControlAPI.maximumStateBytes) are kept at most; keep less")
        }
        return octets
    }
}
