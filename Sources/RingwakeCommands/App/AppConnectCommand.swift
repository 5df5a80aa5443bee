import ArgumentParser
import ControlProtocol
import RingwakeCore

/// `ringwake app connect`
struct AppConnectCommand: RunnableCommand {
    static let configuration = CommandConfiguration(
        commandName: "connect",
        abstract: "Handler: keep a connection, and print each push and event as one line of JSON.",
        discussion: """
            EXAMPLES:
              ringwake app connect com.example.phone
              ringwake app connect com.example.phone | while read -r line; do
                case $(jq -r .event <<< "$line") in
                handler) export RINGWAKE_WAKE_SECRET=$(jq -r .secret <<< "$line") ;;
                wake) ringwake call report "$(jq -r .push.call <<< "$line")" --ring ;;
                esac
              done

            While it runs the app has a connected handler: a push is printed here (wake),
            and nothing is started for it. The first line (handler) has the secret that
            the handler's requests are made with.
            """)

    @Argument(help: ArgumentHelp("The app's bundle id (default: $RINGWAKE_APP).", valueName: "id"))
    var id: AppIDArgument?

    @Option(help: ArgumentHelp("End after this many lines.", valueName: "n"))
    var count: Int?

    @Option(help: ArgumentHelp("End after this long: 30s, 5m.", valueName: "duration"))
    var timeout: DurationArgument?

    @OptionGroup var control: ControlOptions
    @OptionGroup var output: OutputOptions

    var wantsJSON: Bool { output.json }

    func validate() throws {
        if let count, count < 1 {
            throw ValidationError("--count is 1 or more.")
        }
    }

    func run(in context: CommandContext) throws(RingwakeError) -> ExitStatus {
        guard let app = id?.app.rawValue ?? context.environment("RINGWAKE_APP") else {
            throw RingwakeError(
                .invalidRequest, "which app? give its bundle id; only a woken handler has $RINGWAKE_APP")
        }
        let stream = try control.client(in: context).events(RequestTarget("apps", app, "handler"))
        // JSON with or without --json: it is there for programs, and holds payloads.
        let printer = EventPrinter(wantsJSON: true, count: count, timeout: timeout?.duration)
        try printer.print(stream, in: context)
        return .success
    }
}
