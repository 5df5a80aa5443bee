internal import CRingwakeLinux
internal import Glibc

/// Short files, read and written with one call each: what the kernel shows in `/sys` and `/proc`, and our own notes.
nonisolated enum SmallFile {
    /// The text of a file; nil when it is not there, cannot be read, or is longer than `maximumBytes`.
    static func read(_ path: String, maximumBytes: Int = 4_096) -> String? {
        let file = ringwake_open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY, 0)
        guard file >= 0 else { return nil }
        defer { close(file) }
        var bytes = [UInt8](repeating: 0, count: maximumBytes + 1)
        var size = 0
        while size <= maximumBytes {
            let count = bytes.withUnsafeMutableBytes { buffer in
                Glibc.read(file, buffer.baseAddress?.advanced(by: size), buffer.count - size)
            }
            if count == 0 { return String(decoding: bytes[..<size], as: UTF8.self) }
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { return nil }
            size += count
        }
        return nil
    }

    /// Writes a text in one call, as files of the kernel want it.
    /// - Parameter isMade: Makes the file, or empties the one that is there.
    /// - Returns: 0, or an errno.
    static func write(_ text: String, to path: String, isMade: Bool) -> Int32 {
        let flags = O_WRONLY | (isMade ? O_CREAT | O_TRUNC | O_NOFOLLOW : 0)
        let file = ringwake_open(path, flags, 0o600)
        guard file >= 0 else { return errno }
        defer { close(file) }
        let bytes = Array(text.utf8)
        var count = -1
        repeat {
            count = bytes.withUnsafeBytes { Glibc.write(file, $0.baseAddress, $0.count) }
        } while count < 0 && errno == EINTR
        if count < 0 { return errno }
        return count == bytes.count ? 0 : EIO
    }
}
