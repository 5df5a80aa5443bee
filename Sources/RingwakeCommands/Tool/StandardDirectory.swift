/// The folders of a daemon that nobody configured otherwise.
enum StandardDirectory {
    /// Whether a configuration is that of the system's service.
    static func isSystem(_ configuration: String) -> Bool { configuration.hasPrefix("/etc/") }

    /// The folder of `ringwaked.toml`: the system's for root, else the user's, by the XDG Base Directory Specification.
    static func configuration(in context: CommandContext) -> String {
        guard context.userID != 0 else { return "/etc/ringwake" }
        return user("XDG_CONFIG_HOME", else: ".config", in: context) + "/ringwake"
    }

    /// The folder of backups, by the same rules.
    static func backups(in context: CommandContext) -> String {
        guard context.userID != 0 else { return systemBackups }
        return user("XDG_DATA_HOME", else: ".local/share", in: context) + "/ringwake/backups"
    }

    /// The folder of backups of a daemon with this configuration.
    static func backups(of configuration: String, in context: CommandContext) -> String {
        isSystem(configuration) ? systemBackups : backups(in: context)
    }

    private static let systemBackups = "/var/backups/ringwake"

    private static func user(_ variable: String, else standard: String, in context: CommandContext) -> String {
        // A relative path is invalid there, and ignored.
        let absolute = { (name: String) in context.environment(name).flatMap { $0.hasPrefix("/") ? $0 : nil } }
        return absolute(variable) ?? (absolute("HOME") ?? "") + "/" + standard
    }
}
