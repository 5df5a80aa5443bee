internal import Glibc
internal import RunLoop

/// The address of a user's audio server.
package enum PulseAddress: Hashable, Sendable {
    /// Found in the same way as by every other program with this environment: `PULSE_SERVER`, libpulse's client.conf,
    /// the user's runtime directory.
    case standard
    /// In the form of `PULSE_SERVER`: a path, `unix:/path`, `tcp:host`, or several of these.
    case server(String)

    /// What libpulse gets; nil for its own search.
    var server: String? {
        switch self {
        case .standard: nil
        case .server(let server): server
        }
    }

    /// The sockets that can appear: those that libpulse looks for.
    ///
    /// - Parameter lastTried: The last address that libpulse tried, which includes what its configuration names.
    func sockets(environment: [String: String], user: UInt32, lastTried: String?) -> [String] {
        let named = server ?? environment["PULSE_SERVER"].flatMap { $0.isEmpty ? nil : $0 }
        if let named { return Self.sockets(in: named) }
        var sockets: [String] = []
        if let path = environment["PULSE_RUNTIME_PATH"], path.hasPrefix("/") {
            sockets.append(path + "/native")
        } else if let path = environment["XDG_RUNTIME_DIR"], path.hasPrefix("/") {
            sockets.append(path + "/pulse/native")
        } else {
            sockets.append("/run/user/\(user)/pulse/native")
        }
        // Without a configuration, libpulse tries the server for the whole system last. Skip it if its directory
        // doesn't exist: /run would have to be watched, where much else comes and goes.
        for socket in Self.sockets(in: lastTried ?? "") where !sockets.contains(socket) {
            if access(Self.directory(of: socket), F_OK) == 0 { sockets.append(socket) }
        }
        return sockets
    }

    /// The paths in a list of servers: `{machine}unix:/path`, `unix:/path` or `/path`, between spaces.
    static func sockets(in servers: String) -> [String] {
        servers.split(separator: " ").compactMap { entry in
            var entry = entry
            if entry.first == "{", let end = entry.firstIndex(of: "}") { entry = entry[entry.index(after: end)...] }
            if entry.hasPrefix("unix:") { entry = entry.dropFirst("unix:".count) }
            return entry.first == "/" ? String(entry) : nil
        }
    }

    /// Whether a process listens on a socket, even if it accepts nobody: libpulse reports the full queue of a server
    /// that hangs as refused, as it does without a server.
    static func hasListener(_ socket: String) -> Bool {
        do throws(RunLoopError) {
            close(try UnixSocket.connect(to: socket))
            return true
        } catch {
            return error.errno == EAGAIN
        }
    }

    static func directory(of path: String) -> String {
        guard let slash = path.lastIndex(of: "/"), slash != path.startIndex else { return "/" }
        return String(path[..<slash])
    }
}
