internal import FileSystem
package import RingwakeCore

nonisolated extension ProcessIdentity {
    /// Enough for the cgroup lines of every controller.
    private static let maximumBytes = 65_536

    /// The process that has this number now; nil when there is none, it has ended, or it cannot be seen.
    package init?(current pid: Int32) {
        // 0 and negative numbers name groups to kill(2), and 1 is everybody's parent: never a handler.
        guard pid > 1, let stat = ProcessStat(of: pid), !stat.hasEnded, let startTime = stat.startTime else {
            return nil
        }
        self.init(pid: pid, startTime: startTime)
    }

    /// The control groups of a process, one a line (cgroups(7), "/proc/[pid]/cgroup").
    static func controlGroups(of pid: Int32) -> [UInt8]? {
        pid > 0 ? try? FileSystem.read("/proc/\(pid)/cgroup", maximumSize: maximumBytes) : nil
    }
}
