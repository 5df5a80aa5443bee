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
            Counts how often the sleeping daemon woke up. It does not wake up while nothing
            happens. It has timers only for the deadlines of open calls and connections, and
            for an app's host name that has no answer: it looks the name up again, after
            longer and longer times, up to 15 minutes. Any local user may ask.
            """)

    @OptionGroup var control: ControlOptions

    func run(in context: CommandContext) throws(RingwakeError) -> ExitStatus {
        let status: StatusMessage = try control.client(in: context).get(RequestTarget("status"))
        let report = PowerReport(status)
        return try show(report, report.text(style: context.style), in: context)
    }
}
