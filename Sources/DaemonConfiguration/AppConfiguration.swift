package import HandlerActivation
package import Reachability
package import RingwakeCore

/// Settings of one app: `apps.d/<bundle id>.toml`, with defaults from `ringwaked.toml`.
package struct AppConfiguration: Sendable, Equatable {
    package var id: AppID
    /// Path of the app's file.
    package var file: String
    /// The team that sells it; nil: see ``Configuration/vendor(of:)``.
    package var team: String?
    /// How to wake its handler.
    package var wake: WakeSettings
    /// How to read its payloads.
    package var payload = PayloadSettings()
    /// Its rules for the coordinator.
    package var policy: AppPolicy
    /// Ringtone that the daemon plays for it.
    package var ringtone: String?
    /// Its level (a content rating); nil: allowed on every device.
    package var level: Int?
    /// Limits on the number of calls.
    package var limits: CallLimits
    /// Whether the app may store state with the daemon.
    package var keepsState = false
    /// Targets that must be reachable for the app to be online. Empty: the daemon's status is the app's.
    package var targets: [ReachabilityTarget] = []
    /// For whose packets they are judged; nil for the daemon's.
    package var targetsUser: UInt32?

    /// How to wake its handler; nil if the handler only connects by itself.
    package var way: HandlerWay? { wake.handler }
    /// Where its payloads contain each fact.
    package var mapping: PayloadMapping { payload.mapping }
    /// How many handlers it may have at a time.
    package var instances: HandlerInstances { policy.instances }

    package init(id: AppID, file: String, defaults: Configuration) {
        self.id = id
        self.file = file
        wake = WakeSettings(
            way: defaults.wake.way, manager: defaults.wake.manager, isSystem: defaults.isSystem,
            isSystemService: defaults.service == .system)
        policy = defaults.policy
        limits = defaults.restrictions.limits
    }

    /// Whether its file was wrong at the start, so that nothing is known of it but its name.
    package private(set) var isBare = false

    /// What is left of an app whose file is wrong: only a handler that connects by itself gets its calls.
    var bare: AppConfiguration {
        var app = self
        app.isBare = true
        app.wake.isConnectedOnly = true
        return app.resolved
    }

    /// This configuration, with the policy that its wake way implies.
    var resolved: AppConfiguration {
        var app = self
        app.policy.instances = wake.instances
        app.policy.isStarted = way != nil
        if case .unit = way { app.policy.wakeBringsPush = false }
        return app
    }
}

/// The `[wake]` table of an app's file.
package struct WakeSettings: Sendable, Equatable {
    var exec: [String]?
    var unit: String?
    var dbus: String?
    var socket: String?
    var isConnectedOnly = false
    var way = HandlerStarter.exec
    var manager: SystemdManager?
    /// Whether the daemon is the system's, which uses the system's systemd and bus by default.
    var isSystem = false
    /// Whether the daemon is a service of the system's systemd. It may not make transient units there: who may, can run
    /// anything as root.
    var isSystemService = false
    var path: String?
    var bus: MessageBus?
    var instances = HandlerInstances.app
    /// The way that the keys specify; nil if the handler only connects by itself.
    package var handler: HandlerWay?

    /// Sets ``handler``. Exactly one way must be given, and only keys that belong to it.
    mutating func resolve(_ reader: TOMLReader) throws(RingwakeError) {
        let given = ["exec", "unit", "dbus", "socket"].filter { reader[$0] != nil }
        if isConnectedOnly {
            guard let other = given.first else { return }
            throw reader.invalid(
                "connected", "says that the daemon starts nothing, but '\(other)' says what to start; remove one")
        }
        guard let first = given.first else { throw reader.missing("exec") }
        guard given.count == 1 else {
            throw reader.invalid(given[1], "cannot be combined with '\(first)'; remove one of them")
        }
        let belongs = ["path": ["dbus"], "bus": ["dbus"], "way": ["exec"], "manager": ["exec", "unit"]]
        for key in ["path", "bus", "way", "manager"] where reader[key] != nil && belongs[key]?.contains(first) == false
        {
            throw reader.invalid(key, "has no effect with '\(first)'; remove it")
        }
        let systemd = manager ?? (isSystem ? .system : .user)
        if exec != nil, way == .unit, systemd == .system, isSystemService {
            throw reader.invalid(
                "exec",
                "starts nothing here: the system's service starts units that root has installed ('unit = "
                    + "\"ringwake-handler-phone@.service\"'), which have their own user and sandbox. To run the command in "
                    + "the daemon's sandbox, as its user, add 'way = \"exec\"' ('ringwake app add --way exec')")
        }
        if let exec {
            handler = way == .exec ? .exec(exec) : .transientUnit(exec, systemd)
        } else if let dbus {
            handler = .dbus(DBusHandlerName(name: dbus, path: path, bus: bus ?? (isSystem ? .system : .session)))
        } else {
            handler = socket.map { .socket($0) } ?? unit.map { .unit($0, systemd) }
        }
    }
}

/// The `[payload]` table of an app's file: a preset, and pointers that override the preset's.
package struct PayloadSettings: Sendable, Equatable {
    /// The preset on which the mapping is based.
    package var preset: String? {
        didSet { mapping = preset.flatMap { PayloadMapping.preset($0) } ?? PayloadMapping() }
    }
    /// Where the payload contains each fact.
    package var mapping = PayloadMapping()
}
