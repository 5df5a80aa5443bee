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
            If ringwaked.toml, a drop-in or a certificate is wrong, nothing changes, and the
            message names file and line. A wrong file of an app or a team is set aside: what
            it said before stays in force, the rest is applied, and the exit status is 9.
            """)

    @OptionGroup var control: ControlOptions

    func run(in context: CommandContext) throws(RingwakeError) -> ExitStatus {
        let reload: ReloadMessage = try control.client(in: context).post(RequestTarget("reload"))
        var lines = ["reloaded: " + (reload.apps.isEmpty ? "no apps" : reload.apps.joined(separator: ", "))]
        if !reload.needsRestart.isEmpty {
            lines.append("takes effect after a restart only: " + reload.needsRestart.joined(separator: ", "))
        }
        lines += SetAsideText.lines(reload.setAside)
        let text = lines.map(TerminalText.printable).joined(separator: "\n") + "\n"
        let status = try show(reload, text, in: context)
        return reload.setAside?.isEmpty == false ? .badConfiguration : status
    }
}
