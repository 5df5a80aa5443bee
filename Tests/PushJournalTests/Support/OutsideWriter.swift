import Glibc

/// Somebody else who writes to a file of the journal.
nonisolated enum OutsideWriter {
    /// Writes bytes into a file.
    /// - Parameter isSeen: whether the time of the change shows it. Without, it is as before.
    static func write(_ bytes: [UInt8], to path: String, at offset: Int64, isSeen: Bool = true) {
        var status = stat()
        stat(path, &status)
        let file = open(path, O_RDWR)
        pwrite(file, bytes, bytes.count, off_t(offset))
        close(file)
        setTime(of: path, after: status, seconds: isSeen ? 1 : 0)
    }

    /// Gives a file another time of its last change, however coarse the file system's clock is.
    static func touch(_ path: String) {
        var status = stat()
        stat(path, &status)
        setTime(of: path, after: status, seconds: 1)
    }

    private static func setTime(of path: String, after status: stat, seconds: Int) {
        var times = [status.st_atim, status.st_mtim]
        times[1].tv_sec += seconds
        utimensat(AT_FDCWD, path, times, 0)
    }
}
