internal import Glibc

/// A system call on a file that failed.
package struct FileSystemError: Error, Equatable, Sendable, CustomStringConvertible {
    /// The call, as in the manual: `open`.
    package let operation: String
    /// The path as the caller gave it.
    package let path: String
    /// The `errno` that the call left.
    package let errno: Int32

    package init(operation: String, path: String, errno: Int32) {
        self.operation = operation
        self.path = path
        self.errno = errno
    }

    /// What the system says of `errno`.
    package var reason: String { String(cString: strerror(errno)) }

    /// `cannot open /etc/ringwake/ringwaked.toml: Permission denied`.
    package var description: String { "cannot \(operation) \(path): \(reason)" }
}
