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

    /// Finds the store, or creates an empty file that only its owner can read.
    init(inDirectory directory: String) throws(FileSystemError) {
        // SQLite reads a path that begins with "file:" as a URI.
        path = (directory.hasPrefix("/") ? "" : "./") + directory + "/" + Self.name
        guard !path.utf8.contains(0) else { throw FileSystemError(operation: "use", path: directory, errno: EINVAL) }
        let created = ringwake_open(path, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW, 0o600)
        if created >= 0 {
            close(created)
            try Self.synchronize(directory)
        } else if errno != EEXIST {
            throw FileSystemError(operation: "create", path: path, errno: errno)
        }
        var status = stat()
        guard stat(path, &status) == 0 else { throw FileSystemError(operation: "open", path: path, errno: errno) }
        guard status.st_mode & S_IFMT == S_IFREG else {
            throw FileSystemError(operation: "open", path: path, errno: EINVAL)
        }
        store = Identity(status)
    }

    /// The size of the store and its log in bytes; nil if a path leads to no file, or to another file than the open
    /// one.
    mutating func bytes() -> Int64? {
        var status = stat()
        guard stat(path, &status) == 0, Identity(status) == store else { return nil }
        let bytes = Int64(status.st_size)
        guard stat(logPath, &status) == 0 else { return log == nil ? bytes : nil }
        if let log { guard Identity(status) == log else { return nil } }
        log = Identity(status)
        return bytes + Int64(status.st_size)
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
