import ArgumentParser
import ControlProtocol
import RingwakeCore

/// `ringwake push list`
struct PushListCommand: RunnableCommand {
    static let configuration = CommandConfiguration(
        commandName: "list",
        abstract: "List the pushes that the daemon has taken, the newest first.",
        discussion: """
            EXAMPLES:
              ringwake push list
              ringwake push list --app com.example.phone --limit 10
              ringwake push list --json | jq -r '.pushes[] | select(.state == "missed") | .apnsId'

            The daemon's journal keeps them over restarts. What was refused is not among
            them: 'ringwake status' counts refusals by reason.
            """)

    @Option(help: ArgumentHelp("Only pushes for this app (default: $RINGWAKE_APP).", valueName: "id"))
    var app: String?

    @OptionGroup var list: ListOptions
    @OptionGroup var control: ControlOptions
    @OptionGroup var output: OutputOptions

    var wantsJSON: Bool { output.json }

    func run(in context: CommandContext) throws(RingwakeError) -> ExitStatus {
        let target = RequestTarget(
            "pushes", query: [("app", app ?? context.environment("RINGWAKE_APP"))] + list.query)
        let pushes: PushListMessage = try control.client(in: context).get(target)
        context.output.write(
            wantsJSON ? try JSONText.document(pushes) : PushStateText.text(of: pushes, style: context.style))
        return .success
    }
}

/// `ringwake push show`
struct PushShowCommand: RunnableCommand {
    static let configuration = CommandConfiguration(
        commandName: "show",
        abstract: "Show what became of one push.",
        discussion: """
            EXAMPLES:
              ringwake push show 7b0e2f2a-6a39-4f0b-9d5e-0f6c2e0f8c11
              ringwake push show 7b0e2f2a-6a39-4f0b-9d5e-0f6c2e0f8c11 --json | jq .state

            The state is accepted (taken, but not durable), journaled, woken, reported,
            ringing, answered, ended, expired, missed, cancelled, restricted (kept out by
            do not disturb, a block list or a limit) or withheld (the app's handler has
            too many strikes). The timeline says for each stage when it was reached after
            the push arrived, how long it took after the stage before, and the time of
            day in UTC.
            """)

    @Argument(help: ArgumentHelp("The push's apns-id, in either case.", valueName: "apns-id"))
    var apnsID: String

    @Option(
        help: ArgumentHelp(
            "The push's app, should two apps have a push of this id (default: $RINGWAKE_APP).", valueName: "id"))
    var app: String?

    @OptionGroup var control: ControlOptions
    @OptionGroup var output: OutputOptions

    var wantsJSON: Bool { output.json }

    func run(in context: CommandContext) throws(RingwakeError) -> ExitStatus {
        let target = RequestTarget(
            "pushes", apnsID, query: [("app", app ?? context.environment("RINGWAKE_APP"))])
        let push: PushMessage = try control.client(in: context).get(target)
        context.output.write(
            wantsJSON ? try JSONText.document(push) : PushStateText.text(of: push, style: context.style))
        return .success
    }
}
