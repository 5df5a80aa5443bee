internal import CRingwakeSQLite
internal import Database
internal import FileSystem
internal import Glibc
internal import RingwakeCore
internal import StoreMigration

/// Why a store can't be opened.
nonisolated struct StoreOpeningFailure: Error {
    let error: RingwakeError
    /// What is wrong with the file itself; nil if another cause may pass, or if the file is good for another
    /// version.
    var damage: String?
    /// If the store was replaced before this: what happened to the damaged one, for a person. The new one must not be
    /// replaced again because of it.
    var replacement: String?
    /// Whether the disk is full.
    private(set) var isFull = false
    /// Whether another attempt would fail as this one has: the store can't be migrated.
    private(set) var isFinal = false
    /// The `errno` behind it; 0 if there is none.
    private var errno: Int32 = 0

    init(_ error: RingwakeError) { self.error = error }

    init(_ failure: SQLiteFailure, path: String) {
        error = StoreError.of(failure, path: path)
        if failure.isDamage { damage = failure.text }
        isFull = failure.isFull
        // After other failures it may be that of an earlier system call.
        if failure.code == SQLITE_CANTOPEN { errno = failure.errno }
    }

    init(_ failure: FileSystemError) {
        error = StoreError.of(failure)
        errno = failure.errno
        if errno == EISDIR { damage = "it is not a file" }
        isFull = errno == ENOSPC || errno == EDQUOT
    }

    init(_ failure: MigrationFailure, path: String) {
        switch failure {
        case .database(let failure): self.init(failure, path: path)
        case .wrongData(let why):
            self.init(StoreError.notMigrated(path, why))
            isFinal = true
        case .tooOld(let version, let oldest): self.init(StoreError.older(path, version: version, oldest: oldest))
        case .tooNew(let version, let current): self.init(StoreError.newer(path, version: version, current: current))
        }
    }

    init(noRoomToMigrate path: String, needed: Int64, free: Int64) {
        error = StoreError.noRoomToMigrate(path, needed: needed, free: free)
        isFull = true
    }

    /// A store that SQLite could open for reading only.
    init(readOnly path: String) {
        error = StoreError.readOnly(path)
        errno = access(path, W_OK) == 0 ? EACCES : Glibc.errno
    }

    /// The same failure, after the store was replaced.
    func adding(_ replacement: String?) -> StoreOpeningFailure {
        var failure = self
        failure.replacement = failure.replacement ?? replacement
        return failure
    }

    /// Whether a start has to be refused: a person made the fault, and another attempt finds the same until a person
    /// mends it. A store of a version that this program doesn't read, one in use by another process, a path that leads to
    /// no store, or files of another owner. Every other fault is the disk's and may pass: the daemon starts, and its calls
    /// ring from memory.
    var refusesStart: Bool {
        error.code == .conflict || error.code == .inUse
            || [EACCES, EPERM, ENOENT, ENOTDIR, ELOOP, ENAMETOOLONG, EINVAL].contains(errno)
    }
}

/// Runs `body`, whose failures are those of the store at `path`.
nonisolated func withStore<Value>(
    _ path: String, _ body: () throws(SQLiteFailure) -> Value
) throws(StoreOpeningFailure) -> Value {
    do throws(SQLiteFailure) {
        return try body()
    } catch {
        throw StoreOpeningFailure(error, path: path)
    }
}

/// Runs `body`, whose failures are those of files beside the store.
nonisolated func withStoreFiles<Value>(
    _ body: () throws(FileSystemError) -> Value
) throws(StoreOpeningFailure) -> Value {
    do throws(FileSystemError) {
        return try body()
    } catch {
        throw StoreOpeningFailure(error)
    }
}
