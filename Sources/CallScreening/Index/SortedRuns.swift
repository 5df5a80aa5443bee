internal import RingwakeCore

/// Sorts more records than memory is to hold: sorted runs are written to a file beside the index, and merged.
struct SortedRuns: ~Copyable {
    /// Records in memory before they are written as a run: 4 MiB.
    static let recordsPerRun = 262_144
    // Records that the merge reads of a run at once: 64 KiB.
    fileprivate static let recordsPerRead = 4_096

    private let makeFile: () throws(RingwakeError) -> IndexFile
    private let capacity: Int
    private var waiting: [IndexRecord] = []
    private var file: IndexFile?
    private var runs: [Range<Int>] = []

    /// - Parameter makeFile: makes the file for runs, when there is more than one.
    init(capacity: Int = recordsPerRun, makeFile: @escaping () throws(RingwakeError) -> IndexFile) {
        self.capacity = capacity
        self.makeFile = makeFile
    }

    mutating func append(_ record: IndexRecord) throws(RingwakeError) {
        waiting.append(record)
        if waiting.count >= capacity { try spill() }
    }

    /// Hands over all records in order, and forgets them.
    consuming func drain(
        _ body: (IndexRecord) throws(RingwakeError) -> Void
    ) throws(RingwakeError) {
        guard !runs.isEmpty else {
            waiting.sort()
            for record in waiting { try body(record) }
            return
        }
        if !waiting.isEmpty { try spill() }
        waiting = []
        guard let file else { return }
        var heap: [RunReader] = []
        for run in runs {
            if let reader = try RunReader(file, run) { heap.append(reader) }
        }
        for index in heap.indices.reversed() { SortedRuns.sift(&heap, from: index) }
        while !heap.isEmpty {
            try body(heap[0].first)
            if try !heap[0].advance() {
                heap.swapAt(0, heap.count - 1)
                heap.removeLast()
            }
            SortedRuns.sift(&heap, from: 0)
        }
    }

    private mutating func spill() throws(RingwakeError) {
        waiting.sort()
        let target: IndexFile
        if let file {
            target = file
        } else {
            target = try makeFile()
            file = target
        }
        let start = runs.last?.upperBound ?? 0
        let bytes = waiting.withUnsafeBytes { $0.count }
        let result = waiting.withUnsafeBytes { bytes in
            Result { () throws(RingwakeError) in try target.write(bytes, at: start) }
        }
        try result.get()
        runs.append(start..<(start + bytes))
        waiting.removeAll(keepingCapacity: true)
    }

    /// Moves the reader at `index` down until no reader below it comes first.
    private static func sift(_ heap: inout [RunReader], from index: Int) {
        var index = index
        while true {
            var least = index
            for child in [2 * index + 1, 2 * index + 2]
            where child < heap.count && heap[child].first < heap[least].first {
                least = child
            }
            guard least != index else { return }
            heap.swapAt(index, least)
            index = least
        }
    }
}

/// Reads one run in pieces.
private final class RunReader {
    private(set) var first: IndexRecord
    private let file: IndexFile
    private var rest: Range<Int>
    private var piece: [IndexRecord] = []
    private var next = 0

    /// Nil for an empty run.
    init?(_ file: IndexFile, _ run: Range<Int>) throws(RingwakeError) {
        self.file = file
        rest = run
        first = IndexRecord(key: 0, value: 0)
        guard try advance() else { return nil }
    }

    /// Goes on to the next record; false after the last.
    func advance() throws(RingwakeError) -> Bool {
        if next == piece.count {
            let count = min(rest.count / MemoryLayout<IndexRecord>.stride, SortedRuns.recordsPerRead)
            guard count > 0 else { return false }
            piece = [IndexRecord](repeating: IndexRecord(key: 0, value: 0), count: count)
            let start = rest.lowerBound
            let result = piece.withUnsafeMutableBytes { buffer in
                Result { () throws(RingwakeError) in try file.read(into: buffer, at: start) }
            }
            guard try result.get() else {
                throw RingwakeError(.system, "cannot read \(file.path): it was cut short while it was sorted")
            }
            rest = (start + count * MemoryLayout<IndexRecord>.stride)..<rest.upperBound
            next = 0
        }
        first = piece[next]
        next += 1
        return true
    }
}
