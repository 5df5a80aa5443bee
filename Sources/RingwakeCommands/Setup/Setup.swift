import ControlProtocol
import FileSystem
import Glibc
import RingwakeCore
import VoIPCertificates

/// Writes what a device needs to be reached by a sender: certificates, a team, an app, `ringwaked.toml`.
///
/// It writes what is missing. What is there stays, so that it may run twice.
struct Setup {
    let folder: SetupFolder
    let app: AppID
    let team: String
    /// Names and addresses of this machine, as the user gave them.
    var hosts: [String] = []
    /// Names for a new certificate if the user gave none.
    var standardHosts: [String] = []
    var listen: [String] = []
    /// `[wake]` and what follows it in the file of a new app.
    var appLines: (wake: [String], rules: [String])
    /// The preset for the app's payloads.
    var payload: String?
    /// More lines for a new `ringwaked.toml`.
    var moreConfiguration: [String] = []
    let program: DaemonProgram
    /// The configuration that is there; nil if there is none.
    let present: ConfigurationMessage?

    private(set) var files: [SetupMessage.File] = []
    var notes: [String] = []

    init(
        folder: SetupFolder, app: AppID, team: String, appLines: (wake: [String], rules: [String]),
        program: DaemonProgram, present: ConfigurationMessage? = nil
    ) {
        self.folder = folder
        self.app = app
        self.team = team
        self.appLines = appLines
        self.program = program
        self.present = present
    }

    /// The configuration in `folder`; nil if there is none.
    static func configuration(
        in folder: String, _ program: DaemonProgram
    ) throws(RingwakeError) -> ConfigurationMessage? {
        let file = folder + "/ringwaked.toml"
        return FileSystem.exists(file) ? try program.configuration(file) : nil
    }

    private static let environment = PushEnvironment.development
    private var file: String { folder.path + "/ringwaked.toml" }
    private var certificates: String { folder.path + "/certs" }

    /// Writes what is missing.
    ///
    /// - Returns: the certificates, and the configuration as the daemon reads it.
    mutating func run() throws(RingwakeError) -> (DevelopmentCredentials, ConfigurationMessage) {
        if let present { try check(present) }
        try folder.make()
        let made = try makeCertificates()
        try writeTeam(made)
        try writeApp()
        try writeConfiguration(isPresent: present != nil)
        return (made, try program.configuration(file))
    }

    /// - Throws: `conflict` for a configuration with certificates of somebody else: this program can't tell its sender
    ///   which ones to use.
    private func check(_ present: ConfigurationMessage) throws(RingwakeError) {
        guard let server = present.server, !present.listeners.isEmpty else {
            throw RingwakeError(
                .conflict,
                "\(file) has no [server] or no [[listener]], so no sender can reach it; add them, or move it away")
        }
        guard InputFile.absolute(server.certificate) == InputFile.absolute(certificates + "/server.pem") else {
            throw RingwakeError(
                .conflict,
                "\(file) uses another certificate, \(server.certificate), and setup knows only those of its own CA in "
                    + "\(certificates); add apps with 'ringwake app add' and teams with 'ringwake team add'")
        }
    }

    private mutating func makeCertificates() throws(RingwakeError) -> DevelopmentCredentials {
        var setup = DevelopmentSetup(app: app, teamID: team)
        let isNew = !FileSystem.exists(certificates + "/server.pem")
        setup.serverNames = isNew && hosts.isEmpty ? standardHosts : hosts
        setup.addsServerNames = true
        let made = try DevelopmentAuthority(directory: certificates, now: WallClock.seconds()).setUp(setup)
        try folder.share(made)
        files += made.files.map {
            SetupMessage.File(
                path: $0.path, state: !$0.isNew ? .kept : $0.kind == .serverCertificate && !isNew ? .changed : .made,
                explanation: $0.kind.explanation)
        }
        return made
    }

    private mutating func writeTeam(_ made: DevelopmentCredentials) throws(RingwakeError) {
        let name = "the team \(team), which may send to the app"
        guard let key = made.path(of: .tokenPublicKey) else { return }
        let path = TeamFile.path(of: team, in: folder.path + "/teams.d")
        var new = TeamFile(id: team, topics: [made.topic])
        var addsKey = true
        if let known = present?.teams.first(where: { $0.id == team }) {
            let hasTopic = known.maySend(to: made.topic)
            let hasKey = known.keys.contains { $0.id == made.keyID }
            let isOurs = known.file == file ? false : try TeamFile.isOurs(known.file)
            // A key that was made earlier, and isn't the team's any more, was retired.
            addsKey = !hasKey && made.files.contains { $0.kind == .tokenPublicKey && $0.isNew }
            if isOurs, !hasKey, !addsKey {
                notes.append(
                    "The team \(team) has retired the key \(made.keyID) of \(certificates), and setup leaves it so; the "
                        + "sender needs another key of the team.")
            }
            guard isOurs, addsKey || !hasTopic else {
                files.append(.init(path: known.file, state: .kept, explanation: name))
                if !isOurs, !hasKey || !hasTopic {
                    notes.append(
                        "The team \(team) in \(known.file) lacks the topic \(made.topic) or the key \(made.keyID); add it "
                            + "there, or the sender is refused.")
                }
                return
            }
            new = TeamFile(known)
            if !hasTopic { new.topics = ((known.topics ?? []) + [made.topic]).sorted() }
        } else if FileSystem.exists(path) {
            files.append(.init(path: path, state: .kept, explanation: "the team \(team)"))
            let why = present?.setAside.first { $0.team == team }?.why ?? "\(path) is not in use"
            notes.append("The file of the team \(team) is wrong, and setup leaves it so: \(why)")
            return
        }
        if addsKey { try new.add(TeamFile.key(of: key, id: made.keyID)) }
        let state: SetupMessage.File.State = FileSystem.exists(path) ? .changed : .made
        try folder.write(new.text, to: "teams.d/\(team).toml", isPrivate: false)
        files.append(.init(path: path, state: state, explanation: name))
    }

    private mutating func writeApp() throws(RingwakeError) {
        let name = "apps.d/" + AppFile.name(of: app)
        let isPresent = FileSystem.exists(folder.path + "/" + name)
        if !isPresent {
            let text = AppFile.text(wake: appLines.wake, rules: appLines.rules, payload: payload)
            try folder.write(text, to: name, isPrivate: false)
        }
        files.append(
            .init(
                path: folder.path + "/" + name, state: isPresent ? .kept : .made,
                explanation: "the app, and how its handler is woken"))
        if isPresent, appLines.wake.first?.hasPrefix("exec") == true {
            notes.append(
                "The app is as it was; 'ringwake app add \(app) --replace' gives it another handler.")
        }
    }

    private mutating func writeConfiguration(isPresent: Bool) throws(RingwakeError) {
        if !isPresent {
            var lines = [
                "# The configuration of ringwaked; ringwaked.toml(5) explains each key. Written by 'ringwake setup'.",
                "# Apps and teams have files of their own, in apps.d and teams.d.", "",
            ]
            lines += folder.stateLines
            lines += [
                "[server]", "certificate = \"certs/server.pem\"", "key = \"certs/server.key\"",
                "provider_cas = [\"certs/ca.pem\"]",
            ]
            for address in listen {
                lines += [
                    "", "[[listener]]", "address = \(AppFile.tomlString(address))",
                    "environment = \"\(Setup.environment.rawValue)\"",
                ]
            }
            lines += moreConfiguration
            try folder.write(lines.joined(separator: "\n") + "\n", to: "ringwaked.toml", isPrivate: true)
        }
        files.append(.init(path: file, state: isPresent ? .kept : .made, explanation: "the configuration"))
    }
}
