internal import CRingwakeLinux
internal import Glibc

/// A file that has lost its name, and whose contents are still to be freed.
///
/// `unlink` frees the contents too, which takes some tenths of a second for each gigabyte. A loop that may not wait so long has
/// a thread do it.
package struct RemovedFile: Sendable {
    /// What one step frees, in bytes: short enough that no other user of the file system waits for it.
    private static let stepBytes: Int64 = 16 << 20

    private let file: Descriptor

    /// Removes the name of a regular file. ENOENT if there is none.
    package init(_ path: String) throws(FileSystemError) {
        file = try Descriptor(opening: path, flags: O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY)
        try FileSystem.remove(path)
    }

    /// Frees the contents, in steps. Whoever still has the file open finds it empty.
    package func free() {
        var status = stat()
        guard fstat(file.number, &status) == 0 else { return }
        var size = Int64(status.st_size)
        while size > 0 {
            size = max(0, size - Self.stepBytes)
            // If this fails, closing the descriptor frees the rest.
            guard ftruncate(file.number, off_t(size)) == 0 else { return }
        }
    }
}
