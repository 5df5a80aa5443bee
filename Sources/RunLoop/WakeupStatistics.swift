/// Why the loop woke: the label of a line in `ringwake power`.
package struct WakeupCause: Hashable, Sendable {
    /// A stable, lower-case name.
    package let name: String

    package init(_ name: String) {
        self.name = name
    }

    /// A timer's window closed.
    package static let timer = WakeupCause("timer")
    /// A signal came.
    package static let signal = WakeupCause("signal")
    /// A child process ended.
    package static let child = WakeupCause("child")
    /// The wait was broken off without an event: the process was stopped and continued, or traced.
    package static let interruption = WakeupCause("interruption")
    /// The limit that the caller of `runOnce` gave.
    package static let timeout = WakeupCause("timeout")
}

/// How often the loop slept and was woken, and by what. A turn that found work without sleeping is not counted.
package struct WakeupStatistics: Equatable, Sendable {
    /// All wakeups since the loop was made.
    package private(set) var total: UInt64 = 0
    /// The same, by the cause of the first source that was ready.
    package private(set) var byCause: [WakeupCause: UInt64] = [:]

    package init() {}

    mutating func count(_ cause: WakeupCause) {
        total &+= 1
        byCause[cause, default: 0] &+= 1
    }
}
