import ArgumentParser
import ControlProtocol
import FileSystem
import RingwakeCore

/// The options of every command that uses the daemon.
struct ControlOptions: ParsableArguments {
    @Option(
        help: .of(
            "path",
            "The daemon's control socket (default: $RINGWAKE_SOCKET, else the system's or this user's). "
                + "May stand before the command too."),
        completion: .file())
    var socket: String?

    @OptionGroup var output: OutputOptions

    /// A client of the daemon that the options and the environment name.
    func client(in context: CommandContext) -> ControlClient {
        ControlOptions.client(of: socket, environment: context.environment, userID: context.userID)
    }

    /// A client of the daemon at `socket`, or at the place that the environment names.
    static func client(
        of socket: String?, environment: (String) -> String?, userID: UInt32
    ) -> ControlClient {
        let path = ControlSocketPath.find(
            option: socket, environment: environment, userID: userID, exists: FileSystem.exists)
        return ControlClient(path: path, secret: environment("RINGWAKE_WAKE_SECRET"))
    }
}
