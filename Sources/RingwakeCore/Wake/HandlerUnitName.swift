/// The names of the system's units that the daemon may start without further rights (deploy/polkit/50-ringwake.rules).
package enum HandlerUnitName {
    private static let prefix = "ringwake-handler-"

    /// Whether polkit's rule lets the daemon start a unit, whose name systemd allows: `ringwake-handler-NAME@.service`, or
    /// one of its instances.
    package static func isAllowed(_ unit: String) -> Bool {
        guard unit.hasPrefix(prefix), let at = unit.firstIndex(of: "@") else { return false }
        let name = unit[..<at].dropFirst(prefix.count)
        return !name.isEmpty && !name.contains(":")
    }
}
