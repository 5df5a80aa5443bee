internal import CRingwakeLinux
internal import FileSystem
internal import Glibc
internal import RingwakeCore

/// An open file of the index or beside it, closed with this object. Its offsets are given with each call, so that it
/// has no position that two users could disturb.
final class IndexFile: Sendable {
    let path: String
    private let descriptor: Int32

    private init(path: String, descriptor: Int32) {
        self.path = path
        self.descriptor = descriptor
    }

    deinit { close(descriptor) }

    /// - Throws: `notFound` when there is no such file, `system` for what else opening it gave.
    static func reading(_ path: String) throws(RingwakeError) -> IndexFile {
        guard !path.utf8.contains(0) else { throw problem("open", path, EINVAL) }
        let descriptor = ringwake_open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY, 0)
        guard descriptor >= 0 else { throw problem("open", path, errno) }
        // Look-ups read single blocks: what lies beside them is of no use in the page cache.
        posix_fadvise(descriptor, 0, 0, POSIX_FADV_RANDOM)
        return IndexFile(path: path, descriptor: descriptor)
    }

    /// Makes a file that must not be there; only its owner may read it.
    static func creating(_ path: String) throws(RingwakeError) -> IndexFile {
        guard !path.utf8.contains(0) else { throw problem("create", path, EINVAL) }
        let descriptor = ringwake_open(path, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW, 0o600)
        guard descriptor >= 0 else { throw problem("create", path, errno) }
        return IndexFile(path: path, descriptor: descriptor)
    }

    /// How many bytes it has. Only a regular file is taken.
    func size() throws(RingwakeError) -> Int {
        var status = stat()
        guard fstat(descriptor, &status) == 0 else { throw IndexFile.problem("stat", path, errno) }
        guard status.st_mode & S_IFMT == S_IFREG else { throw IndexFile.problem("read", path, EINVAL) }
        guard let size = Int(exactly: status.st_size) else { throw IndexFile.problem("read", path, EFBIG) }
        return size
    }

    /// Fills `buffer` from `offset` on. False when the file ends before.
    func read(into buffer: UnsafeMutableRawBufferPointer, at offset: Int) throws(RingwakeError) -> Bool {
        var done = 0
        while done < buffer.count {
            guard let base = buffer.baseAddress else { return true }
            let count = pread(descriptor, base + done, buffer.count - done, off_t(offset + done))
            if count < 0, errno == EINTR { continue }
            guard count >= 0 else { throw IndexFile.problem("read", path, errno) }
            if count == 0 { return false }
            done += count
        }
        return true
    }

    func write(_ bytes: UnsafeRawBufferPointer, at offset: Int) throws(RingwakeError) {
        var done = 0
        while done < bytes.count {
            guard let base = bytes.baseAddress else { return }
            let count = pwrite(descriptor, base + done, bytes.count - done, off_t(offset + done))
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { throw IndexFile.problem("write", path, count == 0 ? ENOSPC : errno) }
            done += count
        }
    }

    /// Forces what was written to the disk.
    func synchronize() throws(RingwakeError) {
        guard fsync(descriptor) == 0 else { throw IndexFile.problem("sync", path, errno) }
    }

    /// Gives the file another name in the same folder, in place of what had it, and forces that to the disk.
    func rename(to target: String) throws(RingwakeError) {
        guard Glibc.rename(path, target) == 0 else { throw IndexFile.problem("replace", target, errno) }
        let directory = ringwake_open(IndexFile.directory(of: target), O_RDONLY | O_DIRECTORY, 0)
        guard directory >= 0 else { throw IndexFile.problem("open", IndexFile.directory(of: target), errno) }
        defer { close(directory) }
        // A file system that cannot (EINVAL) does not need it.
        guard fsync(directory) == 0 || errno == EINVAL else { throw IndexFile.problem("sync", target, errno) }
    }

    /// Takes its name away; the file lasts as long as this object.
    func removeName() {
        unlink(path)
    }

    static func directory(of path: String) -> String {
        guard let slash = path.lastIndex(of: "/") else { return "." }
        return slash == path.startIndex ? "/" : String(path[..<slash])
    }

    private static func problem(_ operation: String, _ path: String, _ number: Int32) -> RingwakeError {
        let error = FileSystemError(operation: operation, path: path, errno: number)
        return RingwakeError(number == ENOENT ? .notFound : .system, error.description)
    }
}
