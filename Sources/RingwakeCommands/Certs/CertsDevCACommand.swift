import ArgumentParser
import ControlProtocol
import RingwakeCore
import VoIPCertificates

/// `ringwake certs dev-ca`
struct CertsDevCACommand: RunnableCommand {
    static let configuration = CommandConfiguration(
        "dev-ca", "Make a development CA, and the certificates and keys for daemon and sender.",
        examples: """
            ringwake certs dev-ca
            ringwake certs dev-ca --app com.example.phone --directory ~/certs
            ringwake certs dev-ca --app com.example.phone --app com.example.door \\
              --host phone.example.net --apple-names
            """,
        details: """
            Makes a CA, the daemon's server certificate, a provider certificate like
            Apple's VoIP Services certificates for each app, and a key that signs
            provider tokens; then prints what ringwaked.toml lacks. Existing files stay, so
            that you can run it again for another app; --force issues new server and
            provider certificates, for other names. To extend them use 'certs renew'.

            --apple-names is for senders whose host can't be set: /etc/hosts leads them
            here. Use it on a test machine only: all programs there find this daemon in
            Apple's place, and whoever has ca.key can pose as Apple to those that trust
            ca.pem.
            """)

    /// The app of the examples in this documentation.
    static let exampleApp = "com.example.phone"
    /// The team of the examples.
    static let exampleTeam = "DEVTEAM001"

    @Option(help: .of("path", "The directory for the files; created if it is missing."), completion: .directory)
    var directory = "ringwake-certs"

    @Option(help: .of("id", "A bundle id (default: \(exampleApp)); may be repeated."))
    var app: [AppID] = []

    @Option(help: .of("id", "The team of the provider certificates."))
    var team = exampleTeam

    @Option(help: .of("name", "A name or address of the server besides localhost; may be repeated."))
    var host: [String] = []

    @Flag(help: "Issue the server certificate for Apple's host names too. Use it on a test machine only.")
    var appleNames = false

    @Option(
        name: .customLong("p12-password-file"),
        help: .of(
            "file",
            "A file whose first line is the password for the P12 files; - is standard input (default: "
                + "$RINGWAKE_PASSWORD, else no password)."),
        completion: .file())
    var pkcs12PasswordFile: String?

    @Flag(name: .customLong("legacy-p12"), help: "Encrypt P12 files for old readers: 3DES and SHA-1.")
    var isPKCS12Legacy = false

    @Flag(help: "Issue new server and provider certificates.")
    var force = false

    @OptionGroup var output: OutputOptions

    var wantsJSON: Bool { output.json }

    /// What `--json` prints.
    struct Message: Encodable {
        var schema = ControlAPI.schema
        var directory: String
        var teamID: String
        var keyID: String
        var topics: [String]
        var files: [DevelopmentCredentials.File]
        /// The lines for ringwaked.toml.
        var configuration: String
    }

    func run(in context: CommandContext) throws(RingwakeError) -> ExitStatus {
        let password = try PasswordSource.password(file: pkcs12PasswordFile, for: "the P12 files", in: context)
        let authority = try DevelopmentAuthority(directory: directory, now: WallClock.seconds())
        let apps = app.isEmpty ? AppID(CertsDevCACommand.exampleApp).map { [$0] } ?? [] : app
        var made: [DevelopmentCredentials] = []
        for app in apps {
            var setup = DevelopmentSetup(app: app, teamID: team)
            setup.serverNames = host
            setup.includesAppleNames = appleNames
            setup.pkcs12Password = password ?? ""
            setup.isPKCS12Legacy = isPKCS12Legacy
            setup.force = force
            made.append(try authority.setUp(setup))
        }
        guard let last = made.last else { return .success }
        let message = Message(
            directory: last.directory, teamID: last.teamID, keyID: last.keyID, topics: made.map(\.topic),
            files: CertsDevCACommand.merged(made.flatMap(\.files)),
            configuration: DevelopmentConfiguration(credentials: last).text)
        return try show(message, text(of: message, last, in: context), in: context)
    }

    /// Each file once; new if it was made for any of the apps.
    static func merged(_ files: [DevelopmentCredentials.File]) -> [DevelopmentCredentials.File] {
        var merged: [DevelopmentCredentials.File] = []
        for file in files {
            if let index = merged.firstIndex(where: { $0.path == file.path }) {
                if file.isNew { merged[index] = file }
            } else {
                merged.append(file)
            }
        }
        return merged
    }

    private func text(of message: Message, _ last: DevelopmentCredentials, in context: CommandContext) -> String {
        let style = context.style
        var table = TextTable([.left, .left, .left])
        for file in message.files {
            table.add([file.isNew ? "made" : "kept", TerminalText.printable(file.path), file.kind.explanation])
        }
        let client = ControlOptions.client(of: nil, environment: context.environment, userID: context.userID)
        // Without a configuration that can be read, everything is still to be done.
        let present = try? Teams(client, isNamed: false, in: context)
        let configuration = present?.configuration
        let missing =
            configuration.map { DevelopmentConfiguration(credentials: last).missing(in: $0) } ?? message.configuration
        var lines = table.lines() + [""]
        if !missing.isEmpty {
            lines += [
                style.bold("For \(TerminalText.printable(configuration?.file ?? "ringwaked.toml")):"), "", missing,
            ]
        }
        let team = configuration?.teams.first { $0.id == message.teamID }
        let topics = message.topics.filter { team?.maySend(to: $0) == false }
        if let team, !topics.isEmpty {
            let text = "Add to the topics of team \(team.id), in \(team.file): \(topics.joined(separator: ", "))"
            lines += [TerminalText.printable(text), ""]
        }
        lines.append(style.bold("Then:"))
        let isServerNew = message.files.contains { $0.kind == .serverCertificate && $0.isNew }
        if present?.isRunning == true, isServerNew || !missing.isEmpty || !topics.isEmpty {
            lines.append("  ringwake reload")
        }
        for topic in message.topics {
            let app = topic.hasSuffix(Topic.voipSuffix) ? String(topic.dropLast(Topic.voipSuffix.count)) : topic
            let add = "ringwake app add \(app) --exec /path/to/handler && "
            let isPresent = configuration?.apps.contains(app) == true
            lines.append("  \(isPresent ? "" : add)ringwake push --app \(app) --trace")
        }
        return lines.joined(separator: "\n") + "\n"
    }
}
