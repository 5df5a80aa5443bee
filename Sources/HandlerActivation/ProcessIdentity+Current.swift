internal import CRingwakeLinux
internal import Glibc

nonisolated extension ProcessIdentity {
    /// Enough for a line of numbers and a name of at most 16 bytes, and for the cgroup lines of every controller.
    private static let maximumBytes = 8_192

    /// The process that has this number now; nil when there is none, or it cannot be seen.
    package init?(current pid: Int32) {
        // 0 and negative numbers name groups to kill(2), and 1 is everybody's parent: never a handler.
        guard pid > 1, let bytes = Self.contents(of: "/proc/\(pid)/stat"),
            let startTime = Self.startTime(inStat: bytes)
        else { return nil }
        self.init(pid: pid, startTime: startTime)
    }

    /// Field 22; nil of a process that has ended and only waits for its parent to look (field 3 is `Z` or `X`). The name
    /// in field 2 may hold spaces and parentheses, so the fields are counted from its last `)`.
    static func startTime(inStat bytes: [UInt8]) -> UInt64? {
        guard let end = bytes.lastIndex(of: UInt8(ascii: ")")) else { return nil }
        let fields = bytes[(end + 1)...].split(separator: UInt8(ascii: " "))
        guard fields.count > 19, !["Z", "X"].contains(String(decoding: fields[0], as: UTF8.self)) else { return nil }
        return UInt64(String(decoding: fields[19], as: UTF8.self))
    }

    /// The control groups of a process, one a line (cgroups(7), "/proc/[pid]/cgroup").
    static func controlGroups(of pid: Int32) -> [UInt8]? {
        pid > 0 ? contents(of: "/proc/\(pid)/cgroup") : nil
    }

    private static func contents(of path: String) -> [UInt8]? {
        let file = ringwake_open(path, O_RDONLY, 0)
        guard file >= 0 else { return nil }
        defer { close(file) }
        return [UInt8](unsafeUninitializedCapacity: maximumBytes) { buffer, count in
            count = max(0, read(file, buffer.baseAddress, buffer.count))
        }
    }
}
