internal import Glibc
package import RingwakeCore

/// Defaults that depend on whose daemon this is. Paths: the system's directories for root, the XDG directories for a
/// user. Handlers: started by the user's systemd if that runs the daemon.
///
/// See the XDG Base Directory Specification, and `RuntimeDirectory=` and the environment variables in systemd.exec(5).
package struct StandardPaths: Sendable {
    package let configurationFile: String
    package let stateDirectory: String
    package let runtimeDirectory: String
    /// Where an earlier version's user unit kept the state; nil if it can't be there.
    package let formerStateDirectory: String?
    package let wake: WakeDefaults
    /// Whether this is the system's daemon: root's, or a service of the system's systemd, which has a user of its own.
    package let isSystem: Bool
    /// The systemd whose service this is; nil if it is none. Root's own service doesn't count as one: it may do anything.
    package let service: SystemdManager?

    /// - Parameters:
    ///   - process: PID of this process.
    ///   - service: the service for which this process stands, if it is none itself.
    package init(
        isRoot: Bool, environment: [String: String], process: Int32 = getpid(), service: SystemdManager? = nil
    ) {
        // Only a user's manager sets MANAGERPID. Programs that a service starts (a terminal, for example) inherit it
        // together with SYSTEMD_EXEC_PID, so the latter has to be this process's PID.
        let isService = environment["SYSTEMD_EXEC_PID"] == "\(process)"
        let isUserService = isService && environment["MANAGERPID"] != nil
        self.service = service ?? (isUserService ? .user : isService && !isRoot ? .system : nil)
        isSystem = isRoot || self.service == .system
        wake = WakeDefaults(way: self.service == nil ? .exec : .unit, manager: isUserService ? .user : nil)
        func absolute(_ name: String) -> String? {
            // By the XDG specification a relative path is invalid and must be ignored.
            environment[name].flatMap { $0.hasPrefix("/") ? $0 : nil }
        }
        if isRoot {
            formerStateDirectory = nil
            configurationFile = "/etc/ringwake/ringwaked.toml"
            stateDirectory = absolute("STATE_DIRECTORY") ?? "/var/lib/ringwake"
            runtimeDirectory = absolute("RUNTIME_DIRECTORY") ?? "/run/ringwake"
        } else {
            let home = absolute("HOME") ?? "/"
            let configurationHome =
                absolute("CONFIGURATION_DIRECTORY") ?? (absolute("XDG_CONFIG_HOME") ?? home + "/.config") + "/ringwake"
            formerStateDirectory = absolute("STATE_DIRECTORY") == nil ? configurationHome : nil
            configurationFile = configurationHome + "/ringwaked.toml"
            stateDirectory =
                absolute("STATE_DIRECTORY") ?? (absolute("XDG_STATE_HOME") ?? home + "/.local/state") + "/ringwake"
            runtimeDirectory =
                absolute("RUNTIME_DIRECTORY") ?? (absolute("XDG_RUNTIME_DIR") ?? "/run/user/\(getuid())") + "/ringwake"
        }
    }
}
