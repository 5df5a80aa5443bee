internal import CRingwakeLinux
internal import FileSystem
internal import Glibc

/// The files of a replacement of a damaged store. A kill or a power cut at any moment costs nothing that can be read:
///
///     store.db --what can be read--> store.new --whole, and renamed--> store.next
///     store.db, store.db-wal --moved--> damaged/
///     store.next --renamed--> store.db
///
/// If a `store.next` is found without a `store.db`, the last two steps are completed. Otherwise the replacement begins
/// again.
nonisolated struct StoreReplacement {
    private let directory: String
    private let store: String
    /// The store while it is made.
    let new: String
    /// The store when it is whole.
    private let next: String

    init(inDirectory directory: String) {
        self.directory = directory
        store = StoreFile.path(inDirectory: directory)
        let folder = FileSystem.split(store).directory
        new = folder + "/store.new"
        next = folder + "/store.next"
    }

    /// Completes a replacement that was interrupted after the new store was whole, and removes what other ones left.
    /// - Returns: whether one was completed.
    func complete() throws(FileSystemError) -> Bool {
        guard isMissing(store), !isMissing(next) else {
            removeRemains()
            return false
        }
        if FileSystem.exists("\(store)-wal") {
            // SQLite would write it into the new store.
            try StoreFile.setAside(
                inDirectory: directory, why: "it is the log of the damaged \(store), which was set aside before it")
        }
        try FileSystem.move(next, to: store)
        return true
    }

    /// The new store is whole and closed.
    /// - Returns: its stamp.
    func finishNew() throws(FileSystemError) -> StoreFile.Stamp {
        // All of it is in the store.
        unlink("\(new)-wal")
        try FileSystem.move(new, to: next)
        var status = stat()
        guard stat(next, &status) == 0 else { throw FileSystemError(operation: "open", path: next, errno: errno) }
        return StoreFile.Stamp(status)
    }

    /// Puts the new store in the place of the former one, which was set aside.
    func putInPlace() throws(FileSystemError) { try FileSystem.move(next, to: store) }

    /// Removes what was made.
    func removeRemains() {
        for file in [new, "\(new)-wal", "\(new)-journal", next] { unlink(file) }
    }

    /// False also if that can't be found out.
    private func isMissing(_ path: String) -> Bool {
        var status = stat()
        return lstat(path, &status) != 0 && errno == ENOENT
    }
}
