import ArgumentParser
import ControlProtocol
import RingwakeCore

/// `ringwake call list`
struct CallListCommand: DaemonCommand {
    static let configuration = CommandConfiguration(
        "list", "List the calls in progress, then the call log; the newest first.",
        examples: """
            ringwake call list
            ringwake call list --missed --limit 10
            ringwake call list --app com.example.phone --json | jq '.calls[0].reason'
            """,
        details: """
            The daemon's journal keeps the log over restarts. A missed call is one that
            nobody answered or declined, on this device or another; a call that a block
            list stopped is not missed. --limit applies to the log only; --before leaves
            out the calls in progress. Times are local on a terminal, and UTC in a pipe.
            """)

    @Flag(help: "List missed calls only.")
    var missed = false

    @Option(help: .of("id", "Only calls of this app (default: $RINGWAKE_APP)."), completion: .apps)
    var app: String?

    @OptionGroup var list: ListOptions
    @OptionGroup var control: ControlOptions

    func run(in context: CommandContext) throws(RingwakeError) -> ExitStatus {
        let app = app ?? context.environment("RINGWAKE_APP")
        let target = RequestTarget(
            "calls", query: [("app", app), ("missed", missed ? "true" : nil)] + list.query)
        return try show(CallListMessage.self, at: target, CallText.text, in: context)
    }
}

/// `ringwake call show`
struct CallShowCommand: CallSubcommand {
    static let configuration = CommandConfiguration(
        "show", "Show a call and its timeline.",
        examples: """
            ringwake call show
            ringwake call show 7b0e
            ringwake call show --json 7b0e2f2a-6a39-4f0b-9d5e-0f6c2e0f8c11 | jq .timeline
            """,
        details: """
            For each stage the timeline shows the time since the push arrived, the time
            since the previous stage, and the time of day: local time on a terminal, UTC in
            a pipe.
            """)

    @Argument(help: .usersCall(.looking), completion: .calls(nil))
    var id: String?

    @OptionGroup var options: CallOptions

    func run(in context: CommandContext) throws(RingwakeError) -> ExitStatus {
        let client = control.client(in: context)
        var choice = options.choice("show", of: .looking, by: client, in: context)
        choice.includesEnded = true
        let call = try choice.use(id ?? context.environment("RINGWAKE_CALL")) {
            (reference) throws(RingwakeError) -> CallMessage in
            try client.get(RequestTarget("calls", reference.id, query: [("app", reference.app)]))
        }
        return try show(call, CallText.text(of: call, style: context.style), in: context)
    }
}
