import RingwakeCore

/// The table of a ``KeepaliveLearner`` on disk.
///
/// Times are ages and waits in seconds, so that no clock is compared with another one. What a link or a probe in
/// progress would add is not saved: after a restart it takes five good periods again before a probe starts.
package struct KeepaliveSnapshot: Hashable, Sendable, Codable {
    package var version: Int
    /// The network used last is the first one.
    package var entries: [Entry]

    package static let currentVersion = 1

    package init(version: Int = KeepaliveSnapshot.currentVersion, entries: [Entry]) {
        self.version = version
        self.entries = entries
    }

    /// One network. Its times are seconds.
    package struct Entry: Hashable, Sendable, Codable {
        /// The key in hexadecimal digits.
        package var network: String
        package var kind: String
        package var interval: Int64
        /// The idle time that failed; absent if none is known.
        package var limit: Int64?
        /// The time until the limit may be tried again.
        package var hold: Int64
        package var failedRetries: Int
        /// The time since the network was used.
        package var age: Int64

        package init(
            network: String, kind: String, interval: Int64, limit: Int64?, hold: Int64, failedRetries: Int, age: Int64
        ) {
            self.network = network
            self.kind = kind
            self.interval = interval
            self.limit = limit
            self.hold = hold
            self.failedRetries = failedRetries
            self.age = age
        }

        enum CodingKeys: String, CodingKey {
            case network, kind, interval, limit, hold, age
            case failedRetries = "failed_retries"
        }
    }
}

extension KeepaliveSnapshot.Entry {
    /// Longer keys are no hashes; such an entry is left out when it is restored.
    private static let maximumKeyBytes = 64

    init(_ network: NetworkKey, _ keepalive: NetworkKeepalive, age: Duration, at now: BootInstant) {
        self.network = encodeHex(network.bytes)
        kind = keepalive.kind.rawValue
        interval = keepalive.interval.components.seconds
        limit = keepalive.limit?.components.seconds
        hold = max(now.duration(to: keepalive.holdUntil).components.seconds, 0)
        failedRetries = keepalive.failedRetries
        self.age = max(age.components.seconds, 0)
    }

    /// The row of this entry; nil if it is too old or makes no sense.
    func restored(
        elapsed: Duration, bounds: KeepaliveBounds, at now: BootInstant
    ) -> (network: NetworkKey, keepalive: NetworkKeepalive, usedAt: BootInstant)? {
        let age = Duration.seconds(max(self.age, 0)) + elapsed
        guard age < KeepaliveRules.retention, let kind = NetworkKind(rawValue: kind),
            network.utf8.count <= 2 * Self.maximumKeyBytes, let key = decodeHex(Array(network.utf8))
        else { return nil }
        let hold = min(Duration.seconds(max(hold, 0)), KeepaliveRules.longestHold) - elapsed
        let keepalive = NetworkKeepalive(
            kind: kind, bounds: bounds, interval: .seconds(interval), limit: limit.map { .seconds($0) },
            failedRetries: min(max(failedRetries, 0), KeepaliveRules.countedRetries),
            holdUntil: now.advanced(by: hold))
        return (NetworkKey(key), keepalive, now.advanced(by: .zero - age))
    }
}
