import ArgumentParser
import ControlProtocol
import RingwakeCore

/// `ringwake status`
struct StatusCommand: RunnableCommand {
    static let configuration = CommandConfiguration(
        commandName: "status",
        abstract: "Show what the daemon is doing.",
        discussion: """
            EXAMPLES:
              ringwake status
              ringwake status --json | jq .pushes.refused
              ringwake status --path

            Shows whether it is connected and how, listeners, apps, calls, what became of
            the pushes, the days that the server's certificate has left, whether the
            journal works, which apps' handlers did not do their part how often (strikes),
            and what woke the daemon up how often. Any local user may ask.
            """)

    @Flag(help: "Only what the network offers.")
    var path = false

    @OptionGroup var control: ControlOptions
    @OptionGroup var output: OutputOptions

    var wantsJSON: Bool { output.json }

    func run(in context: CommandContext) throws(RingwakeError) -> ExitStatus {
        if path {
            let path: PathMessage = try control.client(in: context).get(RequestTarget("path"))
            context.output.write(
                wantsJSON ? try JSONText.document(path) : ReachabilityText.text(of: path, style: context.style))
            return .success
        }
        let status: StatusMessage = try control.client(in: context).get(RequestTarget("status"))
        let text = wantsJSON ? try JSONText.document(status) : StatusText.text(of: status, style: context.style)
        context.output.write(text)
        return .success
    }
}
