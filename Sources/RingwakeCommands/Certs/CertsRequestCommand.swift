import ArgumentParser
import ControlProtocol
import Cryptography
import RingwakeCore
import VoIPCertificates

/// `ringwake certs request`
struct CertsRequestCommand: RunnableCommand {
    static let configuration = CommandConfiguration(
        "request", "Make a key and a request for a VoIP Services certificate, for Apple's portal or another CA.",
        examples: """
            ringwake certs request --app com.example.phone
            ringwake certs request --app com.example.phone --key-type p256
            """,
        details: """
            Run it where the certificate will be kept: the key never leaves this machine.
            'certs import' joins it with the certificate that comes back. A request that
            exists stays, because a certificate for it needs its key; --force makes a new
            key and a new request.
            """)

    /// The kinds of keys.
    enum KeyType: String, ExpressibleByArgument, CaseIterable {
        case rsa
        case p256

        var kind: PrivateKey.Kind {
            switch self {
            case .rsa: .rsa2048
            case .p256: .p256
            }
        }
    }

    @Option(help: .of("id", "The app's bundle id."))
    var app: AppID

    @Option(help: .of("id", "The team, for a CA that keeps the subject of a request; Apple's portal fills it in."))
    var team: String?

    @Option(help: .of("type", "The key: RSA with 2048 bits, which Apple's portal expects, or EC P-256."))
    var keyType = KeyType.rsa

    @Option(help: .of("path", "The directory for the files; created if it is missing."), completion: .directory)
    var directory = "ringwake-certs"

    @Flag(help: "Replace an existing key and its request.")
    var force = false

    @OptionGroup var output: OutputOptions

    var wantsJSON: Bool { output.json }

    /// What `--json` prints.
    private struct Message: Encodable {
        var schema = ControlAPI.schema
        let app: AppID
        let keyType: String
        let files: [DevelopmentCredentials.File]
    }

    func run(in context: CommandContext) throws(RingwakeError) -> ExitStatus {
        var request = CertificateSigningRequest(app: app)
        request.teamID = team
        request.keyKind = keyType.kind
        request.force = force
        let made = try request.write(in: directory)
        return try show(
            Message(app: app, keyType: made.keyType, files: made.files), text(of: made, in: context), in: context)
    }

    private func text(of made: CertificateSigningRequest.Result, in context: CommandContext) -> String {
        var table = TextTable([.left, .left, .left])
        for file in made.files {
            table.add([file.isNew ? "made" : "kept", TerminalText.printable(file.path), file.kind.explanation])
        }
        let request = TerminalText.printable(made.files.last?.path ?? "")
        var lines = table.lines() + ["", context.style.bold("Then:")]
        lines += [
            "  1. At https://developer.apple.com/account/resources/certificates/add choose 'VoIP Services",
            "     Certificate' and the app \(app), and upload \(request).",
            "     Another CA signs the same file.",
            "  2. Download the certificate (voip_services.cer), and join it with the key:",
            "     ringwake certs import voip_services.cer --directory \(TerminalText.printable(directory))",
        ]
        if made.keyType != PrivateKey.Kind.rsa2048.rawValue {
            lines.append("  If the portal refuses the \(made.keyType) key, repeat this with --key-type rsa --force.")
        }
        return lines.joined(separator: "\n") + "\n"
    }
}
