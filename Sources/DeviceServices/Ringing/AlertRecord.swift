internal import FileSystem
internal import Glibc
internal import Logging

/// A file with the current alert processes and notifications, for a daemon that starts after one that was killed. It
/// ends the processes that outlived that daemon (those that closed the pipe of ``AlertProcess``), and withdraws the
/// notifications, whose buttons nobody handles any more.
///
/// One line each: `process PID START`, where START is field 22 of `/proc/PID/stat`, and `notification OWNER ID`.
final class AlertRecord {
    /// A notification as the server knows it.
    struct Shown: Hashable {
        /// The unique bus name of the server that shows it.
        let owner: String
        let id: UInt32
    }

    /// Maximum lines to read; a file of ours has a few.
    private static let maximumLines = 64

    private let path: String
    private let logger: Logger
    private var processes: [Int32: UInt64] = [:]
    private var notifications: Set<Shown> = []
    private var isFailureReported = false

    /// - Parameter directory: the runtime directory, which doesn't survive a shutdown.
    init(directory: String, logger: Logger) {
        path = "\(directory)/ring.pid"
        self.logger = logger
    }

    /// Ends the processes that a former daemon left.
    /// - Returns: The notifications that it left.
    func endLeftovers() -> [Shown] {
        guard let bytes = try? FileSystem.read(path, maximumSize: 65_536) else { return [] }
        var shown: [Shown] = []
        for line in String(decoding: bytes, as: UTF8.self).split(separator: "\n").prefix(Self.maximumLines) {
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
        guard let startTime = ProcessStat(of: pid)?.startTime else { return }
        processes[pid] = startTime
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
        if !stat.hasEnded { logger.notice("a ring that outlived the daemon was ended", metadata: ["pid": "\(pid)"]) }
        // Also if the leader waits to be reaped: processes that it started may still sound, and the group is still
        // its own.
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
        guard result != 0, !isFailureReported else { return }
        isFailureReported = true
        logger.warning(
            "what rings cannot be written down; it may outlive a daemon that is killed",
            metadata: ["path": "\(path)", "reason": "\(String(cString: strerror(result)))"])
    }
}
