import CRingwakeSQLite
import Glibc
import Synchronization

/// A layer of SQLite that reads and writes files and fails as it is told to, for one test each.
///
/// It lets the system's layer do the work and only puts itself before some of its functions. SQLite calls these
/// without a context, so the disks are found by the directory that a file is in.
nonisolated final class FaultyDisk: Sendable {
    /// What a file was asked to do.
    enum Operation: Hashable, Sendable {
        case write, sync, truncate
    }

    /// One thing that was done to a file.
    enum Change: Sendable {
        case write(file: String, offset: Int64, bytes: [UInt8])
        case truncate(file: String, size: Int64)
        case delete(file: String)
        /// What was written to the file since the last one is durable, or, when it failed, is lost for ever.
        case sync(file: String, succeeded: Bool)
    }

    /// What SQLite is told when a sync fails.
    static let syncFailure = SQLITE_IOERR | (4 << 8)

    /// Says what goes wrong: a result code of SQLite, or nil. The file's name is that within the directory.
    typealias Plan = @Sendable (Operation, String) -> Int32?

    private struct State {
        var plan: Plan = { _, _ in nil }
        var readFailure: @Sendable (String) -> Int32? = { _ in nil }
        var isReadOnly = false
        var changes: [Change] = []
    }

    private let state = Mutex(State())

    var plan: Plan {
        get { state.withLock { $0.plan } }
        set { state.withLock { $0.plan = newValue } }
    }

    /// The same for reading a file of this name.
    var readFailure: @Sendable (String) -> Int32? {
        get { state.withLock { $0.readFailure } }
        set { state.withLock { $0.readFailure = newValue } }
    }

    /// Whether files can only be read, as on a file system that is mounted so.
    var isReadOnly: Bool {
        get { state.withLock { $0.isReadOnly } }
        set { state.withLock { $0.isReadOnly = newValue } }
    }

    /// What was done to the files, in order.
    var changes: [Change] { state.withLock { $0.changes } }

    func note(_ change: Change) {
        state.withLock { $0.changes.append(change) }
    }

    // MARK: - Where it is found

    private static let disks = Mutex<[String: FaultyDisk]>([:])

    /// Puts a disk under a directory, until `unmount`.
    static func mount(on directory: String) -> FaultyDisk {
        let disk = FaultyDisk()
        disks.withLock { $0[directory] = disk }
        return disk
    }

    static func unmount(_ directory: String) {
        _ = disks.withLock { $0.removeValue(forKey: directory) }
    }

    static func find(_ path: UnsafePointer<CChar>?) -> (disk: FaultyDisk, name: String)? {
        guard let path, let slash = strrchr(path, 0x2f) else { return nil }
        let length = slash - UnsafeMutablePointer(mutating: path)
        let directory = String(decoding: UnsafeRawBufferPointer(start: path, count: length), as: UTF8.self)
        guard let disk = disks.withLock({ $0[directory] }) else { return nil }
        return (disk, String(cString: slash + 1))
    }

    /// The name to open a store with.
    static let vfs: String = {
        FaultyLayer.register()
        return FaultyLayer.name
    }()
}
