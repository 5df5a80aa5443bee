internal import Glibc
package import RingwakeCore

/// The unit that a process belongs to, by its cgroup: nobody but the unit's manager puts a process there, so a handler
/// that was started as a unit needs no secret.
package nonisolated enum PeerUnits {
    /// Lines of `/proc/PID/cgroup` that are looked at: one for each hierarchy, of which there are some ten at most.
    private static let maximumLines = 64

    /// - Parameter pid: As SO_PEERCRED says it. When the process has ended, its number may be another's by now; that one
    ///   must be in the unit's cgroup too to be taken for it.
    /// - Returns: Nil when the process is in no unit of this manager, or cannot be seen.
    package static func unit(of pid: Int32, manager: SystemdManager) -> String? {
        ProcessIdentity.controlGroups(of: pid).flatMap { unit(inGroups: $0, manager: manager, user: geteuid()) }
    }

    /// The unit that the lines name. Lines are `0::PATH`, and `N:name=systemd:PATH` on a machine with the older
    /// hierarchies (cgroups(7)).
    static func unit(inGroups bytes: [UInt8], manager: SystemdManager, user: UInt32) -> String? {
        for line in bytes.split(separator: UInt8(ascii: "\n")).prefix(maximumLines) {
            let fields = line.split(separator: UInt8(ascii: ":"), maxSplits: 2, omittingEmptySubsequences: false)
            guard fields.count == 3 else { continue }
            let isUnified = fields[0].elementsEqual("0".utf8) && fields[1].isEmpty
            guard isUnified || fields[1].elementsEqual("name=systemd".utf8) else { continue }
            let path = String(decoding: fields[2], as: UTF8.self).split(separator: "/").map(String.init)
            if let unit = unit(inPath: path, manager: manager, user: user) { return unit }
        }
        return nil
    }

    /// Below slices only root can make a group; below a service, whoever it was delegated to, with any name. So a unit
    /// of the system's manager is what stands below slices alone, and one of the user's what stands below this user's
    /// manager.
    private static func unit(inPath path: [String], manager: SystemdManager, user: UInt32) -> String? {
        guard let first = path.firstIndex(where: { !$0.hasSuffix(".slice") }) else { return nil }
        switch manager {
        case .system:
            return path[first].hasSuffix(UnitName.suffix) ? path[first] : nil
        case .user:
            guard path[first] == "user@\(user).service" else { return nil }
            let rest = path[(first + 1)...]
            guard let unit = rest.first(where: { !$0.hasSuffix(".slice") }) else { return nil }
            return unit.hasSuffix(UnitName.suffix) ? unit : nil
        }
    }
}
