internal import FileSystem

/// The relations between processes: read once for each process that has a stream, and kept as long as it has one.
///
/// The kernel reuses PIDs, and a call can be answered long after it began to ring. What is kept stays right: ancestors
/// of a running process don't change, except that they end, and a program's group is set before it plays. An ancestor
/// that ended matters only if a process of ours now has its PID, so one counts only if it still has its start time.
final class ProcessTree {
    /// Reads the entry of a process; nil if it is gone.
    typealias Reader = @Sendable (Int32) -> Entry?

    struct Entry: Hashable, Sendable {
        var parent: Int32
        var group: Int32
        /// Clock ticks from boot to its start; nil if unknown.
        var start: UInt64?
    }

    private struct Lineage {
        var group: Int32?
        /// The start times of its ancestors.
        var ancestors: [Int32: UInt64?] = [:]
    }

    private let read: Reader
    private var lineages: [Int32: Lineage] = [:]
    /// What was read since ``follow(_:)``: streams share ancestors.
    private var entries: [Int32: Entry?] = [:]

    init(_ read: @escaping Reader) { self.read = read }

    /// Reads `/proc`.
    static let live: Reader = { process in
        ProcessStat(of: process).map { Entry(parent: $0.parent, group: $0.group, start: $0.startTime) }
    }

    /// Maximum generations to look at, which bounds the cost of a foreign process.
    private static let maximumDepth = 32

    /// Forgets processes that no longer have a stream, and reads what others need anew.
    func follow(_ image: AudioServerImage) {
        entries = [:]
        let streams = [image.playing, image.recording].flatMap(\.values)
        let processes = Set(streams.compactMap(\.process))
        lineages = lineages.filter { processes.contains($0.key) }
    }

    /// Whether a process is one of these, a descendant of one, or in a process group that one leads.
    func isOne(_ process: Int32, of processes: Set<Int32>) -> Bool {
        if processes.isEmpty { return false }
        if processes.contains(process) { return true }
        let lineage = lineage(of: process)
        if let group = lineage.group, processes.contains(group) { return true }
        return lineage.ancestors.contains { processes.contains($0.key) && entry($0.key)?.start == $0.value }
    }

    private func lineage(of process: Int32) -> Lineage {
        if let known = lineages[process] { return known }
        var lineage = Lineage()
        var (current, entry) = (process, entry(process))
        lineage.group = entry?.group
        for _ in 0..<Self.maximumDepth {
            guard let parent = entry?.parent, parent > 1, parent != current else { break }
            (current, entry) = (parent, self.entry(parent))
            lineage.ancestors.updateValue(entry?.start, forKey: parent)
        }
        lineages[process] = lineage
        return lineage
    }

    private func entry(_ process: Int32) -> Entry? {
        if let known = entries[process] { return known }
        let entry = read(process)
        entries.updateValue(entry, forKey: process)
        return entry
    }
}
