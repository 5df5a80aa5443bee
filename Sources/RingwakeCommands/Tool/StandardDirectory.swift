/// The folders of a daemon that nobody configured otherwise.
enum StandardDirectory {
    /// Whether a configuration is that of the system's service.
    static func isSystem(_ configuration: String) -> Bool { configuration.hasPrefix("/etc/") }

    /// The folder of `ringwaked.toml`: the system's for root, else the user's, by the XDG Base Directory Specification.
    static func configuration(in context: CommandContext) -> String {
        guard context.userID != 0 else { return "/etc/ringwake" }
        // A relative path is invalid there, and ignored.
        let absolute = { (name: String) in context.environment(name).flatMap { $0.hasPrefix("/") ? $0 : nil } }
        return (absolute("XDG_CONFIG_HOME") ?? (absolute("HOME") ?? "") + "/.config") + "/ringwake"
    }
}
