import ArgumentParser
import ControlProtocol
import RingwakeCore

/// `ringwake app connect`
struct AppConnectCommand: DaemonCommand {
    static let configuration = CommandConfiguration(
        "connect", "Handler: keep a connection open; print each push and event as one line of JSON.",
        examples: """
            ringwake app connect com.example.phone
            ringwake app connect com.example.phone | while read -r line; do
              case $(jq -r .event <<< "$line") in
              handler) export RINGWAKE_WAKE_SECRET=$(jq -r .secret <<< "$line") ;;
              wake) ringwake call report "$(jq -r .push.call <<< "$line")" --ring ;;
              esac
            done
            """,
        details: """
            While this command runs, the app has a connected handler: the command prints
            each push (wake), and the daemon starts nothing for it. The first line
            (handler) has the secret for the handler's requests.
            """)

    @Argument(help: .of("id", "The app's bundle id (default: $RINGWAKE_APP)."), completion: .apps)
    var id: AppID?

    @OptionGroup var stream: StreamOptions
    @OptionGroup var control: ControlOptions

    func run(in context: CommandContext) throws(RingwakeError) -> ExitStatus {
        guard let app = id?.rawValue ?? context.environment("RINGWAKE_APP") else {
            throw RingwakeError(
                .invalidRequest, "no app: give its bundle id; only a woken handler has $RINGWAKE_APP")
        }
        let events = try control.client(in: context).events(RequestTarget("apps", app, "handler"))
        // Always JSON: the output is for programs, and contains payloads.
        var printer = stream.printer(wantsJSON: true, in: context)
        guard case .done = try printer.print(events) else { throw EventPrinter.closed }
        return .success
    }
}
