import ArgumentParser
import ControlProtocol
import RingwakeCore

/// `ringwake doctor`
struct DoctorCommand: DaemonCommand {
    static let configuration = CommandConfiguration(
        "doctor", "Check everything that can keep this device from ringing.",
        examples: """
            ringwake doctor
            sudo ringwake doctor
            ringwake doctor --json | jq '.findings[] | select(.state != "ok")'
            """,
        details: """
            Checks the configuration, certificates, teams, apps, handlers, ports, clock,
            kernel, store, backups, buses and audio, whether the daemon runs or not, and
            changes nothing. Each line is ok, or is followed by what to do. Root and the
            daemon's user see all of it.

            The exit status is 0 if the device rings, and 1 if something keeps it from
            ringing or will soon, or if backups on a schedule are not made. If the first
            problem is one of these, it is
              3  the daemon does not run
              4  this user may not read the configuration
              6  the daemon does not answer in time
              8  what answers is not a daemon of this version
              9  the configuration is wrong
            """)

    @Option(
        help: .of("file", "The configuration (default: the running daemon's, else the system's or this user's)."),
        completion: .file())
    var config: String?

    @OptionGroup var control: ControlOptions

    func run(in context: CommandContext) throws(RingwakeError) -> ExitStatus {
        let facts = DoctorFacts(configurationFile: config, client: control.client(in: context), in: context)
        let report = Doctor.examine(facts)
        _ = try show(report, report.text(style: context.style), in: context)
        return report.exitStatus
    }
}
