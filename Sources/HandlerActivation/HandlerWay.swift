package import RingwakeCore

/// How an app's handler is woken: the `[wake]` table of its file.
package nonisolated enum HandlerWay: Hashable, Sendable {
    /// The daemon starts a program: an absolute path and the arguments, without a shell.
    case exec([String])
    /// systemd starts the program as a transient service with its own cgroup.
    case transientUnit([String], SystemdManager)
    /// A unit of systemd: `phone.service`, or `phone@.service` with the call's ID as the instance.
    case unit(String, SystemdManager)
    /// A bus name. The bus may start its owner; the daemon calls a method of the owner.
    case dbus(DBusHandlerName)
    /// Absolute path of the unix stream socket on which the handler listens, or systemd for it.
    case socket(String)
}

/// A handler on a bus: its well-known name, and the path of the object that implements `org.ringwake.Handler1`.
package nonisolated struct DBusHandlerName: Hashable, Sendable, Codable {
    /// The well-known name, `org.example.Phone`.
    package let name: String
    /// The object's path.
    package let path: String
    package let bus: MessageBus

    /// - Parameter path: nil for the path of a D-Bus activatable app, `/org/example/Phone` for `org.example.Phone`,
    ///   with `_` for `-` (Desktop Entry Specification, "D-Bus Activation").
    package init(name: String, path: String? = nil, bus: MessageBus = .session) {
        self.name = name
        self.path =
            path
            ?? "/"
            + String(
                name.map { character in
                    switch character {
                    case ".": "/"
                    case "-": "_"
                    default: character
                    }
                })
        self.bus = bus
    }
}
