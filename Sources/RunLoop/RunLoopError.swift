internal import Glibc

/// A system call of the run loop that failed.
package struct RunLoopError: Error, Equatable, Sendable, CustomStringConvertible {
    /// The call, as in the manual: `epoll_ctl`.
    package let operation: String
    /// The `errno` that it left.
    package let errno: Int32

    package init(operation: String, errno: Int32) {
        self.operation = operation
        self.errno = errno
    }

    /// What the system says of `errno`.
    package var reason: String { String(cString: strerror(errno)) }

    package var description: String { "\(operation) failed: \(reason)" }
}
