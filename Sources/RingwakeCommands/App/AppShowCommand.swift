import ArgumentParser
import ControlProtocol
import RingwakeCore

/// `ringwake app show`
struct AppShowCommand: DaemonCommand {
    static let configuration = CommandConfiguration(
        "show", "Show an app: its topic, its tokens, how its handler is woken, and its strikes.",
        examples: """
            ringwake app show com.example.phone
            ringwake app show com.example.phone --json | jq -r .tokens.development
            ringwake app show com.example.phone --pn
            ringwake app show com.example.phone --pn --team TEAM123456
            """,
        details: """
            --pn prints the parameters of RFC 8599 that a SIP client adds to the URI in its
            Contact, so that its SIP server can send it pushes:
              sip:alice@192.0.2.7;pn-provider=apns;pn-param=...;pn-prid=...
            """)

    @Argument(help: .of("id", "The app's bundle id, or its first characters."), completion: .apps)
    var id: AppID

    @Flag(help: "Show only the parameters for the Contact of a SIP client (RFC 8599).")
    var pn = false

    @Option(help: .of("id", "With --pn: the team that pushes; required if several may."), completion: .teams)
    var team: String?

    @Option(
        help: .of(
            "environment", "With --pn: the token's environment, development or production; required if it has both."))
    var environment: PushEnvironment?

    @OptionGroup var control: ControlOptions

    func validate() throws {
        try require(pn || (team == nil && environment == nil), "--team and --environment belong to --pn.")
    }

    func run(in context: CommandContext) throws(RingwakeError) -> ExitStatus {
        let client = control.client(in: context)
        let app = try AppChoice(client: client).use(id) { (id) throws(RingwakeError) -> AppMessage in
            try client.get(RequestTarget("apps", id))
        }
        if pn {
            let parameters = try ContactParameters(of: app, team: team, environment: environment)
            return try show(parameters, TerminalText.printable(parameters.parameters) + "\n", in: context)
        }
        return try show(app, AppText.text(of: app, style: context.style), in: context)
    }
}

/// `ringwake app clear-strikes`
struct AppClearStrikesCommand: DaemonCommand {
    static let configuration = CommandConfiguration(
        "clear-strikes", "Clear the strikes of an app's handler; it is started again for new pushes.",
        examples: """
            ringwake app clear-strikes com.example.phone
            """,
        details: """
            A handler gets a strike if it does not report its call, exits during a call or
            hangs. A handler with too many strikes is no longer started. Its pushes are
            recorded; the app's fallback says whether their calls ring or are missed.
            'ringwake app show' lists the strikes.
            """)

    @Argument(help: .of("id", "The app's bundle id, or its first characters."), completion: .apps)
    var id: AppID

    @OptionGroup var control: ControlOptions

    func run(in context: CommandContext) throws(RingwakeError) -> ExitStatus {
        let client = control.client(in: context)
        let app = try AppChoice(client: client).use(id) { (id) throws(RingwakeError) -> AppMessage in
            try client.delete(RequestTarget("apps", id, "strikes"))
        }
        let name = TerminalText.printable(app.app)
        return try show(app, "cleared: the handler of \(name) has no strikes now\n", in: context)
    }
}
