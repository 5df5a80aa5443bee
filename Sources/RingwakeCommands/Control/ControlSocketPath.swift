import ControlProtocol
import FileSystem

/// Where the daemon's control socket is.
enum ControlSocketPath {
    /// Of the daemon that runs as a system service.
    static let system = "/run/ringwake/" + ControlAPI.socketName

    /// The path to use: the option, else `RINGWAKE_SOCKET`, else whichever of the system's and the user's socket is
    /// there; root looks at the system's first, others at their own. When neither is there: the first.
    static func find(
        option: String?, environment: (String) -> String?, userID: UInt32, exists: (String) -> Bool
    ) -> String {
        if let path = option ?? environment("RINGWAKE_SOCKET") {
            return path
        }
        let runtimeDirectory = environment("XDG_RUNTIME_DIR") ?? "/run/user/\(userID)"
        let own = runtimeDirectory + "/ringwake/" + ControlAPI.socketName
        let candidates = userID == 0 ? [system, own] : [own, system]
        return candidates.first(where: exists) ?? candidates[0]
    }

    static func exists(_ path: String) -> Bool { FileSystem.exists(path) }
}
