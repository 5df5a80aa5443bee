internal import Glibc
internal import RingwakeCore

/// What holds when the configuration does not say. Where things are: the system's folders for root, the XDG ones for a
/// user. Who starts handlers: the systemd of the user whose service this is.
///
/// See the XDG Base Directory Specification, and `RuntimeDirectory=` and the environment variables in systemd.exec(5).
package struct StandardPaths: Sendable {
    package let configurationFile: String
    package let stateDirectory: String
    package let runtimeDirectory: String
    package let wake: WakeDefaults

    /// - Parameter process: this one's number.
    package init(isRoot: Bool, environment: [String: String], process: Int32 = getpid()) {
        // MANAGERPID is set by a user's manager alone; it and SYSTEMD_EXEC_PID are inherited by whatever a service
        // starts, a terminal for one, so the second has to name this very process.
        let isUserService = environment["MANAGERPID"] != nil && environment["SYSTEMD_EXEC_PID"] == "\(process)"
        wake = WakeDefaults(way: isUserService ? .unit : .exec, manager: isUserService ? .user : nil)
        func absolute(_ name: String) -> String? {
            // The specification: a relative path is invalid and to be ignored.
            environment[name].flatMap { $0.hasPrefix("/") ? $0 : nil }
        }
        if isRoot {
            configurationFile = "/etc/ringwake/ringwaked.toml"
            stateDirectory = absolute("STATE_DIRECTORY") ?? "/var/lib/ringwake"
            runtimeDirectory = absolute("RUNTIME_DIRECTORY") ?? "/run/ringwake"
        } else {
            let home = absolute("HOME") ?? "/"
            let configurationHome =
                absolute("CONFIGURATION_DIRECTORY") ?? (absolute("XDG_CONFIG_HOME") ?? home + "/.config") + "/ringwake"
            configurationFile = configurationHome + "/ringwaked.toml"
            stateDirectory =
                absolute("STATE_DIRECTORY") ?? (absolute("XDG_STATE_HOME") ?? home + "/.local/state") + "/ringwake"
            runtimeDirectory =
                absolute("RUNTIME_DIRECTORY") ?? (absolute("XDG_RUNTIME_DIR") ?? "/run/user/\(getuid())") + "/ringwake"
        }
    }
}
