import ArgumentParser
import ControlProtocol
import RingwakeCore

/// `ringwake watch`
struct WatchCommand: RunnableCommand {
    static let configuration = CommandConfiguration(
        commandName: "watch",
        abstract: "Show what happens, as it happens.",
        discussion: """
            EXAMPLES:
              ringwake watch
              ringwake watch --app com.example.phone
              ringwake watch --json --count 1 --timeout 30s
              ringwake watch --json | jq 'select(.state == "ringing")'

            Begins with where each matching call stands now. With --json, one JSON object
            a line. Ends after --count events, after --timeout, when the daemon stops, or
            with Ctrl-C. When --count events did not come before --timeout, the exit
            status is 6.
            """)

    @Option(help: ArgumentHelp("Only events of this app (default: $RINGWAKE_APP).", valueName: "id"))
    var app: String?

    @Option(help: ArgumentHelp("Only events of this call.", valueName: "id"))
    var call: String?

    @Option(help: ArgumentHelp("End after this many events.", valueName: "n"))
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
        let target = RequestTarget(
            "events", query: [("app", app ?? context.environment("RINGWAKE_APP")), ("call", call)])
        let stream = try control.client(in: context).events(target)
        let printer = EventPrinter(wantsJSON: wantsJSON, count: count, timeout: timeout?.duration)
        try printer.print(stream, in: context)
        return .success
    }
}
