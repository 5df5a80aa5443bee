/// Identifies a process uniquely: process ids are reused, but not with the same start time.
package struct ProcessIdentity: Hashable, Sendable, Codable {
    package let pid: Int32
    /// Its start time in clock ticks after boot: field 22 of `/proc/PID/stat` (proc(5)).
    package let startTime: UInt64

    private enum CodingKeys: String, CodingKey {
        case pid, startTime
    }

    package init(pid: Int32, startTime: UInt64) {
        self.pid = pid
        self.startTime = startTime
    }
}
