internal import Glibc
internal import Logging

/// A file that says what rings and what is shown, for a daemon that starts after one that was killed: it ends the
/// processes that outlived the other (the pipe of ``AlertProcess`` leaves those that closed it), and takes back the
/// notifications, whose buttons nobody listens to any more.
///
/// One line each: `process PID START`, where START is field 22 of `/proc/PID/stat`, and `notification OWNER ID`.
final class AlertRecord {
    /// A notification as the server knows it.
    struct Shown: Hashable {
        /// The unique bus name of the server that shows it.
        let owner: String
        let id: UInt32
    }

    /// Lines that are read of a file; one that we wrote has a few.
    private static let maximumLines = 64

    private let path: String
    private let logger: Logger
    private var processes: [Int32: UInt64] = [:]
    private var notifications: Set<Shown> = []
    private var isFailureTold = false

    /// - Parameter directory: The runtime directory: it goes with the machine's shutdown.
    init(directory: String, logger: Logger) {
        path = "\(directory)/ring.pid"
        self.logger = logger
    }

    /// Ends the processes that a former daemon left.
    /// - Returns: The notifications that it left.
    func endLeftovers() -> [Shown] {
        guard let text = SmallFile.read(path, maximumBytes: 65_536) else { return [] }
        var shown: [Shown] = []
        for line in text.split(separator: "\n").prefix(Self.maximumLines) {
            let words = line.split(separator: " ")
            guard words.count == 3 else { continue }
            if words[0] == "process", let pid = Int32(words[1]), pid > 1, let start = UInt64(words[2]) {
                endGroup(of: pid, startedAt: start)
            } else if words[0] == "notification", let id = UInt32(words[2]) {
                shown.append(Shown(owner: String(words[1]), id: id))
            }
        }
        unlink(path)
        return shown
    }

    /// A process has started.
    func began(_ pid: Int32) {
        guard let stat = ProcessStat(of: pid) else { return }
        processes[pid] = stat.startTime
        save()
    }

    /// A process has ended, and all of its group.
    func ended(_ pid: Int32) {
        if processes.removeValue(forKey: pid) != nil { save() }
    }

    /// The notifications that are shown now.
    func shows(_ shown: Set<Shown>) {
        guard shown != notifications else { return }
        notifications = shown
        save()
    }

    private func endGroup(of pid: Int32, startedAt start: UInt64) {
        guard let stat = ProcessStat(of: pid), stat.startTime == start, stat.group == pid else { return }
        if !stat.isZombie { logger.notice("a ring that outlived the daemon was ended", metadata: ["pid": "\(pid)"]) }
        // Also when the leader waits to be reaped: what it started may sound on, and its group is still its own.
        kill(-pid, SIGKILL)
    }

    private func save() {
        if processes.isEmpty, notifications.isEmpty {
            unlink(path)
            return
        }
        let lines =
            processes.sorted { $0.key < $1.key }.map { "process \($0.key) \($0.value)\n" }
            + notifications.map { "notification \($0.owner) \($0.id)\n" }
        let result = SmallFile.write(lines.joined(), to: path, isMade: true)
        guard result != 0, !isFailureTold else { return }
        isFailureTold = true
        logger.warning(
            "what rings cannot be written down; it may outlive a daemon that is killed",
            metadata: ["path": "\(path)", "reason": "\(String(cString: strerror(result)))"])
    }
}

/// What `/proc/PID/stat` says of a process. See proc_pid_stat(5).
private struct ProcessStat {
    let group: Int32
    let isZombie: Bool
    /// Clock ticks since boot; with the process id it names one process for as long as the machine runs.
    let startTime: UInt64

    init?(of pid: Int32) {
        guard let text = SmallFile.read("/proc/\(pid)/stat"), let name = text.lastIndex(of: ")") else { return nil }
        // The name, field 2, may hold blanks and parentheses; field 3 comes after its last one.
        let fields = text[text.index(after: name)...].split(separator: " ")
        guard fields.count > 19, let group = Int32(fields[2]), let start = UInt64(fields[19]) else { return nil }
        self.group = group
        isZombie = fields[0] == "Z"
        startTime = start
    }
}
