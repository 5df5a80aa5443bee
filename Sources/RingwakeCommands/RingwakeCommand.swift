import ArgumentParser
import ControlProtocol

/// The root of the command line.
struct RingwakeCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        "ringwake", "Wake call handlers on Linux by APNs VoIP pushes: the command line of ringwaked.",
        examples: """
            ringwake status
            ringwake reachability sip.example.org
            ringwake app add com.example.phone --exec /usr/bin/phone-handler
            ringwake certs dev-ca --app com.example.phone --directory ~/ringwake-certs
            ringwake push --app com.example.phone --trace
            ringwake call list --missed
            ringwake audio run --options duckOthers -- aplay message.wav
            ringwake dnd on --until 07:00
            ringwake block add +49900123456
            ringwake watch --json
            """,
        details: """
            EXIT STATUS:
              0 done, 1 failed, 2 wrong usage, 3 daemon not running,
              4 not permitted, 5 not found, 6 timed out, 7 push refused,
              8 unreachable, 9 wrong configuration

            ENVIRONMENT:
              RINGWAKE_SOCKET, RINGWAKE_APP, RINGWAKE_CALL and
              RINGWAKE_WAKE_SECRET are set for a handler that was woken, and
              are defaults here. NO_COLOR turns colours off.
            """,
        version: "ringwake \(ProductVersion.current)",
        subcommands: [
            StatusCommand.self, ReachabilityCommand.self, PowerCommand.self, WatchCommand.self, ReloadCommand.self,
            AppCommand.self, CallCommand.self, AudioCommand.self, DoNotDisturbCommand.self, BlockCommand.self,
            PushCommand.self,
            CertsCommand.self,
        ])

    init() {}
}
