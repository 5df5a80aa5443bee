package import RunLoop

/// Number of pushes since the start, by result.
package nonisolated struct GatewayCounters: Equatable, Sendable {
    /// Answered with 200.
    package private(set) var accepted: UInt64 = 0
    /// Refused, by the reason in the answer.
    package private(set) var refused: [String: UInt64] = [:]
    /// The last refusal; nil if there is none.
    package private(set) var lastRefusal: LastRefusal?

    /// A refused push.
    package struct LastRefusal: Equatable, Sendable {
        /// The reason in the answer.
        package let reason: String
        package let at: BootClock.Instant
        /// Number of pushes accepted since then.
        package fileprivate(set) var acceptedSince: UInt64 = 0
    }

    /// Connections that ended before their first request, by reason.
    package private(set) var failedConnections: [String: UInt64] = [:]

    package init() {}

    /// Wraps around, instead of trapping, after 2^64 pushes.
    mutating func countAccepted() {
        accepted &+= 1
        lastRefusal?.acceptedSince &+= 1
    }

    mutating func countFailedConnection(_ reason: String) {
        failedConnections[reason, default: 0] &+= 1
    }

    mutating func countRefused(_ reason: String, at now: BootClock.Instant) {
        lastRefusal = LastRefusal(reason: reason, at: now)
        refused[reason, default: 0] &+= 1
    }
}
