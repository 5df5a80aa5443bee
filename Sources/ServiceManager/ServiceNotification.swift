internal import CRingwakeSystemd
internal import Glibc

/// What a service tells its manager (sd_notify(3)). Without a manager that listens, sending does nothing.
package enum ServiceNotification: Sendable, Equatable {
    /// The service accepts requests. Also ends a reload.
    case ready
    /// A reload has begun.
    case reloading
    /// The service is about to stop.
    case stopping
    /// The service is alive. Due within every ``watchdogTimeout``.
    case alive
    /// The start is under way and takes at most this many whole seconds from now. Without it the manager ends a start that takes longer than
    /// `TimeoutStartSec=`.
    case starting(Duration)
    /// One line for a person, which `systemctl status` shows; empty for none.
    case status(String)

    /// - Throws: an `errno` if the manager's socket can't be written to.
    package func send() throws(NotificationError) {
        let result = sd_notify(0, text)
        if result < 0 { throw NotificationError(errno: -result) }
    }

    /// The time within which the manager expects the next ``alive``; nil if it expects none (`WatchdogSec=`).
    package static func watchdogTimeout() -> Duration? {
        var microseconds: UInt64 = 0
        guard sd_watchdog_enabled(0, &microseconds) > 0 else { return nil }
        return .microseconds(Int64(clamping: microseconds))
    }

    private var text: String {
        switch self {
        case .ready: "READY=1"
        case .reloading: "RELOADING=1"
        case .stopping: "STOPPING=1"
        case .alive: "WATCHDOG=1"
        case .starting(let time): "EXTEND_TIMEOUT_USEC=\(time.components.seconds * 1_000_000)"
        // A line end would begin another assignment.
        case .status(let line): "STATUS=" + line.split(whereSeparator: \.isNewline).joined(separator: " ")
        }
    }
}

/// A notification could not be sent.
package struct NotificationError: Error {
    package let errno: Int32

    /// The kernel's words for it.
    package var reason: String { String(cString: strerror(errno)) }
}
