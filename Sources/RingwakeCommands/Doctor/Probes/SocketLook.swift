import CRingwakeLinux
import Glibc

/// Whether somebody listens on a unix socket.
enum SocketLook {
    /// Why the system bus can't be reached from here; nil if it can, or if it has an address of another kind.
    static func systemBusProblem(environment: (String) -> String?) -> String? {
        let prefix = "unix:path="
        let address = environment("DBUS_SYSTEM_BUS_ADDRESS") ?? prefix + "/run/dbus/system_bus_socket"
        guard address.hasPrefix(prefix) else { return nil }
        let path = String(address.dropFirst(prefix.count).prefix { $0 != "," && $0 != ";" })
        return connect(path).map { "\(path): \(String(cString: strerror($0)))" }
    }

    /// Returns nil, or an `errno`.
    private static func connect(_ path: String) -> Int32? {
        var address = sockaddr_storage()
        let length = ringwake_unix_address(path, &address)
        guard length > 0 else { return ENAMETOOLONG }
        // Not blocking: a bus whose queue is full is EAGAIN.
        let descriptor = ringwake_stream_socket(AF_UNIX)
        guard descriptor >= 0 else { return errno }
        defer { close(descriptor) }
        return ringwake_connect(descriptor, &address, length) == 0 ? nil : errno
    }
}
