import ArgumentParser
import ControlProtocol
import FileSystem
import RingwakeCore

/// `ringwake app state`
struct AppStateCommand: DaemonCommand {
    static let configuration = CommandConfiguration(
        "state", "Handler: read, store or delete the app's state.",
        examples: """
            In a handler ($RINGWAKE_APP names the app):
              ringwake app state > state
              ringwake app state --put state
              some-program | ringwake app state --put -
              ringwake app state --restored
              ringwake app state --clear
            """,
        details: """
            The daemon stores up to \(ControlAPI.maximumStateBytes / 1024) KiB for an app over restarts, if the app's
            file says [restoration] state = true. It does not interpret them. A handler that
            has read the state says --restored when it has got through it: if handlers crash
            before that twice in a row, the daemon drops the state. A report about a call
            says the same.
            """)

    @Argument(help: .of("id", "The app's bundle id (default: $RINGWAKE_APP)."), completion: .apps)
    var id: AppID?

    @Option(help: .of("file", "Store the contents of this file; - is standard input."), completion: .file())
    var put: String?

    @Flag(help: "Delete the state.")
    var clear = false

    @Flag(help: "Say that the state is restored.")
    var restored = false

    @OptionGroup var control: ControlOptions

    func validate() throws {
        try require(
            [put != nil, clear, restored].count { $0 } <= 1, "Give one of --put, --restored and --clear.")
    }

    func run(in context: CommandContext) throws(RingwakeError) -> ExitStatus {
        guard let app = id?.rawValue ?? context.environment("RINGWAKE_APP") else {
            throw RingwakeError(
                .invalidRequest, "no app: give its bundle id; only a woken handler has $RINGWAKE_APP")
        }
        let client = control.client(in: context)
        let target = RequestTarget("apps", app, "state")
        if restored {
            let kept: AppStateMessage = try client.post(RequestTarget("apps", app, "restored"))
            return try show(kept, "\(TerminalText.printable(kept.app)): restored\n", in: context)
        }
        guard put != nil || clear else {
            context.output.write(bytes: try client.octets(target))
            return .success
        }
        let kept: AppStateMessage =
            if let put { try client.put(target, octets: try octets(of: put)) } else { try client.delete(target) }
        return try show(kept, "\(TerminalText.printable(kept.app)): \(kept.bytes) bytes stored\n", in: context)
    }

    private func octets(of file: String) throws(RingwakeError) -> [UInt8] {
        let octets = try InputFile.read(file, allowsStandardInput: true)
        guard octets.count <= ControlAPI.maximumStateBytes else {
            throw RingwakeError(
                .limitReached,
                "'\(file)' has \(octets.count) bytes; the daemon stores at most \(ControlAPI.maximumStateBytes). "
                    + "Store less")
        }
        return octets
    }
}
