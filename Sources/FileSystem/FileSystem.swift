internal import CRingwakeLinux
internal import Glibc

/// Reads and replaces whole files. Every descriptor is close-on-exec. EINVAL if a path contains a NUL.
package enum FileSystem {
    /// Maximum names in a directory. More are an error.
    package static let maximumDirectoryEntries = 100_000

    /// The contents of a file.
    /// - Parameters:
    ///   - maximumSize: in bytes. EFBIG if the file is longer; no more than this is read.
    ///   - acceptingPipes: also read a pipe or a device until its end, which may block forever. Otherwise they are
    ///     EINVAL, so that no path in a configuration can block a daemon.
    package static func read(
        _ path: String, maximumSize: Int, acceptingPipes: Bool = false
    ) throws(FileSystemError) -> [UInt8] {
        try readWithAttributes(path, maximumSize: maximumSize, acceptingPipes: acceptingPipes).bytes
    }

    /// The same, with the attributes of the file that was read: a name may stand for another one a moment later.
    package static func readWithAttributes(
        _ path: String, maximumSize: Int, acceptingPipes: Bool = false
    ) throws(FileSystemError) -> (bytes: [UInt8], attributes: FileAttributes) {
        let flags = O_RDONLY | O_NOCTTY | (acceptingPipes ? 0 : O_NONBLOCK)
        let file = try Descriptor(opening: path, flags: flags)
        var status = stat()
        guard fstat(file.number, &status) == 0 else { throw failure("stat", path) }
        let kind = status.st_mode & S_IFMT
        guard kind != S_IFDIR else { throw FileSystemError(operation: "read", path: path, errno: EISDIR) }
        guard kind == S_IFREG || acceptingPipes else {
            throw FileSystemError(operation: "read", path: path, errno: EINVAL)
        }
        // The size is no more than a hint: in /proc it is 0, in /sys a page for a few bytes, and a file may grow.
        var buffer = [UInt8](repeating: 0, count: 65_536)
        var bytes: [UInt8] = []
        bytes.reserveCapacity(min(max(0, Int(status.st_size)), maximumSize))
        while true {
            let count = buffer.withUnsafeMutableBytes { buffer in
                retryingWhenInterrupted { Glibc.read(file.number, buffer.baseAddress, buffer.count) }
            }
            guard count >= 0 else { throw failure("read", path) }
            if count == 0 { return (bytes, FileAttributes(status)) }
            guard count <= maximumSize - bytes.count else {
                throw FileSystemError(operation: "read", path: path, errno: EFBIG)
            }
            bytes += buffer[..<count]
        }
    }

    /// Size of a regular file in bytes. EINVAL for anything else, which isn't opened.
    package static func size(ofFile path: String) throws(FileSystemError) -> Int {
        try check(path)
        var status = stat()
        guard stat(path, &status) == 0 else { throw failure("open", path) }
        guard status.st_mode & S_IFMT == S_IFREG else {
            throw FileSystemError(operation: "open", path: path, errno: EINVAL)
        }
        return Int(clamping: status.st_size)
    }

    /// The names in a directory, sorted, without `.` and `..`. In names that aren't UTF-8, invalid bytes are replaced,
    /// so such a name can't be opened.
    package static func entries(of directory: String) throws(FileSystemError) -> [String] {
        try check(directory)
        guard let stream = opendir(directory) else { throw failure("open", directory) }
        defer { closedir(stream) }
        var names: [String] = []
        while true {
            errno = 0
            guard let entry = readdir(stream) else {
                guard errno == 0 else { throw failure("read", directory) }
                return names.sorted()
            }
            let name = withUnsafeBytes(of: entry.pointee.d_name) {
                String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self)
            }
            if name == "." || name == ".." { continue }
            guard names.count < maximumDirectoryEntries else {
                throw FileSystemError(operation: "read", path: directory, errno: EFBIG)
            }
            names.append(name)
        }
    }

    /// Whether the path exists. Symbolic links are followed.
    package static func exists(_ path: String) -> Bool {
        access(path, F_OK) == 0
    }

    /// The bytes that this user may still write on the disk of a directory; nil if that can't be found out.
    package static func freeBytes(of directory: String) -> Int64? {
        var disk = statvfs()
        guard statvfs(directory, &disk) == 0 else { return nil }
        let (bytes, overflow) = UInt64(disk.f_bavail).multipliedReportingOverflow(by: UInt64(disk.f_frsize))
        return overflow ? .max : Int64(clamping: bytes)
    }

    /// Whether users other than root and this process's user could create, replace or remove files in a directory: they
    /// own it, or may write to it. The sticky bit doesn't help, because they could create a name first.
    package static func isWritableByOthers(directory: String) throws(FileSystemError) -> Bool {
        try check(directory)
        var status = stat()
        guard stat(directory, &status) == 0 else { throw failure("stat", directory) }
        let isOwnersForeign = status.st_uid != 0 && status.st_uid != geteuid()
        let isGroupForeign = status.st_gid != 0 && status.st_gid != getegid()
        return isOwnersForeign || status.st_mode & S_IWOTH != 0 || (isGroupForeign && status.st_mode & S_IWGRP != 0)
    }

    /// Whether others than root and this process's user decide what a name in this directory stands for: the directory is
    /// theirs or they may write to it, or a symbolic link on the way to it is theirs. A missing one is judged by its
    /// nearest parent.
    package static func isDecidedByOthers(directory: String) throws(FileSystemError) -> Bool {
        try check(directory)
        var way = ""
        for name in directory.split(separator: "/", omittingEmptySubsequences: true) {
            way += (way.isEmpty && !directory.hasPrefix("/") ? "" : "/") + name
            var status = stat()
            guard lstat(way, &status) == 0 else { break }
            if status.st_mode & S_IFMT == S_IFLNK, status.st_uid != 0, status.st_uid != geteuid() { return true }
        }
        var nearest = directory
        while !exists(nearest), nearest.utf8.count > 1 { nearest = split(nearest).directory }
        return try isWritableByOthers(directory: nearest)
    }

    /// Whether the path itself is a symbolic link.
    package static func isLink(_ path: String) -> Bool {
        var status = stat()
        return lstat(path, &status) == 0 && status.st_mode & S_IFMT == S_IFLNK
    }

    /// Whether the path is a regular file that this process may execute. Symbolic links are followed.
    package static func isExecutableFile(_ path: String) -> Bool {
        var status = stat()
        return stat(path, &status) == 0 && status.st_mode & S_IFMT == S_IFREG
            && faccessat(AT_FDCWD, path, X_OK, AT_EACCESS) == 0
    }

    /// The interpreter that a script's first line names; nil for another file, or one that can't be read.
    package static func interpreter(of path: String) -> String? {
        guard let file = try? Descriptor(opening: path, flags: O_RDONLY | O_NONBLOCK) else { return nil }
        // The kernel reads at most 256 bytes (BINPRM_BUF_SIZE).
        var bytes = [UInt8](repeating: 0, count: 256)
        let count = Glibc.read(file.number, &bytes, bytes.count)
        guard count > 2, bytes.starts(with: "#!".utf8) else { return nil }
        let line = bytes[2..<count].prefix { $0 != UInt8(ascii: "\n") }
        return line.split(separator: UInt8(ascii: " ")).first.map { String(decoding: $0, as: UTF8.self) }
    }

    static func check(_ path: String) throws(FileSystemError) {
        guard !path.utf8.contains(0) else { throw FileSystemError(operation: "use", path: path, errno: EINVAL) }
    }

    static func failure(_ operation: String, _ path: String) -> FileSystemError {
        FileSystemError(operation: operation, path: path, errno: errno)
    }

    static func retryingWhenInterrupted(_ call: () -> Int) -> Int {
        while true {
            let result = call()
            if result >= 0 || errno != EINTR { return result }
        }
    }
}

/// An open file, closed with this object.
final class Descriptor: Sendable {
    let number: Int32

    init(opening path: String, flags: Int32, mode: mode_t = 0) throws(FileSystemError) {
        try FileSystem.check(path)
        number = ringwake_open(path, flags, mode)
        guard number >= 0 else { throw FileSystem.failure("open", path) }
    }

    /// Closes it at the end.
    init(owning number: Int32) { self.number = number }

    deinit {
        if number >= 0 { close(number) }
    }
}
