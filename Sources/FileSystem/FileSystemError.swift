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

    /// The system's message for `errno`.
    package var reason: String { String(cString: strerror(errno)) }

    /// `cannot open /etc/ringwake/ringwaked.toml: Permission denied`.
    package var description: String { "cannot \(operation) \(path): \(reason)" }
}
