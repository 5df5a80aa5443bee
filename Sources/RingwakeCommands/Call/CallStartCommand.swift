import ArgumentParser
import ControlProtocol
import RingwakeCore

/// `ringwake call start`
struct CallStartCommand: DaemonCommand {
    static let configuration = CommandConfiguration(
        "start", "Call somebody, with an app of this device.",
        examples: """
            ringwake call start sip:bob@example.com
            ringwake call start --app com.example.phone --video sip:bob@example.com
            ringwake call start --end-others --name Bob +4989123456
            ringwake call start --json 112 | jq -r .call
            """,
        details: """
            The daemon first holds or ends other active calls, as the app's policy says,
            then asks the app's handler to call the other side. The command does not wait
            for that: 'ringwake watch' and 'ringwake call show' show how far the call is.
            During a cellular call only emergency numbers can be called.
            """)

    @Argument(help: .of("to", "Who is called: a SIP URI, a number, any handle that the app uses."))
    var other: String

    @Option(
        help: .of("id", "The app that makes the call (default: $RINGWAKE_APP, else the only app there is)."),
        completion: .apps)
    var app: String?

    @Option(help: .of("name", "The name to show."))
    var name: String?

    @Flag(help: "A call with video.")
    var video = false

    @Option(help: .of("id", "The call's id within its app (default: a new UUID)."))
    var call: String?

    @Flag(help: "End the other active calls, whatever the app's policy is.")
    var endOthers = false

    @Flag(help: "Hold the other active calls, whatever the app's policy is.")
    var holdOthers = false

    @OptionGroup var control: ControlOptions

    func validate() throws {
        try require(!endOthers || !holdOthers, "Give one of --end-others and --hold-others.")
    }

    func run(in context: CommandContext) throws(RingwakeError) -> ExitStatus {
        let client = control.client(in: context)
        let others: OtherCalls? = endOthers ? .end : holdOthers ? .hold : nil
        let start = CallStart(
            app: app ?? context.environment("RINGWAKE_APP"), to: other, name: name,
            video: video ? true : nil, call: call, others: others?.rawValue)
        let message: CallMessage = try client.post(RequestTarget("calls"), start)
        return try show(message, TerminalText.printable(CallText.summary(of: message)) + "\n", in: context)
    }
}
