import ArgumentParser
import ControlProtocol
import RingwakeCore

/// `ringwake app renew-tokens`
struct AppRenewTokensCommand: DaemonCommand {
    static let configuration = CommandConfiguration(
        "renew-tokens", "Give an app new device tokens; pushes to the former ones are refused.",
        examples: """
            ringwake app renew-tokens com.example.phone
            """,
        details: """
            Use it when somebody has a token who should not. Senders get 410 ExpiredToken
            for the former tokens, and cannot reach the app until they know the new ones.
            A connected handler is told with the event 'credentials'.
            """)

    @Argument(help: .of("id", "The app's bundle id, or its first characters."), completion: .apps)
    var id: AppID

    @OptionGroup var control: ControlOptions

    func run(in context: CommandContext) throws(RingwakeError) -> ExitStatus {
        let client = control.client(in: context)
        let app = try AppChoice(client: client).use(id) { (id) throws(RingwakeError) -> AppMessage in
            try client.post(RequestTarget("apps", id, "tokens"))
        }
        return try show(app, AppText.text(of: app, style: context.style), in: context)
    }
}
