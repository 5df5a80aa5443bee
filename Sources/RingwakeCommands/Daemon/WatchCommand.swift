import ArgumentParser
import ControlProtocol
import RingwakeCore

/// `ringwake watch`
struct WatchCommand: DaemonCommand {
    static let configuration = CommandConfiguration(
        "watch", "Show events as they happen.",
        examples: """
            ringwake watch
            ringwake watch --app com.example.phone
            ringwake watch --json --count 1 --timeout 30s
            ringwake watch --json | jq 'select(.state == "ringing")'
            """,
        details: """
            Begins with the current state of each matching call. With --json, prints one
            JSON object per line. Exits after --count events, after --timeout, when the
            daemon stops, or with Ctrl-C. If fewer than --count events arrive before
            --timeout, the exit status is 6.
            """)

    @Option(help: .of("id", "Only events of this app (default: $RINGWAKE_APP)."))
    var app: String?

    @Option(help: .of("id", "Only events of this call."))
    var call: String?

    @OptionGroup var stream: StreamOptions
    @OptionGroup var control: ControlOptions

    func run(in context: CommandContext) throws(RingwakeError) -> ExitStatus {
        let target = RequestTarget(
            "events", query: [("app", app ?? context.environment("RINGWAKE_APP")), ("call", call)])
        let events = try control.client(in: context).events(target)
        try stream.print(events, wantsJSON: wantsJSON, in: context)
        return .success
    }
}
