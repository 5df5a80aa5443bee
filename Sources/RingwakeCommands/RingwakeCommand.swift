import ArgumentParser
import ControlProtocol

/// The root of the command line.
struct RingwakeCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        "ringwake", "Control ringwaked, which wakes call handlers on Linux for APNs VoIP pushes.",
        examples: """
            ringwake setup
            ringwake status
            ringwake doctor
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
            OPTIONS OF EVERY COMMAND:
              --json            print JSON
              --socket <path>   the daemon's control socket, for commands that use it;
                                both may stand before the command too

            SHELL COMPLETION:
              source <(ringwake --generate-completion-script bash)
              completes commands, options, and values: calls, apps, lists, outputs

            EXIT STATUS:
              0 success, 1 failure, 2 wrong usage, 3 daemon not running,
              4 not permitted, 5 not found, 6 timed out, 7 push refused,
              8 unreachable, 9 wrong configuration

            ENVIRONMENT:
              The daemon sets RINGWAKE_SOCKET, RINGWAKE_APP, RINGWAKE_CALL and
              RINGWAKE_WAKE_SECRET for a handler that it wakes; here they are
              defaults. RINGWAKE_PASSWORD is the password of a P12 file or key.
              NO_COLOR turns colours off.
            """,
        version: "ringwake \(ProductVersion.current)",
        subcommands: needed(for: CommandLine.arguments.dropFirst().first))

    private static let all: [any ParsableCommand.Type] = [
        StatusCommand.self, DoctorCommand.self, ReachabilityCommand.self, PowerCommand.self, WatchCommand.self,
        ReloadCommand.self, SetupCommand.self, ConfigCommand.self, ClockCommand.self, AppCommand.self, TeamCommand.self,
        CallCommand.self, AudioCommand.self, DoNotDisturbCommand.self, BlockCommand.self, PushCommand.self,
        CertsCommand.self, GatewayCommand.self, LinkCommand.self, StoreCommand.self, BackupCommand.self,
        IdentityCommand.self, ProtectionCommand.self, TelephonyCommand.self,
    ]

    /// The command that the program's first word names, alone: the parser builds the tree of each, which is a quarter
    /// of the time of a short command. Help, completion and the search for a mistake need all.
    private static func needed(for word: String?) -> [any ParsableCommand.Type] {
        all.first { $0._commandName == word }.map { [$0] } ?? all
    }
}
