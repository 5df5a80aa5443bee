import CRingwakeLinux
import Glibc

/// The errno of the last failed system call.
nonisolated struct SystemCallError {
    let number: Int32

    static var last: SystemCallError { SystemCallError(number: errno) }

    /// The system's message: `Address already in use`.
    var reason: String { String(cString: strerror(number)) }
}
