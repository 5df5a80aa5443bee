internal import Glibc
package import RingwakeCore

/// Finds the unit of a process by its cgroup. Only the unit's manager puts processes there, so a handler that was
/// started as a unit needs no secret.
package nonisolated enum PeerUnits {
    /// Maximum lines of `/proc/PID/cgroup` to read. There is one for each hierarchy, about ten at most.
    private static let maximumLines = 64

    /// - Parameter pid: from SO_PEERCRED. If the process has ended, its PID may be another process's by now; that
    ///   process counts only if it is in the unit's cgroup too.
    /// - Returns: nil if the process is in no unit of this manager, or can't be seen.
    package static func unit(of pid: Int32, manager: SystemdManager) -> String? {
        ProcessIdentity.controlGroups(of: pid).flatMap { unit(inGroups: $0, manager: manager, user: geteuid()) }
    }

    /// The unit that the lines name. A line is `0::PATH`, or `N:name=systemd:PATH` on a machine with the older
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

    /// Directly below slices only root can create groups. Below a service, the user it is delegated to can, with any
    /// name. So a unit of the system manager must be below slices only, and a unit of the user manager must be below
    /// this user's manager.
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
