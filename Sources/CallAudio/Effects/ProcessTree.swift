internal import FileSystem

/// The relations between processes, for one pass over the server: reads each process at most once. Not kept longer,
/// because the kernel reuses PIDs.
final class ProcessTree {
    /// Reads the entry of a process; nil if it is gone.
    typealias Reader = @Sendable (Int32) -> Entry?

    struct Entry: Hashable, Sendable {
        var parent: Int32
        var group: Int32

        init(parent: Int32, group: Int32) {
            self.parent = parent
            self.group = group
        }
    }

    private let read: Reader
    private var entries: [Int32: Entry?] = [:]

    init(_ read: @escaping Reader) { self.read = read }

    /// Reads `/proc`.
    static let live: Reader = { process in
        ProcessStat(of: process).map { Entry(parent: $0.parent, group: $0.group) }
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

    private func entry(_ process: Int32) -> Entry? {
        if let known = entries[process] { return known }
        let entry = read(process)
        entries.updateValue(entry, forKey: process)
        return entry
    }
}
