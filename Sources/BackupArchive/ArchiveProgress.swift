internal import RingwakeCore

/// Reports how many bytes are done, of all. False cancels.
package typealias ArchiveProgress = (_ done: Int64, _ all: Int64) -> Bool

/// Counts what is done.
struct Meter {
    private let progress: ArchiveProgress
    private let all: Int64
    private var done: Int64 = 0

    init(all: Int64, _ progress: @escaping ArchiveProgress) {
        self.all = all
        self.progress = progress
    }

    /// - Throws: if the work is cancelled.
    mutating func add(_ count: Int) throws(RingwakeError) {
        done += Int64(count)
        guard progress(done, all) else { throw .backupCancelled }
    }
}
