import ArgumentParser
import ControlProtocol
import FileSystem
import RingwakeCore
import VoIPCertificates

/// `ringwake certs renew`
struct CertsRenewCommand: DaemonCommand {
    static let configuration = CommandConfiguration(
        "renew", "Renew the certificates of a development CA, and make the daemon use them.",
        examples: """
            ringwake certs renew
            ringwake certs renew --directory /etc/ringwake/certs --within 60d
            ringwake certs renew --all
            ringwake certs renew --ca
            """,
        details: """
            Renews the server certificate and the provider certificates that end soon. They
            keep names, topics, team and key, and each file keeps its owner and mode. Then
            the daemon reloads. Senders need the new provider certificate before the old one
            ends; senders with a key need nothing. With --ca they need the new ca.pem.

            The exit status is 1 if a certificate ends soon and could not be renewed, for
            example because another CA issued it.
            """)

    @Option(help: .of("path", "The directory of the CA (default: the daemon's, else the standard one)."))
    var directory: String?

    @Option(
        help: .of("duration", "Renew what ends within this time."), transform: DurationArgument.init(parsing:))
    var within = DurationArgument(.seconds(30 * 86_400))

    @Flag(help: "Renew all of them.")
    var all = false

    @Flag(help: "Renew the CA's own certificate, which keeps its key, and all others.")
    var ca = false

    @Option(
        name: .customLong("p12-password-file"),
        help: .of(
            "file",
            "A file whose first line is the password of the P12 files; - is standard input (default: "
                + "$RINGWAKE_PASSWORD, else no password)."),
        completion: .file())
    var pkcs12PasswordFile: String?

    @OptionGroup var control: ControlOptions

    /// What `--json` prints.
    struct Message: Encodable {
        var schema = ControlAPI.schema
        let directory: String
        let authority: RenewalReport.File
        let files: [RenewalReport.File]
        let daemon: DaemonState
    }

    /// What the daemon did.
    enum DaemonState: String, Encodable {
        /// It uses the new certificates.
        case reloaded
        /// Nothing that it uses has changed, or it uses another directory.
        case unchanged
        /// None runs; it reads the certificates when it starts.
        case notRunning
        /// It refused the reload; the error says why.
        case refused
    }

    func run(in context: CommandContext) throws(RingwakeError) -> ExitStatus {
        let client = control.client(in: context)
        let used = CertsRenewCommand.directoryInUse(by: client)
        let folder = directory ?? used ?? StandardDirectory.configuration(in: context) + "/certs"
        var renewal = try CertificateRenewal(directory: folder, now: WallClock.seconds())
        renewal.within = all ? .max : within.duration.components.seconds
        renewal.renewsAuthority = ca
        renewal.pkcs12Password =
            try PasswordSource.password(file: pkcs12PasswordFile, for: "the P12 files", in: context) ?? ""
        let report = try renewal.run()

        var (daemon, refusal) = (DaemonState.unchanged, RingwakeError?.none)
        do throws(RingwakeError) {
            daemon = try reload(client, after: report, used: used)
        } catch {
            (daemon, refusal) = (.refused, error)
        }
        let message = Message(
            directory: report.directory, authority: report.authority, files: report.files, daemon: daemon)
        let text = RenewalText.text(of: report, daemon: daemon)
        let status = try show(message, text, in: context)
        if let refusal {
            throw RingwakeError(
                refusal.code, "the certificates were renewed, but the daemon did not take them: \(refusal.message)")
        }
        return report.files.contains(where: \.needsAttention) ? .unusable : status
    }

    /// The directory of the running daemon's certificate; nil if no daemon answers, or it has none.
    private static func directoryInUse(by client: ControlClient) -> String? {
        // No daemon has to run for a renewal. A reload reports what is wrong with one that does.
        guard let status: StatusMessage = try? client.get(RequestTarget("status")) else { return nil }
        return status.serverCertificate.map { FileSystem.split($0.file).directory }
    }

    private func reload(
        _ client: ControlClient, after report: RenewalReport, used: String?
    ) throws(RingwakeError) -> DaemonState {
        let concerns: [DevelopmentCredentials.Kind] = [.serverCertificate, .authorityCertificate]
        guard report.renewed.contains(where: { concerns.contains($0.kind) }) else { return .unchanged }
        if let used, InputFile.absolute(used) != InputFile.absolute(report.directory) { return .unchanged }
        do throws(RingwakeError) {
            let _: ReloadMessage = try client.post(RequestTarget("reload"))
            return .reloaded
        } catch {
            guard error.code == .daemonNotRunning else { throw error }
            return .notRunning
        }
    }
}

/// The outcome of a renewal, for people.
enum RenewalText {
    static func text(of report: RenewalReport, daemon: CertsRenewCommand.DaemonState) -> String {
        var table = TextTable([.left, .left, .left])
        for file in report.files + [report.authority] {
            table.add([file.state.rawValue, TerminalText.printable(file.path), "ends " + validity(of: file)])
        }
        var lines = table.lines()
        for file in report.files {
            if let why = file.why {
                lines.append("\(TerminalText.printable(file.path)): \(TerminalText.printable(why))")
            }
        }
        lines.append("")
        if report.renewed.isEmpty { lines.append(nothing(report)) }
        if report.renewed.contains(where: { $0.kind == .providerCertificate }) {
            lines.append("Copy the renewed provider certificates to their senders before the old ones end.")
        }
        if report.renewed.contains(where: { $0.kind == .authorityCertificate }) {
            lines.append("Copy ca.pem to each sender before the old one ends; certificates of both fit.")
        } else if let days = report.authority.daysLeft, days < 365 {
            lines.append("The CA ends in \(days) days, and with it every certificate; renew it with --ca.")
        }
        switch daemon {
        case .reloaded: lines.append("The daemon uses them now.")
        case .notRunning: lines.append("No daemon runs; it reads them when it starts.")
        case .unchanged where report.renewed.contains { $0.kind == .serverCertificate }:
            lines.append("The running daemon uses another directory, so it was not reloaded.")
        case .unchanged, .refused: break
        }
        return lines.joined(separator: "\n") + "\n"
    }

    private static func nothing(_ report: RenewalReport) -> String {
        let valid = report.files.filter { $0.state == .valid }
        guard let first = valid.min(by: { ($0.daysLeft ?? .max) < ($1.daysLeft ?? .max) }) else {
            return report.files.isEmpty
                ? "Nothing to renew: the CA has issued no certificate here." : "Nothing was renewed."
        }
        return "Nothing to renew: the first one, \(TerminalText.printable(first.path)), ends \(validity(of: first))."
    }

    /// `2027-12-24T08:00:00Z (397 days left)`
    private static func validity(of file: RenewalReport.File) -> String {
        guard let notAfter = file.notAfter, let days = file.daysLeft else { return "at an unreadable date" }
        return "\(notAfter) (\(days < 0 ? "expired" : days == 1 ? "1 day left" : "\(days) days left"))"
    }
}
