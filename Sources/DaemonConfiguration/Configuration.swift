package import DeviceServices
package import HTTPServer
internal import HandlerActivation
package import Logging
package import PushJournal
package import Reachability
package import RingwakeCore

/// What `ringwaked.toml` and `apps.d` say, checked, with every path absolute and every default filled in. It is
/// replaced as a whole; ``table`` has its keys.
package struct Configuration: Sendable {
    /// The file that it was read from.
    package var file: String
    /// Where the daemon keeps what must survive it.
    package var stateDirectory: String
    /// Where the control socket is; gone after a restart of the machine.
    package var runtimeDirectory: String
    /// How the daemon shows itself to senders; nil when there is no listener.
    package var server: Server?
    /// Where it takes pushes.
    package var listeners: [Listener] = []
    /// Who may send them.
    package var teams: [Team] = []
    /// Deadlines and rules of calls, where their apps' files set none.
    package var policy = AppPolicy()
    /// How handlers that are commands are started, where their apps' files do not say.
    package var wake: WakeDefaults
    /// What makes a call ring, where the daemon does.
    package var ring = RingSettings()
    /// What calls do to the audio server.
    package var audio = AudioSettings()
    /// Which calls come through at all.
    package var restrictions = RestrictionSettings()
    /// What keeps the machine awake until a call is answered.
    package var awake = WakeKeeper.Mode.auto
    /// Whether cellular calls are watched.
    package var watchesCellular = true
    /// What is not restored after a restart.
    package var notRestored: [RestorationGroup] = []
    /// How much of what has ended the journal keeps.
    package var journal = JournalLimits()
    /// The least severe level that is logged.
    package var logLevel = Logger.Level.info
    /// How the network is judged, and what is known of its interfaces.
    package var reachability = ReachabilityConfiguration()
    /// The apps of `apps.d`, by bundle id.
    package var apps: [AppID: AppConfiguration] = [:]

    /// The folder with a file for each app.
    package var appsDirectory: String { Configuration.directory(of: file) + "/apps.d" }
    /// The control socket.
    package var controlSocket: String { runtimeDirectory + "/control.sock" }

    /// The defaults.
    package init(file: String, defaults: StandardPaths) {
        self.file = file
        stateDirectory = defaults.stateDirectory
        runtimeDirectory = defaults.runtimeDirectory
        wake = defaults.wake
    }

    /// The section `[server]`.
    package struct Server: Sendable, Equatable {
        /// PEM file with the certificate that senders see, and those that lead to its CA.
        package var certificateFile = ""
        /// PEM file with its key.
        package var keyFile = ""
        /// PEM files with the CAs that issue provider certificates.
        package var providerCAFiles: [String] = []
    }

    /// A section `[[listener]]`.
    package struct Listener: Sendable, Equatable {
        package var address = SocketAddress.any
        package var environment = PushEnvironment.production
    }

    /// A section `[[team]]`.
    package struct Team: Sendable, Equatable {
        package var id = ""
        /// The topics that it may send to; nil for all.
        package var topics: [String]?
        /// Its provider token keys.
        package var keys: [Key] = []

        /// A section `[[team.key]]`.
        package struct Key: Sendable, Equatable {
            package var id = ""
            package var file = ""
        }
    }

    /// The folder that `path` lies in.
    package static func directory(of path: String) -> String {
        guard let slash = path.lastIndex(of: "/") else { return "." }
        return slash == path.startIndex ? "/" : String(path[..<slash])
    }

    /// Checks that the names of units and bus names can be such names. Whether they, and programs and sockets, exist is
    /// not checked: they may be installed later.
    @MainActor package func checkNames() throws(RingwakeError) {
        for app in apps.values {
            switch app.way {
            case .unit, .dbus:
                do throws(RingwakeError) {
                    try app.way?.check(of: app.id)
                } catch {
                    throw RingwakeError(.badConfiguration, "\(app.file): \(error.message)")
                }
            case .exec, .transientUnit, .socket, nil: break
            }
        }
    }
}

/// How a handler that is a command is started.
package struct WakeDefaults: Sendable, Equatable {
    package var way = HandlerStarter.exec
    /// Which systemd starts units; nil: the system's for root, else the user's.
    package var manager: SystemdManager?
}

/// What the section `[restrictions]` says.
package struct RestrictionSettings: Sendable, Equatable {
    /// The highest level of an app that is allowed on this device; nil: any.
    package var allowedLevel: Int?
    package var limits = CallLimits()
    package var country: String?
    package var trunk: String?
    /// How numbers without a country are read: by ``country`` and ``trunk``.
    package var dialling = DiallingRules.none
}

/// What of a last run's state is restored.
package enum RestorationGroup: String, Sendable, CaseIterable {
    /// The state of each call.
    case calls
    /// Which handlers ran.
    case handlers
    /// The strikes of each app.
    case strikes
    /// What apps keep with the daemon.
    case state
    /// Do not disturb.
    case dnd
}
