import ArgumentParser
import ControlProtocol
import RingwakeCore
import VoIPCertificates

/// `ringwake certs export`
struct CertsExportCommand: RunnableCommand {
    static let configuration = CommandConfiguration(
        "export", "Convert a certificate and its key to PEM or P12.",
        examples: """
            ringwake certs export voip-services-com.example.phone.pem phone.p12
            ringwake certs export phone.pem phone.p12 --legacy --p12-password-file pw
            ringwake certs export phone.p12 phone.pem --password-file password
            """,
        details: """
            The name of the new file says its form: .pem, .p12 or .pfx. A P12 is encrypted
            with AES-256 and SHA-256. With --legacy it is encrypted with 3DES and SHA-1 and
            has no intermediate certificates, for readers that know nothing else, such as
            Go's x/crypto/pkcs12. A PEM has the key without a password; its mode is 0600.
            """)

    @Argument(help: .of("file", "The certificate with its key: PEM or P12."), completion: .file())
    var file: String

    @Argument(help: .of("new", "The new file."), completion: .file())
    var target: String

    @Option(help: .of("file", "The key, if the file has none."), completion: .file())
    var key: String?

    @Option(
        help: .of(
            "file",
            "A file whose first line is the password of the P12 to read; - is standard input (default: "
                + "$RINGWAKE_PASSWORD, else asks at a terminal)."),
        completion: .file())
    var passwordFile: String?

    @Option(
        name: .customLong("p12-password-file"),
        help: .of(
            "file",
            "A file whose first line is the password for the new P12; - is standard input (default: "
                + "$RINGWAKE_PASSWORD, else no password)."),
        completion: .file())
    var pkcs12PasswordFile: String?

    @Flag(help: "Encrypt the P12 for old readers: 3DES and SHA-1.")
    var legacy = false

    @Flag(help: "Replace an existing file.")
    var force = false

    @OptionGroup var output: OutputOptions

    var wantsJSON: Bool { output.json }

    /// What `--json` prints.
    private struct Message: Encodable {
        var schema = ControlAPI.schema
        let file: DevelopmentCredentials.File
    }

    private var isPKCS12: Bool { target.hasSuffix(".p12") || target.hasSuffix(".pfx") }

    func validate() throws {
        try require(isPKCS12 || target.hasSuffix(".pem"), "Give the new file a name that ends in .pem, .p12 or .pfx.")
        try require(isPKCS12 || !legacy, "--legacy goes with a P12.")
        try require(isPKCS12 || pkcs12PasswordFile == nil, "--p12-password-file goes with a P12.")
        try require(
            passwordFile != "-" || pkcs12PasswordFile != "-", "Standard input can be one of the two password files.")
    }

    func run(in context: CommandContext) throws(RingwakeError) -> ExitStatus {
        let certificate = try CertificateFile(reading: file, passwordFile: passwordFile, in: context)
        let form: CertificateExport
        if isPKCS12 {
            let password = try PasswordSource.password(file: pkcs12PasswordFile, for: target, in: context)
            form = .pkcs12(password: password ?? "", isLegacy: legacy)
        } else {
            form = .pem
        }
        let made = try form.write(certificate, key: CertificateFile.key(reading: key), to: target, force: force)
        return try show(Message(file: made), "made  \(TerminalText.printable(made.path))\n", in: context)
    }
}
