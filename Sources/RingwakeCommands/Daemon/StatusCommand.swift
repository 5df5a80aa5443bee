import ArgumentParser
import ControlProtocol
import RingwakeCore

/// `ringwake status`
struct StatusCommand: DaemonCommand {
    static let configuration = CommandConfiguration(
        "status", "Show the daemon's status.",
        examples: """
            ringwake status
            ringwake status --json | jq .pushes.refused
            ringwake status --path
            ringwake status --features
            """,
        details: """
            Shows the connection, listeners, apps, calls, accepted and refused pushes, how
            many days the server's certificate is valid, the journal's state, each
            handler's strikes, which resources of the device the daemon uses, and what
            woke the daemon up. Any local user may ask.
            """)

    @Flag(help: "Show the network path only.")
    var path = false

    @Flag(help: "Show only what the system offers, and what is lost without it.")
    var features = false

    @OptionGroup var control: ControlOptions

    func validate() throws {
        try require(!(path && features), "Give either --path or --features.")
    }

    func run(in context: CommandContext) throws(RingwakeError) -> ExitStatus {
        if features {
            let status: StatusMessage = try control.client(in: context).get(RequestTarget("status"))
            let message = FeaturesMessage(status)
            return try show(message, message.text(style: context.style), in: context)
        }
        if path {
            return try show(PathMessage.self, at: RequestTarget("path"), ReachabilityText.text, in: context)
        }
        return try show(StatusMessage.self, at: RequestTarget("status"), StatusText.text, in: context)
    }
}
