import ArgumentParser
import ControlProtocol
import FileSystem
import RingwakeCore
import VoIPCertificates

/// `ringwake team`
struct TeamCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        "team", "Add, show and remove the teams that may send pushes.",
        examples: """
            ringwake team add TEAM123456 --app com.example.phone --key AuthKey_ABC.p8
            ringwake team list
            ringwake team show TEAM123456 --json
            ringwake team key add TEAM123456 AuthKey_XYZ987WVUT.p8
            ringwake team key retire TEAM123456 ABC123DEFG
            ringwake team webhook set TEAM123456 https://example.org/receipts
            ringwake team remove TEAM123456
            """,
        subcommands: [
            TeamAddCommand.self, TeamListCommand.self, TeamShowCommand.self, TeamRemoveCommand.self,
            TeamKeyCommand.self, TeamWebhookCommand.self,
        ])
}

/// `ringwake team key`
struct TeamKeyCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        "key", "Add and retire the keys that sign a team's provider tokens.",
        examples: """
            ringwake team key add TEAM123456 AuthKey_XYZ987WVUT.p8
            ringwake team key retire TEAM123456 ABC123DEFG
            """,
        subcommands: [TeamKeyAddCommand.self, TeamKeyRetireCommand.self])
}

/// The configured teams, read by the daemon's own program, and their files.
struct Teams {
    private let client: ControlClient
    private let program: DaemonProgram
    /// Whether the configuration is a running daemon's.
    let isRunning: Bool
    private(set) var configuration: ConfigurationMessage
    /// The files of teams that are wrong.
    var wrong: [SetAsideMessage] { SetAsideText.merged(configuration.setAside, status).filter { $0.team != nil } }
    private let status: StatusMessage?
    /// The webhooks of the running daemon.
    var webhooks: [WebhookStatusMessage] { status?.webhooks ?? [] }

    /// Those of the running daemon; if none runs, of the standard configuration.
    init(_ control: ControlOptions, in context: CommandContext) throws(RingwakeError) {
        try self.init(control.client(in: context), isNamed: control.socket != nil, in: context)
    }

    /// - Parameter isNamed: whether the user named the daemon, which then has to run.
    init(_ client: ControlClient, isNamed: Bool, in context: CommandContext) throws(RingwakeError) {
        self.client = client
        program = try DaemonProgram()
        var file = StandardDirectory.configuration(in: context) + "/ringwaked.toml"
        do throws(RingwakeError) {
            let status: StatusMessage = try client.get(RequestTarget("status"))
            (file, isRunning, self.status) = (status.configuration, true, status)
        } catch {
            guard error.code == .daemonNotRunning, !isNamed else { throw error }
            (isRunning, status) = (false, nil)
        }
        configuration = try program.configuration(file)
    }

    /// - Throws: `notFound` with the teams that there are, `badConfiguration` if its file is wrong.
    func team(_ id: String) throws(RingwakeError) -> ConfigurationMessage.Team {
        if let team = configuration.teams.first(where: { $0.id == id }) { return team }
        if let file = wrong.first(where: { $0.team == id }) {
            let lines = SetAsideText.lines([file]).joined()
            throw RingwakeError(
                .badConfiguration,
                "\(lines); correct \(file.file) and run 'ringwake reload', or run 'ringwake team remove \(id)'")
        }
        let known = configuration.teams.map(\.id).joined(separator: ", ")
        throw RingwakeError(
            .notFound, "no team '\(id)' is configured; " + (known.isEmpty ? "there is none" : "there are: \(known)"))
    }

    /// The team's own file.
    ///
    /// - Throws: `conflict` if somebody else wrote it, or the team is in `ringwaked.toml`.
    func file(of team: ConfigurationMessage.Team) throws(RingwakeError) -> ConfiguredFile {
        guard team.file != configuration.file, try TeamFile.isOurs(team.file) else {
            throw RingwakeError(
                .conflict,
                "the team '\(team.id)' is in '\(team.file)', which this program did not write; edit it there, then run "
                    + "'ringwake reload'")
        }
        return ConfiguredFile(path: team.file)
    }

    /// Writes a team's file (nil: removes it), and makes the daemon read it.
    ///
    /// - Returns: the configuration now.
    @discardableResult
    mutating func change(
        _ file: ConfiguredFile, to contents: TeamFile?
    ) throws(RingwakeError) -> ConfigurationMessage {
        let directory = configuration.teamsDirectory
        if !FileSystem.exists(directory) {
            try TrustedDirectory.require(directory)
            try withFiles { () throws(FileSystemError) in try TeamFile.makeDirectory(directory) }
        }
        let (client, program, isRunning, path) = (client, program, isRunning, configuration.file)
        configuration = try file.change(to: contents.map { Array($0.text.utf8) }) { () throws(RingwakeError) in
            let new = try program.configuration(path)
            try file.check(new.setAside)
            if isRunning {
                let reload: ReloadMessage = try client.post(RequestTarget("reload"))
                try file.check(reload.setAside)
            }
            return new
        }
        return configuration
    }

    /// What the daemon did, for people.
    var outcome: String { isRunning ? "the daemon uses it now" : "no daemon runs; it reads it when it starts" }
}
