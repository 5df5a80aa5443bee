internal import Glibc

/// Differs when a file's contents, owner or mode have changed, and when this process gains or loses the right to read
/// it.
package struct FileStamp: Hashable, Sendable {
    private let device: UInt64
    private let inode: UInt64
    private let size: Int64
    private let times: [Int64]

    /// Nil if the file doesn't exist, or this process may not read it.
    package init?(_ path: String) {
        var status = stat()
        guard !path.utf8.contains(0), faccessat(AT_FDCWD, path, R_OK, AT_EACCESS) == 0, stat(path, &status) == 0 else {
            return nil
        }
        device = UInt64(status.st_dev)
        inode = UInt64(status.st_ino)
        size = Int64(status.st_size)
        let (modified, changed) = (status.st_mtim, status.st_ctim)
        times = [modified.tv_sec, modified.tv_nsec, changed.tv_sec, changed.tv_nsec].map { Int64($0) }
    }
}
