internal import Glibc
internal import RingwakeCore

/// The units of a process by its cgroup. Only the unit's manager puts processes there, so a handler that was started as a
/// unit needs no secret.
package nonisolated struct PeerUnits: Equatable, Sendable {
    /// By the manager.
    private let names: [SystemdManager: String]

    /// Maximum lines of `/proc/PID/cgroup` to read. There is one for each hierarchy, about ten at most.
    private static let maximumLines = 64

    /// The units that the process with this PID is in now.
    package init(of pid: Int32) {
        let groups = ProcessIdentity.controlGroups(of: pid) ?? []
        let units = SystemdManager.allCases.compactMap { manager in
            PeerUnits.unit(inGroups: groups, manager: manager, user: geteuid()).map { (manager, $0) }
        }
        names = Dictionary(units) { first, _ in first }
    }

    /// Whether it is in a unit of the system's manager that the daemon may start (deploy/polkit).
    package var isOfHandlers: Bool {
        names[.system].map(HandlerUnitName.isAllowed) ?? false
    }

    /// Nil if the process is in no unit of this manager, or can't be seen.
    subscript(manager: SystemdManager) -> String? { names[manager] }

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
