/// What `ringwaked --check-config --json` prints: the configuration with absolute paths, as far as the command line
/// needs it.
package struct ConfigurationMessage: Codable, Equatable, Sendable {
    package var schema = ControlAPI.schema
    /// Path of the configuration file.
    package var file: String
    package var stateDirectory: String
    package var appsDirectory: String
    package var teamsDirectory: String
    package var controlSocket: String
    /// The daemon's certificate and key; nil without `[server]`.
    package var server: Server?
    package var listeners: [Listener]
    package var teams: [Team]
    /// Bundle IDs of the apps.
    package var apps: [String]
    /// Files of apps and teams that are wrong.
    package var setAside: [SetAsideMessage]
    /// What is wrong: those files, and programs that are missing. Empty if all is well.
    package var failures: [String]
    /// The keys of `ringwaked.toml` and its drop-ins.
    package var settings: [Setting]

    package init(
        file: String, stateDirectory: String, appsDirectory: String, teamsDirectory: String, controlSocket: String,
        server: Server?, listeners: [Listener], teams: [Team], apps: [String], setAside: [SetAsideMessage],
        failures: [String], settings: [Setting]
    ) {
        self.file = file
        self.stateDirectory = stateDirectory
        self.appsDirectory = appsDirectory
        self.teamsDirectory = teamsDirectory
        self.controlSocket = controlSocket
        self.server = server
        self.listeners = listeners
        self.teams = teams
        self.apps = apps
        self.setAside = setAside
        self.failures = failures
        self.settings = settings
    }

    /// A key with its value.
    package struct Setting: Codable, Equatable, Sendable {
        /// The full key, such as `calls.ring` or `listener[1].address`.
        package var key: String
        /// The value, for people.
        package var value: String
        /// The file that has it; nil for a default.
        package var file: String?
        /// The line in the file, from 1.
        package var line: Int?

        package init(key: String, value: String, file: String?, line: Int?) {
            self.key = key
            self.value = value
            self.file = file
            self.line = line
        }
    }

    /// `[server]`.
    package struct Server: Codable, Equatable, Sendable {
        package var certificate: String
        package var key: String
        package var providerCas: [String]

        package init(certificate: String, key: String, providerCas: [String]) {
            self.certificate = certificate
            self.key = key
            self.providerCas = providerCas
        }
    }

    /// A `[[listener]]`.
    package struct Listener: Codable, Equatable, Sendable {
        package var address: String
        package var environment: String

        package init(address: String, environment: String) {
            self.address = address
            self.environment = environment
        }
    }

    /// A team, of `ringwaked.toml` or of a file of its own.
    package struct Team: Codable, Equatable, Sendable {
        package var id: String
        /// Path of the file that has it.
        package var file: String
        /// Topics that it may send to; nil for all.
        package var topics: [String]?
        package var keys: [Key]

        package init(id: String, file: String, topics: [String]?, keys: [Key]) {
            self.id = id
            self.file = file
            self.topics = topics
            self.keys = keys
        }

        /// Whether it may send to `topic`.
        package func maySend(to topic: String) -> Bool { topics?.contains(topic) ?? true }
    }

    /// A key that signs a team's provider tokens.
    package struct Key: Codable, Equatable, Sendable {
        package var id: String
        /// Path of the file that has it; nil if the team's file has it.
        package var file: String?
        /// Its public half in PEM.
        package var publicKey: String

        package init(id: String, file: String?, publicKey: String) {
            self.id = id
            self.file = file
            self.publicKey = publicKey
        }
    }
}
