internal import FileSystem
package import RingwakeCore

nonisolated extension ProcessIdentity {
    /// Enough for the cgroup lines of every controller.
    private static let maximumBytes = 65_536

    /// The process that has this PID now; nil if there is none, it has ended, or it can't be seen.
    package init?(current pid: Int32) {
        // To kill(2), 0 and negative numbers mean groups. PID 1 is init, never a handler.
        guard pid > 1, let stat = ProcessStat(of: pid), !stat.hasEnded, let startTime = stat.startTime else {
            return nil
        }
        self.init(pid: pid, startTime: startTime)
    }

    /// The control groups of a process, one per line (cgroups(7), "/proc/[pid]/cgroup").
    static func controlGroups(of pid: Int32) -> [UInt8]? {
        pid > 0 ? try? FileSystem.read("/proc/\(pid)/cgroup", maximumSize: maximumBytes) : nil
    }
}
