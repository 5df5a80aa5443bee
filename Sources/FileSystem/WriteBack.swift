internal import CRingwakeLinux
internal import Glibc

/// Sends a file to the disk piece by piece while it is written. Else all of it goes there at the end, at once, and what other
/// programs sync meanwhile waits for it: the answers to pushes too.
///
///     var writeBack = WriteBack()
///     while let piece = next() {
///         write(piece, to: file)
///         guard writeBack.reached(written, of: file) else { throw failure(errno) }
///     }
package struct WriteBack {
    private static let pieceBytes: Int64 = 4 << 20

    private var done: Int64 = 0

    package init() {}

    /// Makes nothing durable: `fsync` does.
    ///
    /// - Parameter end: so many bytes have been written; negative: nobody knows, as of a pipe.
    /// - Returns: false if the disk didn't take them; `errno` says why. The sync at the end isn't told of that again.
    package mutating func reached(_ end: Int64, of descriptor: Int32) -> Bool {
        guard end - done >= Self.pieceBytes else { return true }
        let result = ringwake_write_back(descriptor, done, end - done)
        done = end
        // It isn't a file, or the system call isn't there or not allowed.
        return result == 0 || [EINVAL, ENOSYS, EPERM, ESPIPE].contains(errno)
    }

    /// The same of a file that is written from its beginning to its end.
    package mutating func reachedPosition(of descriptor: Int32) -> Bool {
        reached(Int64(lseek(descriptor, 0, SEEK_CUR)), of: descriptor)
    }
}
