import ArgumentParser
import ControlProtocol
import RingwakeCore

/// `ringwake power`
struct PowerCommand: DaemonCommand {
    static let configuration = CommandConfiguration(
        "power", "Show what wakes the daemon up, and how often.",
        examples: """
            ringwake power
            ringwake power --json | jq '.causes[] | select(.perHour > 60)'
            """,
        details: """
            A wakeup is counted each time the sleeping daemon is woken. Nothing wakes it while
            nothing happens: there are no timers but the deadlines of calls and
            connections that are open, and those to ask again for an app's host name that
            had no answer, at last every 15 minutes. Any local user may ask.
            """)

    @OptionGroup var control: ControlOptions

    func run(in context: CommandContext) throws(RingwakeError) -> ExitStatus {
        let status: StatusMessage = try control.client(in: context).get(RequestTarget("status"))
        let report = PowerReport(status)
        return try show(report, report.text(style: context.style), in: context)
    }
}
