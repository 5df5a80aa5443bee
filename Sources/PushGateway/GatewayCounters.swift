/// What became of the pushes since the start.
package nonisolated struct GatewayCounters: Equatable, Sendable {
    /// Answered 200.
    package private(set) var accepted: UInt64 = 0
    /// Answered otherwise, by the word that the sender was given.
    package private(set) var refused: [String: UInt64] = [:]

    package init() {}

    /// Wraps rather than traps, after 2^64 pushes.
    mutating func countAccepted() {
        accepted &+= 1
    }

    mutating func countRefused(_ reason: String) {
        refused[reason, default: 0] &+= 1
    }
}
