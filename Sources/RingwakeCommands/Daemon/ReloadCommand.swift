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
        let reload = try reload(control.client(in: context))
        let wrong = reload.setAside?.count ?? 0
        var lines = [
            wrong > 0
                ? "reloaded, except \(wrong == 1 ? "one file that is" : "\(wrong) files that are") wrong:"
                : "reloaded: " + (reload.apps.isEmpty ? "no apps" : reload.apps.joined(separator: ", "))
        ]
        lines += SetAsideText.lines(reload.setAside)
        lines += (reload.problems ?? []).map { "cannot work: \($0)" }
        if !reload.needsRestart.isEmpty {
            lines.append("takes effect after a restart only: " + reload.needsRestart.joined(separator: ", "))
        }
        let text = lines.map(TerminalText.printable).joined(separator: "\n") + "\n"
        let status = try show(reload, text, in: context)
        return wrong > 0 ? .badConfiguration : status
    }

    /// Asks the daemon. It refuses operators, whom polkit lets ask systemd.
    private func reload(_ client: ControlClient) throws(RingwakeError) -> ReloadMessage {
        do throws(RingwakeError) {
            return try client.post(RequestTarget("reload"))
        } catch {
            guard error.code == .notPermitted, OwnGroups.contains(ReloadCommand.operators) else { throw error }
            throw RingwakeError(
                error.code,
                "\(error.message); as a member of \(ReloadCommand.operators) run 'systemctl reload ringwaked' instead")
        }
    }

    /// The group of deploy/polkit/50-ringwake.rules and deploy/sysusers.d.
    private static let operators = "ringwake-operators"
}
