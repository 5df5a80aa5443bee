package import DeviceServices
package import HTTPServer
internal import HandlerActivation
package import Logging
package import PushJournal
package import Reachability
package import RingwakeCore

/// `ringwaked.toml` with its drop-ins, `teams.d` and `apps.d`, checked, with absolute paths and all defaults. ``table``
/// has the keys. A reload replaces the whole value.
package struct Configuration: Sendable {
    /// Path of the configuration file.
    package var file: String
    /// Whether this is the system's daemon, not a user's.
    package let isSystem: Bool
    /// The systemd whose service this is; nil if it is none.
    package let service: SystemdManager?
    /// Directory for state that must survive the daemon.
    package var stateDirectory: String
    /// Directory of the control socket; empty after a reboot.
    package var runtimeDirectory: String
    /// The group whose members may use the control socket if the daemon makes it; empty: none.
    package var controlGroup = ""
    /// What the daemon does.
    package var role = DaemonRole.both
    /// Whether and how devices link to this daemon.
    package var gateway = GatewaySettings()
    /// How this device links to its gateway.
    package var link = LinkSettings()
    /// The server certificate; nil if there is no listener.
    package var server: Server?
    /// Where the daemon accepts pushes.
    package var listeners: [Listener] = []
    /// How senders reach this device.
    package var senders = SenderSettings()
    /// Teams that may send pushes.
    package var teams: [Team] = []
    /// Default deadlines and rules of calls.
    package var policy = AppPolicy()
    /// Defaults for handlers that are commands.
    package var wake: WakeDefaults
    /// How the daemon rings.
    package var ring = RingSettings()
    /// What calls do to the audio server.
    package var audio = AudioSettings()
    /// Which calls are allowed.
    package var restrictions = RestrictionSettings()
    /// For which calls the machine is kept awake, and how.
    package var awake = AwakeSettings()
    /// Whether cellular calls are monitored.
    package var watchesCellular = true
    /// Which stored data is encrypted, and when it can be read.
    package var protection = ProtectionSettings()
    /// State that isn't restored after a restart.
    package var notRestored: [RestorationGroup] = []
    /// How much ended history the journal keeps.
    package var journal = JournalLimits()
    /// Lowest level that is logged.
    package var logLevel = Logger.Level.info
    /// How the network is evaluated, and overrides for its interfaces.
    package var reachability = ReachabilityConfiguration()
    /// The apps of `apps.d`, by bundle ID.
    package var apps: [AppID: AppConfiguration] = [:]

    /// Files of apps and teams that are wrong.
    package var setAside: [SetAside] = []
    /// The keys of `ringwaked.toml` and its drop-ins, with their values and where those are from.
    package var origins: [SettingOrigin] = []

    /// Directory of the drop-ins, which change settings of ``file``.
    package var dropInDirectory: String { file + ".d" }
    /// Directory of the apps' files.
    package var appsDirectory: String { Configuration.directory(of: file) + "/apps.d" }
    /// Directory of the teams' files.
    package var teamsDirectory: String { Configuration.directory(of: file) + "/teams.d" }
    /// The control socket.
    package var controlSocket: String { runtimeDirectory + "/control.sock" }
    /// The socket for every local user's questions about status and reachability.
    package var statusSocket: String { runtimeDirectory + "/status.sock" }

    package init(file: String, defaults: StandardPaths) {
        self.file = file
        isSystem = defaults.isSystem
        service = defaults.service
        stateDirectory = defaults.stateDirectory
        runtimeDirectory = defaults.runtimeDirectory
        wake = defaults.wake
    }

    /// The `[server]` table.
    package struct Server: Sendable, Equatable {
        /// PEM file with the server certificate and its intermediate certificates.
        package var certificateFile = ""
        /// PEM file with the certificate's key.
        package var keyFile = ""
        /// PEM files with the CAs that issue provider certificates.
        package var providerCAFiles: [String] = []
    }

    /// A `[[listener]]` table.
    package struct Listener: Sendable, Equatable {
        package var address = SocketAddress.any
        package var environment = PushEnvironment.production
    }

    /// A `[[team]]` table, or a team's file in `teams.d`.
    package struct Team: Sendable, Equatable {
        package var id = ""
        /// Path of the file that has it.
        package var file = ""
        /// Topics that it may send to; nil for all.
        package var topics: [String]?
        /// Whether each of its accepted pushes is answered with its outcome.
        package var getsOutcome = false
        /// Where its receipts are posted to; nil: nowhere.
        package var webhook: WebhookURL?
        /// The file with the secrets that sign these requests.
        package var webhookSecretFile: String?
        /// PEM file with the CAs of the webhook's server; nil for those of the system.
        package var webhookCAFile: String?
        /// Public keys of its provider tokens.
        package var keys: [Key] = []

        /// A `[[team.key]]` table.
        package struct Key: Sendable, Equatable {
            package var id = ""
            /// PEM file with the key; nil if the configuration has the key itself.
            package var file: String?
            /// The key in PEM; nil if a file has it.
            package var publicPEM: String?
        }
    }

    /// The teams whose pushes to an app this daemon takes from senders. A device has none: its gateway knows them.
    package func teams(pushingTo app: AppID) -> [Team] {
        let topic = Topic.voip(of: app).rawValue
        return role == .device ? [] : teams.filter { $0.topics?.contains(topic) ?? true }
    }

    /// Who makes an app: the team that its file names, else the one team that may push to it, else the first two parts of
    /// its bundle id. Teams that name the app's topic come before those that may send to every topic. Several are no
    /// vendor: they are servers that the app works with.
    ///
    /// - Returns: nil while it can't be known, because the file of the app or of a team is wrong.
    package func vendor(of app: AppConfiguration) -> Vendor? {
        if let team = app.team { return .team(team) }
        let isAnyTeamUnknown = setAside.contains { file in
            if case .team = file.owner { !file.usesFormer } else { false }
        }
        guard !app.isBare, !isAnyTeamUnknown else { return nil }
        let teams = teams(pushingTo: app.id)
        let named = teams.filter { $0.topics != nil }
        let candidates = named.isEmpty ? teams : named
        guard let team = candidates.first, candidates.count == 1 else { return Vendor(prefixOf: app.id) }
        return .team(team.id)
    }

    /// The directory that contains `path`.
    package static func directory(of path: String) -> String {
        guard let slash = path.lastIndex(of: "/") else { return "." }
        return slash == path.startIndex ? "/" : String(path[..<slash])
    }

    /// Sets apps with invalid unit names and bus names aside. It doesn't check that they exist, nor that programs and
    /// sockets exist: they may be installed later.
    @MainActor package mutating func checkNames(former: Configuration? = nil) {
        for app in apps.values.sorted(by: { $0.id.rawValue < $1.id.rawValue }) {
            switch app.way {
            case .unit, .dbus:
                do throws(RingwakeError) {
                    try app.way?.check(of: app.id)
                } catch {
                    setAside(
                        app: app.id, file: app.file,
                        RingwakeError(.badConfiguration, "\(app.file): \(error.message)"), former: former)
                }
            case .exec, .transientUnit, .socket, nil: break
            }
        }
    }
}

/// Default way to start handlers that are commands.
package struct WakeDefaults: Sendable, Equatable {
    package var way = HandlerStarter.exec
    /// The systemd that starts units; nil: the system's for the system's daemon, otherwise the user's.
    package var manager: SystemdManager?
}

/// The `[restrictions]` table.
package struct RestrictionSettings: Sendable, Equatable {
    /// Highest allowed level of an app as a number; nil: not given.
    var allowedNumber: Int?
    /// The same as a content rating; nil: not given.
    var rating: ContentRating?
    /// What apps are told, and apply themselves.
    package var content = ContentRestrictions()
    package var limits = CallLimits()
    package var country: String?
    package var trunk: String?
    /// How to read numbers without a country code, from ``country`` and ``trunk``.
    package var dialling = DiallingRules.none
    package var emergencyNumbers = EmergencyNumbers.standard.numbers
    /// The same, for use.
    package var emergency = EmergencyNumbers.standard

    /// Highest allowed level of an app; nil: any.
    package var allowedLevel: Int? { rating?.level ?? allowedNumber }
}

/// A part of the stored state that can be restored.
package enum RestorationGroup: String, Sendable, CaseIterable {
    /// The state of each call.
    case calls
    /// Which handlers ran.
    case handlers
    /// The strikes of each app.
    case strikes
    /// What apps store with the daemon.
    case state
    /// The do-not-disturb rules.
    case dnd
}
