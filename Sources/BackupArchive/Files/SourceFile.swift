internal import CRingwakeLinux
internal import FileSystem
internal import Glibc
internal import RingwakeCore

/// A file that is backed up, read once from beginning to end.
final class SourceFile {
    /// Bytes that are read at once.
    private static let blockBytes = 262_144

    private let path: String
    private let file: OpenFile
    private let buffer: UnsafeMutableRawBufferPointer
    /// Still to be read.
    private var rest: Int64
    let bytes: Int64
    let mode: FileMode
    /// Seconds since 1970.
    let modified: Int64

    /// - Parameter owner: who has to own it; nil: anybody.
    init(_ path: String, owner: UInt32? = nil) throws(RingwakeError) {
        self.path = path
        // Not blocking: a pipe would wait for a writer.
        guard let file = OpenFile(path, flags: O_RDONLY | O_NOCTTY | O_NONBLOCK) else {
            throw .unreadableSource(FileSystemError(operation: "open", path: path, errno: errno))
        }
        guard let status = file.status else {
            throw .unreadableSource(FileSystemError(operation: "back up", path: path, errno: EINVAL))
        }
        guard owner == nil || owner == status.st_uid else {
            throw RingwakeError(
                .notPermitted, "\(path) belongs to another user than its folder; remove it, or give it to that user")
        }
        self.file = file
        bytes = Int64(status.st_size)
        rest = bytes
        mode = FileMode(status.st_mode)
        modified = Int64(status.st_mtim.tv_sec)
        buffer = .allocate(byteCount: Self.blockBytes, alignment: 16)
    }

    deinit { buffer.deallocate() }

    /// The next bytes, valid until the next call; nil at the end.
    /// - Throws: `conflict` if it isn't as long as it was.
    func next() throws(RingwakeError) -> UnsafeRawBufferPointer? {
        let count = file.read(into: buffer)
        guard count >= 0 else {
            throw .unreadableSource(FileSystemError(operation: "read", path: path, errno: errno))
        }
        guard Int64(count) <= rest, count > 0 || rest == 0 else { throw .changedSource(path) }
        rest -= Int64(count)
        return count == 0 ? nil : UnsafeRawBufferPointer(rebasing: buffer[..<count])
    }

    static func totalBytes(of paths: [String]) throws(RingwakeError) -> Int64 {
        var total: Int64 = 0
        for path in paths { total += try SourceFile(path).bytes }
        return total
    }
}
