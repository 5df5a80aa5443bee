/// The kernel's data about a process: a line of `/proc/PID/stat` (proc_pid_stat(5)).
package struct ProcessStat: Hashable, Sendable {
    /// A line has numbers, and a name of at most 16 bytes.
    private static let maximumBytes = 4_096

    /// `Z` or `X`: it has ended, and its parent hasn't reaped it yet.
    package let hasEnded: Bool
    package let parent: Int32
    package let group: Int32
    /// Clock ticks from boot to its start. Together with the PID it identifies a process until the next boot. Nil if
    /// the line is too short.
    package let startTime: UInt64?

    /// - Returns: nil if there is no such process or it can't be seen.
    package init?(of process: Int32) {
        guard process > 0, let bytes = try? FileSystem.read("/proc/\(process)/stat", maximumSize: Self.maximumBytes)
        else { return nil }
        self.init(parsing: String(decoding: bytes, as: UTF8.self))
    }

    package init?(parsing line: String) {
        // The name (field 2) may contain spaces and parentheses, so field 3 follows the last parenthesis.
        guard let name = line.lastIndex(of: ")") else { return nil }
        let fields = line[line.index(after: name)...].split(separator: " ")
        guard fields.count >= 3, let parent = Int32(fields[1]), let group = Int32(fields[2]) else { return nil }
        hasEnded = fields[0] == "Z" || fields[0] == "X"
        self.parent = parent
        self.group = group
        startTime = fields.count > 19 ? UInt64(fields[19]) : nil
    }
}
