/// The cause of a wakeup: the label of a line in `ringwake power`.
package struct WakeupCause: Hashable, Sendable {
    /// A stable, lower-case name.
    package let name: String

    package init(_ name: String) {
        self.name = name
    }

    /// A timer's latest time was reached.
    package static let timer = WakeupCause("timer")
    /// A signal arrived.
    package static let signal = WakeupCause("signal")
    /// A child process ended.
    package static let child = WakeupCause("child")
    /// The wait ended without an event: the process was stopped and continued, or traced.
    package static let interruption = WakeupCause("interruption")
    /// The timeout of `runOnce` expired.
    package static let timeout = WakeupCause("timeout")
}

/// Number of times that the loop slept and was woken, by cause. Turns that found work without sleeping aren't counted.
package struct WakeupStatistics: Equatable, Sendable {
    /// All wakeups since the loop was created.
    package private(set) var total: UInt64 = 0
    /// Wakeups by the cause of the first ready source.
    package private(set) var byCause: [WakeupCause: UInt64] = [:]

    package init() {}

    /// The wakeups that something caused: neither the timeout of `runOnce` nor an interruption ended the wait.
    package var caused: UInt64 { total &- byCause[.timeout, default: 0] &- byCause[.interruption, default: 0] }

    mutating func count(_ cause: WakeupCause) {
        total &+= 1
        byCause[cause, default: 0] &+= 1
    }
}
