package import RingwakeCore

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
    package var setAside: [SetAsideMessage] = []
    /// What is wrong: those files, and programs that are missing. Empty if all is well.
    package var failures: [String] = []
    /// The one with which the daemon would not start; nil if it would.
    package var startFailure: String?
    /// The keys of `ringwaked.toml` and its drop-ins.
    package var settings: [Setting] = []
    /// How the apps' handlers are woken.
    package var handlers: [Handler] = []
    /// What else the daemon uses: programs, files, its state directory.
    package var dependencies: [Dependency] = []
    /// The files that the configuration names: certificates, keys, ring sounds.
    package var namedFiles: [NamedFile] = []
    /// What is wrong with certificates and keys, or will be soon.
    package var problems: [CredentialProblem] = []
    /// The number of the user for whom files were checked.
    package var user: UInt32 = 0

    package init(
        file: String, stateDirectory: String, appsDirectory: String, teamsDirectory: String, controlSocket: String,
        server: Server?, listeners: [Listener], teams: [Team], apps: [String]
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
    }

    /// A file that the configuration names.
    package struct NamedFile: Codable, Equatable, Hashable, Sendable {
        package var path: String
        /// Whether it is a private key, or another secret.
        package var isSecret: Bool

        package init(path: String, isSecret: Bool) {
            self.path = path
            self.isSecret = isSecret
        }
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
        /// True if each of its accepted pushes is answered with its outcome; else nil.
        package var outcome: Bool?
        /// Where its receipts are posted to; nil: nowhere.
        package var webhook: Webhook?

        /// Where a team's receipts are posted to.
        package struct Webhook: Codable, Equatable, Sendable {
            package var url: String
            /// The file with the secrets that sign the requests.
            package var secretFile: String
            /// The file with the CAs of its server; nil for those of the system.
            package var caFile: String?

            package init(url: String, secretFile: String, caFile: String? = nil) {
                self.url = url
                self.secretFile = secretFile
                self.caFile = caFile
            }
        }

        package init(id: String, file: String, topics: [String]?, keys: [Key], outcome: Bool? = nil) {
            self.id = id
            self.file = file
            self.topics = topics
            self.keys = keys
            self.outcome = outcome
        }

        /// Whether it may send to `topic`.
        package func maySend(to topic: String) -> Bool { topics?.contains(topic) ?? true }
    }

    /// How an app's handler is woken.
    package struct Handler: Codable, Equatable, Sendable {
        package var app: String
        /// As ``AppMessage/way``.
        package var way: String
        /// A program, a unit, a bus name or a socket; empty if the handler only connects by itself.
        package var target: String
        /// With units: which systemd, `system` or `user`.
        package var manager: String?
        /// With a bus name: which bus, `system` or `session`.
        package var bus: String?
        /// Why it can't be woken, and what to do; nil if nothing is known to be wrong.
        package var problem: String?

        package init(app: String, way: String, target: String) {
            self.app = app
            self.way = way
            self.target = target
        }
    }

    /// A program, a file, a folder or a socket of the configuration.
    package struct Dependency: Codable, Equatable, Sendable {
        /// The setting, such as `ring.command`.
        package var name: String
        package var path: String
        /// Why it can't be used, and what to do; nil if nothing is wrong.
        package var problem: String?

        /// The setting, the path and the problem, for people; nil if nothing is wrong.
        package var fault: String? {
            problem.map { ["'\(name)'", path, $0].filter { !$0.isEmpty }.joined(separator: ": ") }
        }

        package init(name: String, path: String, problem: String?) {
            self.name = name
            self.path = path
            self.problem = problem
        }
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

extension ConfigurationMessage {
    /// What the daemon does: `both`, `device` or `gateway`; nil if the settings don't say.
    package var role: String? { settings.first { $0.key == "role" }?.value }
}
