import ArgumentParser
import ControlProtocol
import RingwakeCore

/// `ringwake clock`
struct ClockCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        "clock", "Say that this machine's clock is right.",
        examples: """
            ringwake clock accept
            """,
        subcommands: [ClockAcceptCommand.self])
}

/// `ringwake clock accept`
struct ClockAcceptCommand: DaemonCommand {
    static let configuration = CommandConfiguration(
        "accept", "Say that this machine's clock is right, so that pushes are accepted.",
        examples: """
            date && ringwake clock accept
            """,
        details: """
            While the clock is more than a minute behind the newest push that was
            stored, the daemon answers every push with 503: it cannot judge how old a
            push or a sender's token is. That is so on a board that has lost its time,
            and on one whose clock was once ahead. A time service ends both. Without
            one, look at the clock, set it if it is wrong, and run this: the times of
            pushes and calls in the future become the present time.
            """)

    @OptionGroup var control: ControlOptions

    func run(in context: CommandContext) throws(RingwakeError) -> ExitStatus {
        let status: StatusMessage = try control.client(in: context).post(RequestTarget("clock", "accept"))
        let clock = status.clock ?? StatusMessage.Clock(state: "right")
        return try show(clock, "the clock is taken for right: pushes are accepted\n", in: context)
    }
}
