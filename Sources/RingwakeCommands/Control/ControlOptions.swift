import ArgumentParser
import ControlProtocol
import FileSystem
import RingwakeCore

/// The options of every command that uses the daemon.
struct ControlOptions: ParsableArguments {
    @Option(
        help: .of("path", "The daemon's control socket (default: $RINGWAKE_SOCKET, else the system's or this user's)."))
    var socket: String?

    @OptionGroup var output: OutputOptions

    /// A client of the daemon that the options and the environment name.
    func client(in context: CommandContext) -> ControlClient {
        let path = ControlSocketPath.find(
            option: socket, environment: context.environment, userID: context.userID, exists: FileSystem.exists)
        return ControlClient(path: path, secret: context.environment("RINGWAKE_WAKE_SECRET"))
    }
}
