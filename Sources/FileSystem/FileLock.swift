internal import CRingwakeLinux
internal import Glibc

/// An exclusive lock on a file, held as long as this object lives; the kernel lets go when the process dies.
///
/// The file stays: removing it would let two processes hold "the" lock, each on its own file.
package final class FileLock {
    private let descriptor: Descriptor

    /// Takes the lock, and makes the file (0600) where there is none.
    /// - Throws: EWOULDBLOCK when another holder has it; else what opening the file gave.
    package init(path: String) throws(FileSystemError) {
        descriptor = try Descriptor(opening: path, flags: O_RDWR | O_CREAT | O_NOFOLLOW, mode: 0o600)
        guard ringwake_lock_exclusively(descriptor.number) == 0 else {
            throw FileSystemError(operation: "lock", path: path, errno: errno)
        }
    }
}
