import ArgumentParser
import ControlProtocol
import RingwakeCore

/// `ringwake reload`
struct ReloadCommand: DaemonCommand {
    static let configuration = CommandConfiguration(
        "reload", "Make the daemon read its configuration and certificates again.",
        examples: """
            ringwake reload
            ringwake reload --json
            """,
        details: """
            The daemon checks everything first and applies it only if all of it is valid;
            otherwise nothing changes, and the message names file and line.
            """)

    @OptionGroup var control: ControlOptions

    func run(in context: CommandContext) throws(RingwakeError) -> ExitStatus {
        let reload: ReloadMessage = try control.client(in: context).post(RequestTarget("reload"))
        var lines = ["reloaded: " + (reload.apps.isEmpty ? "no apps" : reload.apps.joined(separator: ", "))]
        if !reload.needsRestart.isEmpty {
            lines.append("takes effect after a restart only: " + reload.needsRestart.joined(separator: ", "))
        }
        return try show(reload, lines.map(TerminalText.printable).joined(separator: "\n") + "\n", in: context)
    }
}
