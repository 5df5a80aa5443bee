internal import Glibc
package import HandlerActivation
package import Reachability
package import RingwakeCore

/// What `apps.d/<bundle id>.toml` says, with what `ringwaked.toml` says where it says nothing.
package struct AppConfiguration: Sendable, Equatable {
    package var id: AppID
    /// The file that it was read from.
    package var file: String
    /// How its handler is woken.
    package var wake: WakeSettings
    /// Its payloads.
    package var payload = PayloadSettings()
    /// What the coordinator has to know of the app.
    package var policy: AppPolicy
    /// Its ringtone, where the daemon rings.
    package var ringtone: String?
    /// Its level, as a content rating; nil: it is allowed on every device.
    package var level: Int?
    /// How many calls may come.
    package var limits: CallLimits
    /// Whether it may keep a small state of its own with the daemon.
    package var keepsState = false
    /// Targets that must be reachable for the app to be online. Empty: the daemon's status is the app's.
    package var targets: [ReachabilityTarget] = []

    /// How its handler is woken; nil for one that only comes by itself and keeps a connection.
    package var way: HandlerWay? { wake.handler }
    /// Where its payload has which fact.
    package var mapping: PayloadMapping { payload.mapping }
    /// How many handlers it has at a time.
    package var instances: HandlerInstances { policy.instances }

    package init(id: AppID, file: String, defaults: Configuration) {
        self.id = id
        self.file = file
        wake = WakeSettings(way: defaults.wake.way, manager: defaults.wake.manager)
        policy = defaults.policy
        limits = defaults.restrictions.limits
    }

    /// With what its way means for its policy.
    var resolved: AppConfiguration {
        var app = self
        app.policy.instances = wake.instances
        app.policy.isStarted = way != nil
        if case .unit = way { app.policy.wakeBringsPush = false }
        return app
    }
}

/// The section `[wake]` of an app's file.
package struct WakeSettings: Sendable, Equatable {
    var exec: [String]?
    var unit: String?
    var dbus: String?
    var socket: String?
    var isConnectedOnly = false
    var way = HandlerStarter.exec
    var manager: SystemdManager?
    var path: String?
    var bus: MessageBus?
    var instances = HandlerInstances.app
    /// What the keys mean together; nil for a handler that only connects by itself.
    package var handler: HandlerWay?

    /// Finds ``handler``: one of the ways, and of the other keys those that belong to it.
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
        // The system's for root, else that of the daemon's user.
        let isRoot = geteuid() == 0
        let systemd = manager ?? (isRoot ? .system : .user)
        if let exec {
            handler = way == .exec ? .exec(exec) : .transientUnit(exec, systemd)
        } else if let dbus {
            handler = .dbus(DBusHandlerName(name: dbus, path: path, bus: bus ?? (isRoot ? .system : .session)))
        } else {
            handler = socket.map { .socket($0) } ?? unit.map { .unit($0, systemd) }
        }
    }
}

/// The section `[payload]` of an app's file: a preset, and pointers that come before the preset's.
package struct PayloadSettings: Sendable, Equatable {
    /// The preset that the mapping began with.
    package var preset: String? {
        didSet { mapping = preset.flatMap { PayloadMapping.preset($0) } ?? PayloadMapping() }
    }
    /// Where its payload has which fact.
    package var mapping = PayloadMapping()
}
