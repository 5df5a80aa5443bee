import ArgumentParser
import ControlProtocol
import RingwakeCore
import VoIPCertificates

/// `ringwake certs import`
struct CertsImportCommand: RunnableCommand {
    static let configuration = CommandConfiguration(
        "import", "Join a provider certificate from Apple's portal or another CA with its key.",
        examples: """
            ringwake certs import voip_services.cer
            ringwake certs import voip_services.cer --key ~/phone.key --directory ~/certs
            ringwake certs import voip-services.p12 --password-file p12-password
            """,
        details: """
            Reads DER (.cer), PEM or P12 and writes voip-services-APP.pem, which holds the
            certificate and its key: what a sender needs. The key is the one in the file,
            the one that --key names, or one in the directory, as 'certs request' made it.
            'certs export' makes a P12 from it.
            """)

    @Argument(help: .of("file", "The certificate."), completion: .file())
    var file: String

    @Option(help: .of("file", "The key, if neither the file nor the directory has it."), completion: .file())
    var key: String?

    @Option(
        help: .of(
            "file",
            "A file whose first line is the password of a P12; - is standard input (default: $RINGWAKE_PASSWORD, else "
                + "asks at a terminal)."),
        completion: .file())
    var passwordFile: String?

    @Option(help: .of("path", "The directory for the PEM; created if it is missing."), completion: .directory)
    var directory = "ringwake-certs"

    @Flag(help: "Replace another certificate of the app.")
    var force = false

    @OptionGroup var output: OutputOptions

    var wantsJSON: Bool { output.json }

    /// What `--json` prints.
    private struct Message: Encodable {
        var schema = ControlAPI.schema
        let imported: CertificateImport.Result
    }

    func run(in context: CommandContext) throws(RingwakeError) -> ExitStatus {
        let certificate = try CertificateFile(reading: file, passwordFile: passwordFile, in: context)
        var new = CertificateImport(directory: directory, now: WallClock.seconds())
        new.force = force
        let made = try new.run(certificate, key: CertificateFile.key(reading: key))
        return try show(Message(imported: made), text(of: made, in: context), in: context)
    }

    private func text(of made: CertificateImport.Result, in context: CommandContext) -> String {
        let path = TerminalText.printable(made.path)
        let kind = DevelopmentCredentials.Kind.providerCertificate
        var lines = ["\(made.isNew ? "made" : "kept")  \(path)  \(kind.explanation)"]
        lines += made.certificate.lines.map(TerminalText.printable)
        lines.append("  key from        \(TerminalText.printable(made.keyFile))")
        for problem in made.problems { lines.append("warning: \(TerminalText.printable(problem.sentence))") }
        if let old = made.outdatedPKCS12 {
            lines.append(
                "warning: \(TerminalText.printable(old)) has the certificate that was there before; replace it with "
                    + "'ringwake certs export \(path) \(TerminalText.printable(old)) --force'")
        }
        let team = made.certificate.teamID.map(TerminalText.printable) ?? "TEAM"
        lines += [
            "", context.style.bold("Then:"),
            "  Give the PEM to the sender. A daemon accepts it if provider_cas has a CA file of its issuer, and after",
            "  ringwake team add \(team) --topic \(TerminalText.printable(made.certificate.userID ?? "TOPIC"))",
        ]
        return lines.joined(separator: "\n") + "\n"
    }
}

extension CertificateFile {
    /// Reads the file at `path`; a P12 with the password of `passwordFile`, of the environment, or of the user.
    init(reading path: String, passwordFile: String?, in context: CommandContext) throws(RingwakeError) {
        let bytes = try InputFile.read(path, allowsStandardInput: true)
        self = try PasswordSource.use(file: passwordFile, for: path, in: context) {
            (password) throws(RingwakeError) -> CertificateFile in
            try CertificateFile(bytes, name: path, password: password)
        }
    }

    /// Bytes and name of the file of a key.
    static func key(reading path: String?) throws(RingwakeError) -> (bytes: [UInt8], name: String)? {
        guard let path else { return nil }
        return (try InputFile.read(path), path)
    }
}
