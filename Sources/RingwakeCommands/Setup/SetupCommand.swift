import ArgumentParser
import CRingwakeLinux
import ControlProtocol
import FileSystem
import Glibc
import RingwakeCore

/// `ringwake setup`
struct SetupCommand: RunnableCommand {
    static let configuration = CommandConfiguration(
        "setup", "Make this device ready to ring, and print what the sender of pushes needs.",
        examples: """
            sudo ringwake setup
            ringwake setup --app com.example.phone --exec /usr/bin/phone-handler
            ringwake setup --host phone.example.net --listen 192.0.2.7:2197
            ringwake setup --json | jq .sender
            ringwake setup --ephemeral --json
            """,
        details: """
            Writes certificates of a development CA, a team, an app and ringwaked.toml. What
            is there stays as it is, so you can run it again: for the device tokens once the
            daemon runs, for another app or team, or with --host to add a name to the
            certificate. As root it sets up the system's daemon, in /etc/ringwake; for other
            users their own, in $XDG_CONFIG_HOME/ringwake.

            Without --exec no handler is started: the daemon itself rings, until a handler
            connects or 'ringwake app add --replace' names one.

            --ephemeral makes all of it in a temporary folder, starts ringwaked on a free
            port of 127.0.0.1, prints what the sender needs and stays. Its handler reports
            each call and does what 'ringwake call' asks for. When the parent process ends,
            standard input (a pipe) ends or a signal comes, it stops and removes everything.
            """)

    @Option(help: .of("name", "A name or address by which senders reach this device; may be repeated."))
    var host: [String] = []

    @Option(help: .of("address:port", "Where to accept pushes (default: any address, port 2197); may be repeated."))
    var listen: [ListenAddress] = []

    @Option(help: .of("id", "The team of the sender (default: the only one, else \(CertsDevCACommand.exampleTeam))."))
    var team: String?

    @Option(help: .of("id", "The app's bundle id (default: the only one, else \(CertsDevCACommand.exampleApp))."))
    var app: AppID?

    @Option(help: .of("path", "The app's handler: an absolute path."))
    var exec: String?

    @Option(
        help: ArgumentHelp(
            "The format of its payloads: \(PayloadMapping.presetNames.joined(separator: ", ")).", valueName: "preset"))
    var payload: String?

    @Option(help: .of("path", "The folder of the configuration (default: the system's or this user's)."))
    var directory: String?

    @Flag(help: "Run a test endpoint that ends with its parent, and leave nothing behind.")
    var ephemeral = false

    @OptionGroup var output: OutputOptions

    var wantsJSON: Bool { output.json }

    /// APNs' alternative port, on which any user may listen.
    private static let port: UInt16 = 2197

    func validate() throws {
        let names = PayloadMapping.presetNames
        try require(
            payload.map(names.contains) ?? true, "--payload is one of \(names.joined(separator: ", ")).")
        if let team {
            try require(
                TeamFile.isID(team), "'\(team)' is not a team id; give letters, digits, '-' and '_', at most 64.")
        }
        try require(!ephemeral || directory == nil, "--ephemeral makes a folder of its own; leave out --directory.")
    }

    func run(in context: CommandContext) throws(RingwakeError) -> ExitStatus {
        if let exec { try AppWakeOptions.check(program: exec, isForced: false) }
        return ephemeral ? try EphemeralEndpoint(self, in: context).run() : try setUp(in: context)
    }

    /// The app and the team: those of the arguments, else the only ones of the configuration, else the documentation's.
    func subjects(in present: ConfigurationMessage?) throws(RingwakeError) -> (app: AppID, team: String) {
        let name = try chosen(app?.rawValue, of: present?.apps ?? [], CertsDevCACommand.exampleApp, "app")
        guard let app = AppID(name) else { throw RingwakeError(.invalidRequest, "give a bundle id with --app") }
        let teams = present?.teams.filter { $0.maySend(to: Topic.voip(of: app).rawValue) } ?? []
        let ids = (teams.isEmpty ? present?.teams ?? [] : teams).map(\.id)
        return (app, try chosen(team, of: ids, CertsDevCACommand.exampleTeam, "team"))
    }

    /// - Throws: `invalidRequest` if there are several, and `standard` is none of them.
    private func chosen(
        _ given: String?, of names: [String], _ standard: String, _ option: String
    ) throws(RingwakeError) -> String {
        if let given { return given }
        guard let first = names.first, !names.contains(standard) else { return standard }
        guard names.count == 1 else {
            throw RingwakeError(
                .invalidRequest,
                "there are several \(option)s: \(names.joined(separator: ", ")); name one, or a new one, with --\(option)"
            )
        }
        return first
    }

    /// `[wake]` and the rules of a new app.
    private func appLines(isSystem: Bool) -> (wake: [String], rules: [String]) {
        if let exec {
            // Without this the system's service starts no commands.
            let sandbox = ["# In the daemon's sandbox, if it is a service of the system.", "way = \"exec\""]
            return (["exec = [\(AppFile.tomlString(exec))]"] + (isSystem ? sandbox : []), [])
        }
        let rules = [
            "", "# No handler is started: unless one is connected, the daemon itself rings.", "[calls]",
            "report = \"1s\"",
            "fallback = \"ring\"",
        ]
        return (["connected = true"], rules)
    }

    private func setUp(in context: CommandContext) throws(RingwakeError) -> ExitStatus {
        let standard = StandardDirectory.configuration(in: context)
        let path = directory.map { $0.hasPrefix("/") ? $0 : InputFile.workingDirectory + "/" + $0 } ?? standard
        let names = LocalNames()
        let isSystem = path == standard && context.userID == 0
        let program = try DaemonProgram()
        let present = try Setup.configuration(in: path, program)
        let (app, team) = try subjects(in: present)
        var setup = try Setup(
            folder: SetupFolder(path, isStandard: path == standard), app: app, team: team,
            appLines: appLines(isSystem: isSystem), program: program, present: present)
        (setup.hosts, setup.payload) = (host, payload)
        if exec != nil, isSystem {
            setup.notes.append(
                "The handler runs as the user ringwake, in the daemon's sandbox: without home directories, sound cards "
                    + "and just-in-time compilers. 'ringwake app add --unit' gives it a unit, with its own user.")
        }
        setup.standardHosts = names.all
        setup.listen =
            listen.isEmpty ? LocalNames.listenAddresses(port: SetupCommand.port) : listen.map(\.description)
        setup.moreConfiguration = Ringing.configuration()
        let (made, configuration) = try setup.run()
        let report = SetupReport(
            app: app, made: made, configuration: configuration, hosts: host, names: names,
            isStandard: path == standard, isRoot: context.userID == 0)
        let message = try report.message(files: setup.files, notes: setup.notes)
        return try show(message, SetupText.text(of: message, style: context.style), in: context)
    }
}

/// A numeric address and a port to listen on.
struct ListenAddress: ExpressibleByArgument, CustomStringConvertible {
    let description: String

    init?(argument: String) {
        guard let colon = argument.lastIndex(of: ":"), let port = UInt16(argument[argument.index(after: colon)...])
        else { return nil }
        var host = argument[..<colon]
        let isBracketed = host.hasPrefix("[") && host.hasSuffix("]")
        if isBracketed { host = host.dropFirst().dropLast() }
        var address = sockaddr_storage()
        guard host.contains(":") == isBracketed, ringwake_ip_address(String(host), port, &address) > 0 else {
            return nil
        }
        description = argument
    }
}

/// How a new configuration lets the daemon ring, with what this machine has.
enum Ringing {
    private static let players = ["/usr/bin/pw-play", "/usr/bin/paplay"]
    private static let ringtone = "/usr/share/sounds/freedesktop/stereo/phone-incoming-call.oga"

    /// `[ring]`; nothing if there is no player or no ringtone.
    static func configuration() -> [String] {
        guard let player = players.first(where: FileSystem.isExecutableFile), FileSystem.exists(ringtone) else {
            return []
        }
        return [
            "", "[ring]", "command = [\(AppFile.tomlString(player)), \"{file}\"]",
            "ringtone = \(AppFile.tomlString(ringtone))",
        ]
    }
}
