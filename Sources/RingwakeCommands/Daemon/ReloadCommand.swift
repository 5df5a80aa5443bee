import ArgumentParser
import ControlProtocol
import RingwakeCore

/// `ringwake reload`
struct ReloadCommand: RunnableCommand {
    static let configuration = CommandConfiguration(
        commandName: "reload",
        abstract: "Make the daemon read its configuration and certificates again.",
        discussion: """
            EXAMPLES:
              ringwake reload
              ringwake reload --json

            The daemon reads everything first and changes over only when all of it is
            right; else it keeps what it has, and the message names file and line.
            """)

    @OptionGroup var control: ControlOptions
    @OptionGroup var output: OutputOptions

    var wantsJSON: Bool { output.json }

    func run(in context: CommandContext) throws(RingwakeError) -> ExitStatus {
        let reload: ReloadMessage = try control.client(in: context).post(RequestTarget("reload"))
        if wantsJSON {
            context.output.write(try JSONText.document(reload))
            return .success
        }
        var lines = ["reloaded: " + (reload.apps.isEmpty ? "no apps" : reload.apps.joined(separator: ", "))]
        if !reload.needsRestart.isEmpty {
            lines.append("takes effect after a restart only: " + reload.needsRestart.joined(separator: ", "))
        }
        context.output.write(lines.map(TerminalText.printable).joined(separator: "\n") + "\n")
        return .success
    }
}
