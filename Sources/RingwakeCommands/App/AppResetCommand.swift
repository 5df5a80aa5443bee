import ArgumentParser
import ControlProtocol
import RingwakeCore

/// `ringwake app reset`
struct AppResetCommand: DaemonCommand {
    static let configuration = CommandConfiguration(
        "reset", "Force the end of an app: end its calls, stop its handlers, drop its stored state.",
        examples: """
            ringwake app reset com.example.phone
            """,
        details: """
            Use it when an app is stuck. Its calls end without asking its handlers; one
            that has not rung is missed. What the app has stored ('ringwake app state') is
            gone when the command returns. A handler that connected by itself only loses
            its connection: the daemon did not start it, and does not stop it. The next
            push starts the app again. Its tokens, strikes and settings stay.
            """)

    @Argument(help: .of("id", "The app's bundle id, or its first characters."), completion: .apps)
    var id: AppID

    @OptionGroup var control: ControlOptions

    func run(in context: CommandContext) throws(RingwakeError) -> ExitStatus {
        let client = control.client(in: context)
        let done = try AppChoice(client: client).use(id) { (id) throws(RingwakeError) -> AppResetMessage in
            try client.post(RequestTarget("apps", id, "reset"))
        }
        let text =
            "\(TerminalText.printable(done.app)): ended \(done.calls) calls, stopped \(done.handlers) handlers, "
            + "dropped \(done.bytes) bytes of its state\n"
        return try show(done, text, in: context)
    }
}
