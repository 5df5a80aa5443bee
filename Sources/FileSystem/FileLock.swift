internal import CRingwakeLinux
internal import Glibc

/// An exclusive lock on a file, held while this object lives. The kernel releases it when the process dies.
///
/// The file is never removed. Otherwise two processes could each hold the lock, on different files.
package final class FileLock {
    private let descriptor: Descriptor

    /// Takes the lock, and creates the file (0600) if necessary.
    /// - Throws: EWOULDBLOCK if the lock is held; otherwise the error of opening the file.
    package init(path: String) throws(FileSystemError) {
        descriptor = try Descriptor(opening: path, flags: O_RDWR | O_CREAT | O_NOFOLLOW, mode: 0o600)
        guard ringwake_lock_exclusively(descriptor.number) == 0 else {
            throw FileSystemError(operation: "lock", path: path, errno: errno)
        }
    }
}
