internal import CRingwakeLinux
internal import FileSystem
internal import Glibc

/// The store's file and its log as the file system has them.
///
/// The store is never opened here once SQLite has it: closing any descriptor of a file gives up the locks that this
/// process has on it.
nonisolated struct StoreFile {
    /// The name of the store in its directory.
    static let name = "store.db"

    let path: String
    private let device: dev_t
    private let inode: ino_t

    var logPath: String { path + "-wal" }

    /// Finds the store, or begins an empty file that only its owner can read.
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
        (device, inode) = (status.st_dev, status.st_ino)
    }

    /// Bytes of the store and its log; nil when the path leads to another file than the one that is open, or to none.
    func bytes() -> Int64? {
        var status = stat()
        guard stat(path, &status) == 0, status.st_dev == device, status.st_ino == inode else { return nil }
        let bytes = Int64(status.st_size)
        return stat(logPath, &status) == 0 ? bytes + Int64(status.st_size) : bytes
    }

    private static func synchronize(_ directory: String) throws(FileSystemError) {
        let descriptor = ringwake_open(directory, O_RDONLY | O_DIRECTORY, 0)
        guard descriptor >= 0 else { throw FileSystemError(operation: "open", path: directory, errno: errno) }
        defer { close(descriptor) }
        // File systems that cannot (EINVAL) do not need it.
        guard fsync(descriptor) == 0 || errno == EINVAL else {
            throw FileSystemError(operation: "sync", path: directory, errno: errno)
        }
    }
}
