internal import CRingwakeLinux
internal import FileSystem
internal import Glibc

/// Room on the disk that is kept for calls, in `store.reserve`. When the disk is full, it is given up: the log can then
/// be moved into the store, and history removed, before a push is refused.
nonisolated struct StoreReserve {
    static let name = "store.reserve"
    /// Some ten calls, and what moving the log takes.
    private static let bytes: Int64 = 512 << 10

    private let path: String

    init(inDirectory directory: String) {
        path = "\(directory)/\(Self.name)"
    }

    /// Takes the room if the disk has several times as much. Cheap if it is taken already.
    /// - Returns: whether it is taken.
    func take() -> Bool {
        var status = stat()
        if stat(path, &status) == 0, status.st_size == off_t(Self.bytes) { return true }
        guard freeBytes > 2 * Self.bytes else { return false }
        let descriptor = ringwake_open(path, O_RDWR | O_CREAT | O_NOFOLLOW, 0o600)
        guard descriptor >= 0 else { return false }
        defer { close(descriptor) }
        // Half a reserve would use up what is left for nothing.
        guard posix_fallocate(descriptor, 0, off_t(Self.bytes)) == 0 else {
            unlink(path)
            return false
        }
        return true
    }

    /// Whether half of the room that was given up is used.
    var isHalfUsed: Bool { freeBytes < Self.bytes / 2 }

    private var freeBytes: Int64 { FileSystem.freeBytes(of: FileSystem.split(path).directory) ?? 0 }

    /// Removes the file, so that the next write has its room.
    /// - Returns: whether there was any.
    func giveUp() -> Bool { unlink(path) == 0 }
}
