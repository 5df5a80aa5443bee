import ArgumentParser
import ControlProtocol
import RingwakeCore
import VoIPCertificates

/// `ringwake certs show`
struct CertsShowCommand: RunnableCommand {
    static let configuration = CommandConfiguration(
        "show", "Explain certificates and keys: PEM, DER, P12 or P8.",
        examples: """
            ringwake certs show voip-services.pem
            ringwake certs show voip-services.p12 --password-file p12-password
            ringwake certs show AuthKey_ABC123DEFG.p8 server.pem --json
            """,
        details: """
            Shows the owner, the expiry, the topics and environments, and what is wrong.
            The exit status is 1 if one of the files cannot be used, for example because
            a certificate has expired.
            """)

    @Argument(help: .of("file", "The files; - is standard input."), completion: .file())
    var files: [String]

    @Option(
        help: .of(
            "file",
            "A file whose first line is the password of a P12; - is standard input (default: $RINGWAKE_PASSWORD, else "
                + "asks at a terminal)."),
        completion: .file())
    var passwordFile: String?

    @OptionGroup var output: OutputOptions

    var wantsJSON: Bool { output.json }

    /// What `--json` prints.
    private struct Message: Encodable {
        var schema = ControlAPI.schema
        let files: [CredentialReport]
    }

    func run(in context: CommandContext) throws(RingwakeError) -> ExitStatus {
        var reports: [CredentialReport] = []
        for file in files {
            let bytes = try InputFile.read(file, allowsStandardInput: true)
            reports.append(
                try PasswordSource.use(file: passwordFile, for: file, in: context) {
                    (password) throws(RingwakeError) -> CredentialReport in
                    try .inspect(bytes, fileName: file, password: password, now: WallClock.seconds())
                })
        }
        if wantsJSON {
            context.output.write(try JSONText.document(Message(files: reports)))
        } else {
            let texts = reports.map { $0.lines.map(TerminalText.printable).joined(separator: "\n") + "\n" }
            context.output.write(texts.joined(separator: "\n"))
        }
        return reports.allSatisfy(\.isUsable) ? .success : .unusable
    }
}

extension ExitStatus {
    /// A file was shown that can't be used.
    static let unusable = ExitStatus(code: RingwakeError.Code.badCredential.exitStatus)
}
