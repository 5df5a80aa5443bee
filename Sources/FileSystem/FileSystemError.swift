internal import Glibc

/// A failed system call on a file.
package struct FileSystemError: Error, Equatable, Sendable, CustomStringConvertible {
    /// Name of the call, as in the manual: `open`.
    package let operation: String
    /// The path as the caller passed it.
    package let path: String
    /// The `errno` of the call.
    package let errno: Int32

    package init(operation: String, path: String, errno: Int32) {
        self.operation = operation
        self.path = path
        self.errno = errno
    }

    /// Whether there is no such file, or no such folder on the way to it.
    package var isMissing: Bool { errno == ENOENT || errno == ENOTDIR }

    /// Whether this process may not do it.
    package var isDenied: Bool { errno == EACCES || errno == EPERM || errno == EROFS }

    /// The system's message for `errno`.
    package var reason: String { String(cString: strerror(errno)) }

    /// `cannot open /etc/ringwake/ringwaked.toml: Permission denied`.
    package var description: String { "cannot \(operation) \(path): \(reason)" }
}
