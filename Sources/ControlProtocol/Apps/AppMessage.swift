/// One app, for its owner.
package struct AppMessage: Codable, Equatable, Sendable {
    package var schema = ControlAPI.schema
    /// Bundle ID of the app.
    package var app: String
    /// The topic of its VoIP pushes.
    package var topic: String
    /// How it is woken: `exec`, `transient` (the same command in its own unit), `unit`, `dbus`, `socket`, or
    /// `connected` (only by the stream that its handler keeps open).
    package var way = "exec"
    /// What is started or called to wake it, for people: a command, a unit, a bus name, a socket.
    package var wake = ""
    /// With `exec` and `transient`: the program's path and arguments; otherwise empty.
    package var exec: [String]
    /// How many handlers it may have at a time: `app` (one) or `call` (one for each call).
    package var instances = "app"
    /// Name of the payload preset, if its file names one.
    package var payload: String?
    /// Number of its handlers that keep a stream open now.
    package var connected = 0
    /// The versions of RingwakeKit that its connected handlers use; nil if none does.
    package var kits: [KitMessage]?
    /// The strikes against its handler.
    package var strikes = StrikesMessage()
    /// Its level (a content rating); nil if its file sets none.
    package var level: Int?
    /// Teams whose keys or certificates may push to it on this daemon's own ports; empty on a device that has none.
    package var teams: [String] = []
    /// Who makes it: a team, or `com.example.*`; nil while it is unknown.
    package var vendor: String?
    /// What its vendor knows this device by, a UUID; nil while it is unknown.
    package var vendorIdentifier: String?
    /// The gateway of this device as `host:port`, whose teams may push to it too; nil if the device is not paired.
    package var gateway: String?
    /// Whether nobody but the gateway's teams may push to it, because this daemon's role is `device`; nil if others may.
    package var onlyGateway: Bool?
    /// `registered`, `broken` if its file is wrong and nothing else is known of it (its pushes are recorded, its handler
    /// isn't started), or `unregistered` after it was removed.
    package var state: String
    /// What is wrong with its file; nil if nothing is. Unless the state is `broken`, what the file said before is in force.
    package var why: String?
    /// Its device tokens in hex, by environment.
    package var tokens: [String: String]
    /// Where senders push to it, as `host:port` or a host, by environment; nil if the daemon can't know it.
    package var pushAddresses: [String: String]?
    /// The faults of its device tokens; nil if there is none.
    package var faults: [PushFaultMessage]?
    /// What it stores with the daemon; nil if it may not, and never did.
    package var savedState: SavedStateMessage?
    /// Path of its configuration file.
    package var file: String
    /// Its connection status; nil if unknown or if the app was removed.
    package var connection: ConnectionMessage?
}

extension AppMessage {
    /// A registered app without tokens.
    package init(app: String, topic: String, exec: [String], file: String) {
        self.init(app: app, topic: topic, exec: exec, state: "registered", tokens: [:], file: file)
    }
}

/// A version of RingwakeKit that a connected handler uses.
package struct KitMessage: Codable, Equatable, Sendable {
    package var version: String
    /// What the daemon does for handlers and this version doesn't use: names of ``HandlerFeature``.
    package var lacks: [String]
    /// What this version uses and the daemon lacks.
    package var daemonLacks: [String]

    package init(_ kit: PeerVersion) {
        version = kit.version
        lacks = PeerVersion.own.missing(in: kit)
        daemonLacks = kit.missing(in: .own)
    }
}

/// The strikes against an app's handler.
package struct StrikesMessage: Codable, Equatable, Sendable {
    /// Number of strikes that count now.
    package var count: Int
    /// At this number of strikes its handler is no longer started; 0: never.
    package var limit: Int
    /// Milliseconds for which a strike counts.
    package var windowMs: Int64
    /// Whether its handler is no longer started until the strikes are cleared.
    package var struckOut: Bool
    /// The strikes that count, oldest first.
    package var recent: [StrikeMessage]

    package init(
        count: Int = 0, limit: Int = 0, windowMs: Int64 = 0, struckOut: Bool = false, recent: [StrikeMessage] = []
    ) {
        self.count = count
        self.limit = limit
        self.windowMs = windowMs
        self.struckOut = struckOut
        self.recent = recent
    }
}

/// One strike.
package struct StrikeMessage: Codable, Equatable, Sendable {
    /// Milliseconds since it happened.
    package var agoMs: Int64
    /// What the handler failed to do: `HandlerFailure` as text.
    package var failure: String
    /// The call that the strike is about.
    package var call: String

    package init(agoMs: Int64, failure: String, call: String) {
        self.agoMs = agoMs
        self.failure = failure
        self.call = call
    }
}

/// What an app stores with the daemon, and how its restoration went.
package struct SavedStateMessage: Codable, Equatable, Sendable {
    /// Size of the stored state, in bytes.
    package var bytes: Int
    /// Handlers that crashed in a row while they restored it; at the second the daemon drops it.
    package var crashes: Int
    /// When the daemon last dropped a state of the app, in UTC; nil: never.
    package var droppedAt: String?
    /// Why: `reset`, `crashed`.
    package var droppedBy: String?

    package init(bytes: Int, crashes: Int = 0, droppedAt: String? = nil, droppedBy: String? = nil) {
        self.bytes = bytes
        self.crashes = crashes
        self.droppedAt = droppedAt
        self.droppedBy = droppedBy
    }
}

/// What the forced end of an app has ended.
package struct AppResetMessage: Codable, Equatable, Sendable {
    package var schema = ControlAPI.schema
    /// Bundle ID of the app.
    package var app: String
    /// Number of calls that ended.
    package var calls: Int
    /// Number of handlers that are stopped, or whose connection was closed if they had come by themselves.
    package var handlers: Int
    /// Size of the state that was dropped, in bytes.
    package var bytes: Int

    package init(app: String, calls: Int, handlers: Int, bytes: Int) {
        self.app = app
        self.calls = calls
        self.handlers = handlers
        self.bytes = bytes
    }
}

/// The answer to a change of an app's stored state.
package struct AppStateMessage: Codable, Equatable, Sendable {
    package var schema = ControlAPI.schema
    /// Bundle ID of the app.
    package var app: String
    /// Size of the stored state, in bytes.
    package var bytes: Int

    package init(app: String, bytes: Int) {
        self.app = app
        self.bytes = bytes
    }
}

/// All apps, by bundle ID.
package struct AppListMessage: Codable, Equatable, Sendable {
    package var schema = ControlAPI.schema
    package var apps: [AppMessage]

    package init(apps: [AppMessage]) {
        self.apps = apps
    }
}

/// The answer to a reload.
package struct ReloadMessage: Codable, Equatable, Sendable {
    package var schema = ControlAPI.schema
    /// The configured apps.
    package var apps: [String]
    /// Settings that changed in the file and need a restart to take effect.
    package var needsRestart: [String]
    /// Files of apps and teams that are wrong; nil from a daemon that doesn't set them aside.
    package var setAside: [SetAsideMessage]?
    /// What is in force and cannot work: missing programs, unusable certificates; nil from a daemon that doesn't say.
    package var problems: [String]?

    package init(
        apps: [String], needsRestart: [String], setAside: [SetAsideMessage]? = nil, problems: [String]? = nil
    ) {
        self.apps = apps
        self.needsRestart = needsRestart
        self.setAside = setAside
        self.problems = problems
    }
}

/// A file of an app or a team that is wrong, and therefore not in use.
package struct SetAsideMessage: Codable, Equatable, Sendable {
    /// Path of the file.
    package var file: String
    /// Bundle ID of the app whose file it is.
    package var app: String?
    /// Id of the team whose file it is.
    package var team: String?
    /// What is wrong.
    package var why: String
    /// Whether what the file said before is in force. Otherwise an app's handler isn't started, and its pushes are
    /// recorded; a team's pushes are refused.
    package var usesFormer: Bool

    package init(file: String, app: String?, team: String?, why: String, usesFormer: Bool) {
        self.file = file
        self.app = app
        self.team = team
        self.why = why
        self.usesFormer = usesFormer
    }
}
