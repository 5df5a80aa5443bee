import ArgumentParser
import ControlProtocol
import RingwakeCore

/// `ringwake config`
struct ConfigCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        "config", "Show the daemon's settings.",
        examples: """
            ringwake config show
            ringwake config show --origin
            """,
        subcommands: [ConfigShowCommand.self])
}

/// `ringwake config show`
struct ConfigShowCommand: DaemonCommand {
    static let configuration = CommandConfiguration(
        "show", "Show the settings of ringwaked.toml and its drop-ins.",
        examples: """
            ringwake config show
            ringwake config show --origin
            ringwake config show --origin --json
            """,
        details: """
            Reads the files of the running daemon, or else the standard ones, as the daemon
            reads them. A running daemon uses what they said at its last reload;
            'ringwake status' names what waits for a restart. The exit status is 9 if a file
            is wrong, also that of an app or a team.
            """)

    @Flag(help: "Show the file and line of each setting, and the defaults of the others.")
    var origin = false

    @OptionGroup var control: ControlOptions

    /// What `--json` prints.
    struct Message: Encodable {
        var schema = ControlAPI.schema
        let file: String
        let settings: [ConfigurationMessage.Setting]
        let failures: [String]
    }

    func run(in context: CommandContext) throws(RingwakeError) -> ExitStatus {
        let configuration = try Teams(control, in: context).configuration
        let settings = configuration.settings.filter { origin || $0.file != nil }
        var table = TextTable([.left, .left])
        for setting in settings {
            var cells = ["\(setting.key) = \(setting.value)"]
            if origin { cells.append("# " + (setting.file.map { "\($0):\(setting.line ?? 0)" } ?? "default")) }
            table.add(cells.map(TerminalText.printable))
        }
        for failure in configuration.failures {
            context.errors.write("ringwake: \(TerminalText.printable(failure))\n")
        }
        let message = Message(file: configuration.file, settings: settings, failures: configuration.failures)
        let status = try show(message, table.lines().map { $0 + "\n" }.joined(), in: context)
        return configuration.failures.isEmpty ? status : .badConfiguration
    }
}
