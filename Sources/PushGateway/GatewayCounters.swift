/// Number of pushes since the start, by result.
package nonisolated struct GatewayCounters: Equatable, Sendable {
    /// Answered with 200.
    package private(set) var accepted: UInt64 = 0
    /// Refused, by the reason in the answer.
    package private(set) var refused: [String: UInt64] = [:]

    /// Connections that ended before their first request, by reason.
    package private(set) var failedConnections: [String: UInt64] = [:]

    package init() {}

    /// Wraps around, instead of trapping, after 2^64 pushes.
    mutating func countAccepted() {
        accepted &+= 1
    }

    mutating func countFailedConnection(_ reason: String) {
        failedConnections[reason, default: 0] &+= 1
    }

    mutating func countRefused(_ reason: String) {
        refused[reason, default: 0] &+= 1
    }
}
