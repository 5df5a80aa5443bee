import ArgumentParser
import ControlProtocol
import RingwakeCore

/// `ringwake status`
struct StatusCommand: DaemonCommand {
    static let configuration = CommandConfiguration(
        "status", "Show what the daemon is doing.",
        examples: """
            ringwake status
            ringwake status --json | jq .pushes.refused
            ringwake status --path
            """,
        details: """
            Shows whether it is connected and how, listeners, apps, calls, what became of
            the pushes, the days that the server's certificate has left, whether the
            journal works, which apps' handlers did not do their part how often (strikes),
            and what woke the daemon up how often. Any local user may ask.
            """)

    @Flag(help: "Only what the network offers.")
    var path = false

    @OptionGroup var control: ControlOptions

    func run(in context: CommandContext) throws(RingwakeError) -> ExitStatus {
        if path {
            let path: PathMessage = try control.client(in: context).get(ControlTarget(["path"]))
            return try show(path, ReachabilityText.text(of: path, style: context.style), in: context)
        }
        let status: StatusMessage = try control.client(in: context).get(ControlTarget(["status"]))
        let text = wantsJSON ? try JSONText.document(status) : StatusText.text(of: status, style: context.style)
        context.output.write(text)
        return .success
    }
}
