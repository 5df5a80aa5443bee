internal import DaemonConfiguration
internal import ControlProtocol
internal import Cryptography
internal import HTTPServer
internal import PushGateway
internal import RingwakeCore

extension ConfigurationMessage {
    /// - Parameter gateway: the keys of the teams, as they were read.
    init(_ configuration: Configuration, _ gateway: GatewayConfiguration) throws(RingwakeError) {
        var teams: [Team] = []
        for team in configuration.teams {
            var keys: [Key] = []
            for key in team.keys {
                guard let read = gateway.teams[team.id]?.keys[key.id] else { continue }
                keys.append(Key(id: key.id, file: key.file, publicKey: String(decoding: try read.pem, as: UTF8.self)))
            }
            var message = Team(
                id: team.id, file: team.file, topics: team.topics, keys: keys, outcome: team.getsOutcome ? true : nil)
            if let url = team.webhook, let secretFile = team.webhookSecretFile {
                message.webhook = .init(url: url.text, secretFile: secretFile, caFile: team.webhookCAFile)
            }
            teams.append(message)
        }
        self.init(
            file: configuration.file, stateDirectory: configuration.stateDirectory,
            appsDirectory: configuration.appsDirectory, teamsDirectory: configuration.teamsDirectory,
            controlSocket: configuration.controlSocket,
            server: configuration.server.map {
                Server(certificate: $0.certificateFile, key: $0.keyFile, providerCas: $0.providerCAFiles)
            },
            listeners: configuration.listeners.map {
                Listener(address: $0.address.description, environment: $0.environment.rawValue)
            },
            teams: teams.sorted { $0.id < $1.id }, apps: configuration.apps.keys.map(\.rawValue).sorted())
        setAside = configuration.setAside.map(SetAsideMessage.init)
        settings = configuration.origins.map { Setting(key: $0.key, value: $0.value, file: $0.file, line: $0.line) }
    }
}

extension SetAsideMessage {
    nonisolated init(_ file: SetAside) {
        self.init(file: file.file, app: nil, team: nil, why: file.why, usesFormer: file.usesFormer)
        switch file.owner {
        case .app(let id): app = id.rawValue
        case .team(let id): team = id
        case .nobody: break
        }
    }
}
