import ArgumentParser
import ControlProtocol
import RingwakeCore

/// `ringwake app show`
struct AppShowCommand: RunnableCommand {
    static let configuration = CommandConfiguration(
        commandName: "show",
        abstract: "Show an app: its topic, its tokens, how it is woken, and its handler's strikes.",
        discussion: """
            EXAMPLES:
              ringwake app show com.example.phone
              ringwake app show com.example.phone --json | jq -r .tokens.development
              ringwake app show com.example.phone --pn
              ringwake app show com.example.phone --pn --team TEAM123456

            --pn prints the parameters of RFC 8599 that a SIP client adds to the URI in its
            Contact, so that its SIP server can push to it:
              sip:alice@192.0.2.7;pn-provider=apns;pn-param=...;pn-prid=...
            """)

    @Argument(help: ArgumentHelp("The app's bundle id.", valueName: "id"))
    var id: AppIDArgument

    @Flag(help: "Only the parameters for the Contact of a SIP client (RFC 8599).")
    var pn = false

    @Option(help: ArgumentHelp("With --pn: the team that pushes; needed where several may.", valueName: "id"))
    var team: String?

    @Option(
        help: ArgumentHelp(
            "With --pn: which token: development or production; needed where it has both.",
            valueName: "environment"))
    var environment: PushEnvironment?

    @OptionGroup var control: ControlOptions
    @OptionGroup var output: OutputOptions

    var wantsJSON: Bool { output.json }

    func validate() throws {
        guard pn || (team == nil && environment == nil) else {
            throw ValidationError("--team and --environment belong to --pn.")
        }
    }

    func run(in context: CommandContext) throws(RingwakeError) -> ExitStatus {
        let app: AppMessage = try control.client(in: context).get(RequestTarget("apps", id.app.rawValue))
        if pn {
            let parameters = try ContactParameters(of: app, team: team, environment: environment)
            context.output.write(
                wantsJSON
                    ? try JSONText.document(parameters) : TerminalText.printable(parameters.parameters) + "\n")
            return .success
        }
        context.output.write(
            wantsJSON ? try JSONText.document(app) : AppText.text(of: app, style: context.style))
        return .success
    }
}

/// `ringwake app clear-strikes`
struct AppClearStrikesCommand: RunnableCommand {
    static let configuration = CommandConfiguration(
        commandName: "clear-strikes",
        abstract: "Forgive an app's handler; it is started again for pushes that come from now on.",
        discussion: """
            EXAMPLES:
              ringwake app clear-strikes com.example.phone

            A handler that does not report its calls, exits in them or hangs gets strikes,
            and with too many it is not started any more: its pushes are recorded, and ring
            or are missed as the app's fallback says. 'ringwake app show' lists them.
            """)

    @Argument(help: ArgumentHelp("The app's bundle id.", valueName: "id"))
    var id: AppIDArgument

    @OptionGroup var control: ControlOptions
    @OptionGroup var output: OutputOptions

    var wantsJSON: Bool { output.json }

    func run(in context: CommandContext) throws(RingwakeError) -> ExitStatus {
        let app: AppMessage = try control.client(in: context).delete(
            RequestTarget("apps", id.app.rawValue, "strikes"))
        context.output.write(
            wantsJSON ? try JSONText.document(app) : "cleared: the handler of \(id.app) has no strikes now\n")
        return .success
    }
}
