internal import CRingwakeLinux
internal import FileSystem
internal import Glibc

/// A file, closed with this object: what uses the number has to keep the object.
final class OpenFile {
    let number: Int32
    private var pieces = WriteBack()

    /// - Returns: nil if it can't be opened; `errno` says why.
    init?(_ path: String, flags: Int32, mode: mode_t = 0) {
        guard !path.utf8.contains(0) else {
            errno = EINVAL
            return nil
        }
        number = ringwake_open(path, flags, mode)
        if number < 0 { return nil }
    }

    /// Opens a name in a directory.
    init?(_ name: String, in directory: OpenFile, flags: Int32, mode: mode_t = 0) {
        number = openat(directory.number, name, flags | O_CLOEXEC, mode)
        if number < 0 { return nil }
    }

    deinit {
        // A file that couldn't be opened: `errno` stays as it is.
        if number >= 0 { close(number) }
    }

    /// A regular file's size, mode and time; nil for anything else.
    var status: stat? {
        var status = stat()
        return fstat(number, &status) == 0 && status.st_mode & S_IFMT == S_IFREG ? status : nil
    }

    /// Whether its contents, or the names in a directory, are on the disk now. EINVAL: a file system that doesn't need it.
    func synchronize() -> Bool { fsync(number) == 0 || errno == EINVAL }

    /// Takes a lock, which the kernel releases when this process dies.
    func lock() -> Bool { ringwake_flock(number, LOCK_EX | LOCK_NB) == 0 }

    /// - Returns: the bytes that were read; 0 at the end; -1 with `errno`.
    func read(into buffer: UnsafeMutableRawBufferPointer) -> Int {
        while true {
            let count = Glibc.read(number, buffer.baseAddress, buffer.count)
            if count >= 0 || errno != EINTR { return count }
        }
    }

    /// - Returns: whether all bytes were written; else `errno` says why not.
    func write(_ bytes: UnsafeRawBufferPointer) -> Bool {
        var rest = bytes
        while !rest.isEmpty {
            let count = Glibc.write(number, rest.baseAddress, rest.count)
            guard count > 0 || errno == EINTR else { return false }
            rest = UnsafeRawBufferPointer(rebasing: rest[max(0, count)...])
        }
        return pieces.reachedPosition(of: number)
    }
}
