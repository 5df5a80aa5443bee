internal import CRingwakeLinux
internal import FileSystem
internal import Glibc

/// The store's file and its log in the file system.
///
/// Once SQLite has opened the store, this type never opens it: closing any descriptor of a file releases the process's
/// locks on it.
nonisolated struct StoreFile {
    /// The name of the store in its directory.
    static let name = "store.db"

    let path: String
    private let store: Identity
    /// Set once SQLite has created it. The log stays until the connection is closed.
    private var log: Identity?
    /// Whether this created the store.
    let isNew: Bool
    /// The store as this program left it, or found it.
    private(set) var stamp: Stamp
    private var logStamp: Stamp?

    /// Size and time of the last change: another one means that somebody wrote to the file.
    struct Stamp: Hashable {
        let size: Int64
        let seconds: Int64
        let nanoseconds: Int64
    }

    /// Identifies a file, whatever its path.
    private struct Identity: Equatable {
        let device: dev_t
        let inode: ino_t

        init(_ status: stat) {
            device = status.st_dev
            inode = status.st_ino
        }
    }

    var logPath: String { path + "-wal" }
    let directory: String

    static func path(inDirectory directory: String) -> String {
        // SQLite reads a path that begins with "file:" as a URI.
        (directory.hasPrefix("/") ? "" : "./") + directory + "/" + name
    }

    /// Finds the store, or creates an empty file that only its owner can read.
    init(inDirectory directory: String) throws(FileSystemError) {
        self.directory = directory
        path = Self.path(inDirectory: directory)
        guard !path.utf8.contains(0) else { throw FileSystemError(operation: "use", path: directory, errno: EINVAL) }
        let created = ringwake_open(path, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW, 0o600)
        isNew = created >= 0
        if isNew {
            close(created)
            try Self.synchronize(directory)
        } else if errno != EEXIST {
            throw FileSystemError(operation: "create", path: path, errno: errno)
        }
        var status = stat()
        guard stat(path, &status) == 0 else { throw FileSystemError(operation: "open", path: path, errno: errno) }
        guard status.st_mode & S_IFMT == S_IFREG else {
            throw FileSystemError(operation: "open", path: path, errno: EISDIR)
        }
        store = Identity(status)
        stamp = Stamp(status)
    }

    /// The size of the store and its log in bytes; nil if a path leads to no file, or to another file than the open
    /// one.
    var bytes: Int64? { present.map { $0.store.size + ($0.log?.stamp.size ?? 0) } }

    /// Notes how this program's work has left the files. Call it after each work, also one that failed, and at no other
    /// time: what somebody else wrote would pass as ours.
    /// - Parameter isInStore: whether the work was on the store too. A commit writes to the log only.
    /// - Returns: false if a path leads to no file, or to another file than the open one.
    @discardableResult
    mutating func noteWork(isInStore: Bool) -> Bool {
        guard let present else { return false }
        if isInStore { stamp = present.store }
        if let found = present.log { (log, logStamp) = (found.identity, found.stamp) }
        return true
    }

    private var present: (store: Stamp, log: (identity: Identity, stamp: Stamp)?)? {
        var status = stat()
        guard stat(path, &status) == 0, Identity(status) == store else { return nil }
        let stamp = Stamp(status)
        guard stat(logPath, &status) == 0 else { return log == nil ? (stamp, nil) : nil }
        if let log { guard Identity(status) == log else { return nil } }
        return (stamp, (Identity(status), Stamp(status)))
    }

    /// Whether the open files are as this program left them. A file that was moved away is another matter.
    var isUntouched: Bool {
        var status = stat()
        if stat(path, &status) == 0, Identity(status) == store, Stamp(status) != stamp { return false }
        guard let logStamp, stat(logPath, &status) == 0, Identity(status) == log else { return true }
        return Stamp(status) == logStamp
    }

    /// Moves the store and its log into the folder of damaged files.
    static func setAside(inDirectory directory: String, why: String) throws(FileSystemError) {
        try DamageFolder(stateDirectory: directory).add(["", "-wal"].map { "\(directory)/\(name)\($0)" }, why: why)
    }

    private static func synchronize(_ directory: String) throws(FileSystemError) {
        let descriptor = ringwake_open(directory, O_RDONLY | O_DIRECTORY, 0)
        guard descriptor >= 0 else { throw FileSystemError(operation: "open", path: directory, errno: errno) }
        defer { close(descriptor) }
        // File systems that don't support it (EINVAL) don't need it.
        guard fsync(descriptor) == 0 || errno == EINVAL else {
            throw FileSystemError(operation: "sync", path: directory, errno: errno)
        }
    }
}

nonisolated extension StoreFile.Stamp {
    init(_ status: stat) {
        size = Int64(status.st_size)
        seconds = Int64(status.st_mtim.tv_sec)
        nanoseconds = Int64(status.st_mtim.tv_nsec)
    }
}
