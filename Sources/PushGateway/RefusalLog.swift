package import RingwakeCore

/// Something that a sender tried, and that was refused.
package nonisolated struct RefusedAttempt: Equatable, Sendable {
    /// Milliseconds since 1970.
    package let at: Int64
    /// The push's ID; nil if the connection failed before a push.
    package let pushID: String?
    /// The sender's address and port.
    package let peer: String
    package let environment: PushEnvironment
    /// The sender's team, as far as it was known. It may be a claim only.
    package let team: String?
    /// The answer, in APNs' words, or why the connection failed.
    package let reason: String
    /// What was wrong, for people.
    package let cause: String
}

/// The newest refusals, in memory.
///
/// A stranger can cause as many as it likes, so when the log is full, the address with the most entries loses its oldest.
package nonisolated struct RefusalLog: Equatable, Sendable {
    /// Maximum entries.
    package static let capacity = 1000

    /// The entries, oldest first.
    package private(set) var attempts: [RefusedAttempt] = []

    package init() {}

    mutating func add(_ attempt: RefusedAttempt) {
        if attempts.count >= Self.capacity {
            var counts: [Substring: Int] = [:]
            for attempt in attempts { counts[attempt.host, default: 0] += 1 }
            let most = counts.values.max() ?? 0
            attempts.firstIndex { counts[$0.host] == most }.map { _ = attempts.remove(at: $0) }
        }
        attempts.append(attempt)
    }
}

extension RefusedAttempt {
    /// The address without the port, which a sender changes at will.
    fileprivate nonisolated var host: Substring { peer.lastIndex(of: ":").map { peer[..<$0] } ?? peer[...] }
}
