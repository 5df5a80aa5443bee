internal import CRingwakeLinux
internal import Glibc

/// Short files that are written with one call each: the kernel's in `/sys`, and our own.
nonisolated enum SmallFile {
    /// Writes a text in one call, as files of the kernel want it.
    /// - Parameter isMade: creates the file, or empties an existing one.
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
