internal import Glibc
internal import HandlerActivation
internal import RingwakeCore

// How an app's file says that its handler is woken: the section `[wake]`.
extension Configuration {
    /// What `[wake]` says: the way, nil for a handler that only connects by itself, and how many there are at a time.
    nonisolated static func wake(
        _ table: TOMLReader, defaults: WakeDefaults
    ) throws(RingwakeError) -> (way: HandlerWay?, instances: HandlerInstances) {
        var reader = table
        let exec = try reader.strings("exec")
        let unit = try reader.string("unit")
        let name = try reader.string("dbus")
        let socket = try reader.string("socket")
        let isConnectedOnly = try reader.boolean("connected") ?? false
        let way: WakeDefaults.Way? = try reader.choice("way")
        let manager: SystemdManager? = try reader.choice("manager")
        let (path, bus): (String?, DBusHandlerName.Bus?) = (try reader.string("path"), try reader.choice("bus"))
        let instances: HandlerInstances = try reader.choice("instances") ?? .app
        try reader.refuseUnknownKeys()

        let given = [("exec", exec != nil), ("unit", unit != nil), ("dbus", name != nil), ("socket", socket != nil)]
            .filter(\.1).map(\.0)
        if isConnectedOnly { return try (connectedOnly(given, reader), instances) }
        guard let first = given.first else { throw reader.missing("exec") }
        guard given.count == 1 else {
            throw reader.invalid(given[1], "is there beside '\(first)'; a handler is woken in one way")
        }
        let belongs = ["path": name != nil, "bus": name != nil, "way": exec != nil]
        for (key, isGiven) in [("path", path != nil), ("bus", bus != nil), ("way", way != nil)] where isGiven {
            guard belongs[key] == true else {
                throw reader.invalid(key, "says nothing beside '\(first)'; leave it out")
            }
        }
        let systemd = manager ?? defaults.manager ?? .standard
        if let exec {
            guard let program = exec.first, program.hasPrefix("/") else {
                throw reader.invalid("exec", "begins with the handler's absolute path; no shell looks it up")
            }
            return ((way ?? defaults.way) == .exec ? .exec(exec) : .transientUnit(exec, systemd), instances)
        }
        if manager != nil, unit == nil {
            throw reader.invalid("manager", "says nothing beside '\(first)'; leave it out")
        }
        if let unit { return (.unit(try checked(unit, "unit", reader), systemd), instances) }
        if let name {
            let handler = DBusHandlerName(name: try checked(name, "dbus", reader), path: path, bus: bus ?? .standard)
            return (.dbus(handler), instances)
        }
        guard let socket, socket.hasPrefix("/") else {
            throw reader.invalid("socket", "is the absolute path of the socket that the handler listens on")
        }
        return (.socket(socket), instances)
    }

    private nonisolated static func connectedOnly(
        _ given: [String], _ reader: TOMLReader
    ) throws(RingwakeError) -> HandlerWay? {
        guard let other = given.first else { return nil }
        throw reader.invalid("connected", "says that nothing is started, and '\(other)' what is; leave out one of them")
    }

    private nonisolated static func checked(
        _ name: String, _ key: String, _ reader: TOMLReader
    ) throws(RingwakeError) -> String {
        guard !name.isEmpty else { throw reader.invalid(key, "is empty") }
        return name
    }
}

extension SystemdManager {
    /// The system's for root, else that of the daemon's user.
    fileprivate nonisolated static var standard: SystemdManager { geteuid() == 0 ? .system : .user }
}

extension DBusHandlerName.Bus {
    /// The system's for root, else that of the daemon's user.
    fileprivate nonisolated static var standard: DBusHandlerName.Bus { geteuid() == 0 ? .system : .session }
}
