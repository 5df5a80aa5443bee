internal import Glibc
internal import RunLoop

/// Why reachability cannot be watched or evaluated.
public struct ReachabilityError: Error, Hashable, Sendable, CustomStringConvertible {
    /// The kind of an error.
    public struct Code: Hashable, Sendable {
        let name: String

        /// The kernel refused something: descriptors, memory, netlink sockets (a seccomp filter, or
        /// `RestrictAddressFamilies=` without `AF_NETLINK`).
        public static let system = Code(name: "system")
        /// The context has too many targets or monitors.
        public static let limit = Code(name: "limit")
        /// The monitor was closed.
        public static let closed = Code(name: "closed")
    }

    public let code: Code
    /// What happened, and what to do.
    public let message: String
    /// The `errno` of the failed system call; 0 if none failed.
    public let errno: Int32

    init(_ code: Code, _ message: String, errno: Int32 = 0) {
        self.code = code
        self.message = message
        self.errno = errno
    }

    /// A system call that failed.
    init(call: String, errno: Int32, advice: String) {
        self.init(.system, "\(call) failed: \(String(cString: strerror(errno))); \(advice)", errno: errno)
    }

    /// A system call of the run loop that failed.
    init(_ error: RunLoopError, advice: String) {
        self.init(call: error.operation, errno: error.errno, advice: advice)
    }

    public var description: String { message }
}
