internal import FileSystem

/// Which processes belong together, as the kernel tells.
struct ProcessTree: Sendable {
    struct Entry: Hashable, Sendable {
        var parent: Int32
        var group: Int32

        init(parent: Int32, group: Int32) {
            self.parent = parent
            self.group = group
        }
    }

    /// Of one process; nil when it is gone.
    let entry: @Sendable (Int32) -> Entry?

    init(entry: @escaping @Sendable (Int32) -> Entry?) { self.entry = entry }

    /// `/proc` as it is now.
    static let live = ProcessTree { process in
        let path = "/proc/\(process)/stat"
        guard let bytes = try? FileSystem.read(path, maximumSize: 4_096) else { return nil }
        return parse(String(decoding: bytes, as: UTF8.self))
    }

    /// Maximum generations to look at, which bounds the cost of a foreign process.
    private static let maximumDepth = 32

    /// Whether a process is one of these, a descendant of one, or in a process group that one leads.
    func isOne(_ process: Int32, of processes: Set<Int32>) -> Bool {
        if processes.isEmpty { return false }
        if processes.contains(process) { return true }
        var current = process
        for generation in 0..<Self.maximumDepth {
            guard let entry = entry(current) else { return false }
            if generation == 0, processes.contains(entry.group) { return true }
            if processes.contains(entry.parent) { return true }
            guard entry.parent > 1, entry.parent != current else { return false }
            current = entry.parent
        }
        return false
    }

    /// proc_pid_stat(5): the name is in parentheses and may contain them; then state, parent and group.
    static func parse(_ text: String) -> Entry? {
        guard let end = text.lastIndex(of: ")") else { return nil }
        let fields = text[text.index(after: end)...].split(separator: " ", maxSplits: 3)
        guard fields.count >= 3, let parent = Int32(fields[1]), let group = Int32(fields[2]) else { return nil }
        return Entry(parent: parent, group: group)
    }
}
