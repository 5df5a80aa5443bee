package import DeviceServices
package import HTTPServer
package import HandlerActivation
package import Logging
package import PushJournal
package import Reachability
package import RingwakeCore

/// What `ringwaked.toml` and `apps.d` say, checked, with every path absolute and every default filled in.
package nonisolated struct Configuration: Sendable {
    /// The file that it was read from.
    package var file: String
    /// Where the daemon keeps what must survive it.
    package var stateDirectory: String
    /// Where the control socket is; gone after a restart of the machine.
    package var runtimeDirectory: String
    /// How the daemon shows itself to senders; nil when there is no listener.
    package var server: Server?
    /// Where it takes pushes.
    package var listeners: [Listener]
    /// Who may send them.
    package var teams: [Team]
    /// How long each state of a call may last.
    package var deadlines: CallDeadlines
    /// What calls do, where their apps' files do not say.
    package var rules = CallRules()
    /// How a handler that is a command is started, where its app's file does not say.
    package var wake = WakeDefaults()
    /// What makes a call ring, where the daemon does.
    package var ring = RingSettings()
    /// What calls do to the audio server.
    package var audio = AudioSettings()
    /// What may come through at all.
    package var restrictions = RestrictionSettings()
    /// What keeps the machine awake until a call is answered.
    package var awake = WakeKeeper.Mode.auto
    /// Whether cellular calls are watched.
    package var watchesCellular = true
    /// What is not restored after a restart.
    package var notRestored: Set<RestorationGroup> = []
    /// How much of what is over the journal keeps.
    package var journal: JournalLimits
    /// The least severe level that is logged.
    package var logLevel: Logger.Level
    /// How the network is judged, and what is known of its interfaces.
    package var reachability = ReachabilityConfiguration()
    /// The apps of `apps.d`, by bundle id.
    package var apps: [AppID: AppConfiguration]

    /// The folder with a file for each app.
    package var appsDirectory: String { Configuration.directory(of: file) + "/apps.d" }
    /// The control socket.
    package var controlSocket: String { runtimeDirectory + "/control.sock" }

    /// The section `[server]`.
    package struct Server: Sendable, Equatable {
        /// PEM file with the certificate that senders see, and those that lead to its CA.
        package var certificateFile: String
        /// PEM file with its key.
        package var keyFile: String
        /// PEM files with the CAs that issue provider certificates.
        package var providerCAFiles: [String]
    }

    /// A section `[[listener]]`.
    package struct Listener: Sendable, Equatable {
        /// `address:port` as it stands in the file.
        package var text: String
        package var address: SocketAddress
        package var environment: PushEnvironment
    }

    /// A section `[[team]]`.
    package struct Team: Sendable, Equatable {
        package var id: String
        /// The topics that it may send to; nil for all.
        package var topics: [String]?
        /// Key id and file of each of its provider token keys.
        package var keyFiles: [String: String]
    }

    /// The folder that `path` lies in.
    static func directory(of path: String) -> String {
        guard let slash = path.lastIndex(of: "/") else { return "." }
        return slash == path.startIndex ? "/" : String(path[..<slash])
    }
}

/// What `apps.d/<bundle id>.toml` says.
package nonisolated struct AppConfiguration: Sendable, Equatable {
    package var id: AppID
    /// The file that it was read from.
    package var file: String
    /// How its handler is woken; nil for one that only comes by itself and keeps a connection.
    package var way: HandlerWay?
    /// How many handlers it has at a time.
    package var instances = HandlerInstances.app
    /// Where its payload says what.
    package var mapping = PayloadMapping()
    /// The preset that the mapping began with.
    package var preset: String?
    /// Its own deadlines; the others are those of `ringwaked.toml`.
    package var deadlines = DeadlineOverrides()
    /// Its own rules; the others are those of `ringwaked.toml`.
    package var rules = CallRules()
    /// What it rings with, where the daemon does it.
    package var ringtone: String?
    /// Its level, as a content rating; nil: it is allowed on every device.
    package var level: Int?
    /// How many calls may come; nil: as `ringwaked.toml` says.
    package var limits = LimitOverrides()
    /// Whether it may keep a small state of its own with the daemon.
    package var keepsState = false
    /// What it has to reach to be online; none: what the daemon has to.
    package var targets: [ReachabilityTarget] = []

    /// What the coordinator has to know of the app, with `defaults` for what its file leaves open.
    package func policy(defaults: Configuration) -> AppPolicy {
        var policy = AppPolicy(deadlines: deadlines.merged(into: defaults.deadlines), instances: instances)
        defaults.rules.apply(to: &policy)
        rules.apply(to: &policy)
        policy.isStarted = way != nil
        if case .unit = way { policy.wakeBringsPush = false }
        return policy
    }
}

/// How a handler that is a command is started.
package nonisolated struct WakeDefaults: Sendable, Equatable {
    package var way = Way.exec
    /// Which systemd starts units; nil: the system's for root, else the user's.
    package var manager: SystemdManager?

    package enum Way: String, Sendable, CaseIterable {
        /// The daemon starts it.
        case exec
        /// systemd starts it, in a unit and a control group of its own.
        case unit
    }
}

/// What the sections `[calls]` and `[strikes]` say beside the deadlines; nil is left open.
package nonisolated struct CallRules: Sendable, Equatable {
    package var ringer: CallRinger?
    package var fallback: CallFallback?
    package var whenBusy: BusyPolicy?
    package var others: OtherCalls?
    package var whenCellular: CellularPolicy?
    package var strikeLimit: Int?
    package var strikeWindow: Duration?

    package init() {}

    func apply(to policy: inout AppPolicy) {
        policy.ringer = ringer ?? policy.ringer
        policy.fallback = fallback ?? policy.fallback
        policy.whenBusy = whenBusy ?? policy.whenBusy
        policy.others = others ?? policy.others
        policy.whenCellular = whenCellular ?? policy.whenCellular
        policy.strikes.count = strikeLimit ?? policy.strikes.count
        policy.strikes.window = strikeWindow ?? policy.strikes.window
    }
}

/// What `app_calls` and `caller_calls` say; nil is left open.
package nonisolated struct LimitOverrides: Sendable, Equatable {
    package var calls: CallLimit?
    package var callsOfCaller: CallLimit?

    package init() {}
}

/// What the section `[restrictions]` says.
package nonisolated struct RestrictionSettings: Sendable, Equatable {
    /// The highest level of an app that is allowed on this device; nil: any.
    package var allowedLevel: Int?
    package var limits = LimitOverrides()
    /// How numbers without a country are read.
    package var dialling = DiallingRules.none

    package init() {}
}

/// What of a last run's state is restored.
package nonisolated enum RestorationGroup: String, Sendable, CaseIterable {
    /// Where each call stood.
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

/// What a section `[calls]` says; nil is left open.
package nonisolated struct DeadlineOverrides: Sendable, Equatable {
    package var report: Duration?
    package var ring: Duration?
    package var action: Duration?
    package var connected: Duration?
    package var claim: Duration?

    package init(
        report: Duration? = nil, ring: Duration? = nil, action: Duration? = nil, connected: Duration? = nil,
        claim: Duration? = nil
    ) {
        self.report = report
        self.ring = ring
        self.action = action
        self.connected = connected
        self.claim = claim
    }

    /// `defaults` with what is said here.
    package func merged(into defaults: CallDeadlines) -> CallDeadlines {
        CallDeadlines(
            report: report ?? defaults.report, ring: ring ?? defaults.ring, action: action ?? defaults.action,
            connected: connected ?? defaults.connected, claim: claim ?? defaults.claim)
    }
}
