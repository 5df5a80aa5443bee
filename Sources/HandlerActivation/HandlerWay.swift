package import RingwakeCore

/// How an app's handler is woken: what `[wake]` of its file says.
package nonisolated enum HandlerWay: Hashable, Sendable {
    /// A program, started by the daemon itself: an absolute path and the arguments, without a shell.
    case exec([String])
    /// The same, started by systemd as a transient service with a cgroup of its own.
    case transientUnit([String], SystemdManager)
    /// A service that systemd knows: `phone.service`, or `phone@.service`, whose instance is then the call's id.
    case unit(String, SystemdManager)
    /// A name on a bus, which the bus may start, and whose owner is called.
    case dbus(DBusHandlerName)
    /// The absolute path of a unix stream socket on which the handler, or systemd for it, listens.
    case socket(String)
}

/// A handler on a bus: its well-known name, and the object that has `org.ringwake.Handler1`.
package nonisolated struct DBusHandlerName: Hashable, Sendable, Codable {
    /// The well-known name, `org.example.Phone`.
    package let name: String
    /// The object's path.
    package let path: String
    package let bus: MessageBus

    /// - Parameter path: Nil: as of an app that the desktop may activate, `/org/example/Phone` for
    ///   `org.example.Phone`, with `_` for `-` (Desktop Entry Specification, "D-Bus Activation").
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
