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
        do throws(FileSystemError) {
            descriptor = try Descriptor(opening: path, flags: O_RDWR | O_CREAT | O_NOFOLLOW, mode: 0o600)
        } catch {
            // An existing file can be locked all the same.
            guard error.errno == EROFS, FileSystem.exists(path) else { throw error }
            descriptor = try Descriptor(opening: path, flags: O_RDONLY | O_NOFOLLOW)
        }
        guard ringwake_flock(descriptor.number, LOCK_EX | LOCK_NB) == 0 else {
            throw FileSystemError(operation: "lock", path: path, errno: errno)
        }
    }

    /// Closing is not enough: a child that another thread starts just now has the descriptor, and with it the lock,
    /// until it executes its program.
    deinit { _ = ringwake_flock(descriptor.number, LOCK_UN) }
}
