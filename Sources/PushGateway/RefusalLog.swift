internal import HTTPServer
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
/// A stranger can cause as many as it likes, so when the log is full, the stranger with the most entries loses its oldest.
package nonisolated struct RefusalLog: Sendable {
    /// Maximum entries.
    package static let capacity = 1000

    /// An attempt with its place in the order of all.
    private struct Entry {
        let number: UInt64
        let attempt: RefusedAttempt
    }

    /// The entries of each stranger, oldest first.
    private var entries: [PeerNetwork: [Entry]] = [:]
    private var count = 0
    private var next: UInt64 = 0

    package init() {}

    /// All attempts, oldest first.
    package var attempts: [RefusedAttempt] {
        entries.values.joined().sorted { $0.number < $1.number }.map(\.attempt)
    }

    /// Takes time for the number of strangers, not of entries: a flood must not slow down the pushes of others.
    mutating func add(_ attempt: RefusedAttempt) {
        entries[PeerNetwork(of: attempt.peer), default: []].append(Entry(number: next, attempt: attempt))
        next &+= 1
        count += 1
        guard count > Self.capacity else { return }
        guard let most = entries.max(by: { $0.value.count < $1.value.count })?.key else { return }
        entries[most]?.removeFirst()
        count -= 1
        if entries[most]?.isEmpty == true { entries[most] = nil }
    }
}
