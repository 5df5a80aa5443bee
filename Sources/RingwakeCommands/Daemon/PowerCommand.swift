import ArgumentParser
import ControlProtocol
import RingwakeCore

/// `ringwake power`
struct PowerCommand: RunnableCommand {
    static let configuration = CommandConfiguration(
        commandName: "power",
        abstract: "Show what wakes the daemon up, and how often.",
        discussion: """
            EXAMPLES:
              ringwake power
              ringwake power --json | jq '.causes[] | select(.perHour > 60)'

            A wakeup is a time that the daemon slept and was woken. Nothing wakes it when
            nothing happens: there are no timers but the deadlines of calls and
            connections that are open, and those to ask again for an app's host name that
            had no answer, at last every 15 minutes. Any local user may ask.
            """)

    @OptionGroup var control: ControlOptions
    @OptionGroup var output: OutputOptions

    var wantsJSON: Bool { output.json }

    func run(in context: CommandContext) throws(RingwakeError) -> ExitStatus {
        let status: StatusMessage = try control.client(in: context).get(RequestTarget("status"))
        let report = PowerReport(status)
        context.output.write(wantsJSON ? try JSONText.document(report) : report.text(style: context.style))
        return .success
    }
}
