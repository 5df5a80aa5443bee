internal import Glibc

/// A failed system call of the run loop.
package struct RunLoopError: Error, Equatable, Sendable, CustomStringConvertible {
    /// Name of the call, as in the manual: `epoll_ctl`.
    package let operation: String
    /// The `errno` of the call.
    package let errno: Int32

    package init(operation: String, errno: Int32) {
        self.operation = operation
        self.errno = errno
    }

    /// The system's message for `errno`.
    package var reason: String { String(cString: strerror(errno)) }

    package var description: String { "\(operation) failed: \(reason)" }
}
