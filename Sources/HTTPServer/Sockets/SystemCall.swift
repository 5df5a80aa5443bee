import CRingwakeLinux
import Glibc

/// What the last failed system call left in errno.
nonisolated struct SystemCallError {
    let number: Int32

    static var last: SystemCallError { SystemCallError(number: errno) }

    /// What the system says of it: `Address already in use`.
    var reason: String { String(cString: strerror(number)) }
}
