/// Where the daemon's control socket is.
package enum ControlSocketPath {
    /// The socket of a daemon that runs as a system service.
    private static let system = "/run/ringwake/" + ControlAPI.socketName

    /// The status socket of the daemon with this control socket; nil if the control socket has another name.
    package static func status(beside path: String) -> String? {
        guard path.hasSuffix("/" + ControlAPI.socketName) else { return nil }
        return path.dropLast(ControlAPI.socketName.count) + ControlAPI.statusSocketName
    }

    /// The path to use: the option, else `RINGWAKE_SOCKET`, else the system's or the user's socket, whichever exists;
    /// root checks the system's first, other users their own. If neither exists, the first of the two.
    package static func find(
        option: String? = nil, environment: (String) -> String?, userID: UInt32, exists: (String) -> Bool
    ) -> String {
        if let path = option ?? environment("RINGWAKE_SOCKET") {
            return path
        }
        let runtimeDirectory = environment("XDG_RUNTIME_DIR") ?? "/run/user/\(userID)"
        let own = runtimeDirectory + "/ringwake/" + ControlAPI.socketName
        let candidates = userID == 0 ? [system, own] : [own, system]
        return candidates.first(where: exists) ?? candidates[0]
    }
}
