import Glibc
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
    private var entries: [String: [Entry]] = [:]
    private var count = 0
    private var next: UInt64 = 0

    package init() {}

    /// All attempts, oldest first.
    package var attempts: [RefusedAttempt] {
        entries.values.joined().sorted { $0.number < $1.number }.map(\.attempt)
    }

    /// Takes time for the number of strangers, not of entries: a flood must not slow down the pushes of others.
    mutating func add(_ attempt: RefusedAttempt) {
        entries[Self.stranger(attempt.peer), default: []].append(Entry(number: next, attempt: attempt))
        next &+= 1
        count += 1
        guard count > Self.capacity else { return }
        guard let most = entries.max(by: { $0.value.count < $1.value.count })?.key else { return }
        entries[most]?.removeFirst()
        count -= 1
        if entries[most]?.isEmpty == true { entries[most] = nil }
    }

    /// Who is behind `address:port`: the address, or the network of an IPv6 address, its first 64 bits. A sender changes
    /// its port at will, and everybody with IPv6 has 2^64 addresses (RFC 4291 section 2.5.1).
    private static func stranger(_ peer: String) -> String {
        let host = peer.lastIndex(of: ":").map { peer[..<$0] } ?? peer[...]
        guard host.hasPrefix("["), host.hasSuffix("]") else { return String(host) }
        var address = in6_addr()
        guard inet_pton(AF_INET6, String(host.dropFirst().dropLast()), &address) == 1 else { return String(host) }
        return withUnsafeBytes(of: address) { $0.prefix(8).map { String($0, radix: 16) }.joined(separator: ":") }
    }
}
