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
        /// The idle time after which a link died, as long as the cause is not known, and how long ago that was.
        package var doubted: Int64?
        package var doubtedAge: Int64?
        /// The time since the network was used.
        package var age: Int64

        package init(
            network: String, kind: String, interval: Int64, limit: Int64?, hold: Int64, failedRetries: Int, age: Int64,
            doubted: Int64? = nil, doubtedAge: Int64? = nil
        ) {
            self.network = network
            self.kind = kind
            self.interval = interval
            self.limit = limit
            self.hold = hold
            self.failedRetries = failedRetries
            self.age = age
            self.doubted = doubted
            self.doubtedAge = doubtedAge
        }

        enum CodingKeys: String, CodingKey {
            case network, kind, interval, limit, hold, doubted, age
            case failedRetries = "failed_retries"
            case doubtedAge = "doubted_age"
        }
    }
}

extension NetworkKey {
    /// Longer keys are no hashes.
    private static let maximumBytes = 64

    /// Reads hexadecimal digits; nil if they are no key.
    init?(hexadecimal digits: String) {
        guard digits.utf8.count <= 2 * Self.maximumBytes, let bytes = decodeHex(Array(digits.utf8)) else { return nil }
        self.init(bytes)
    }
}

extension KeepaliveSnapshot.Entry {
    init(_ network: NetworkKey, _ keepalive: NetworkKeepalive, age: Duration, at now: BootInstant) {
        self.network = encodeHex(network.bytes)
        kind = keepalive.kind.rawValue
        interval = keepalive.interval.components.seconds
        limit = keepalive.limit?.components.seconds
        hold = max(now.duration(to: keepalive.holdUntil).components.seconds, 0)
        failedRetries = keepalive.failedRetries
        doubted = keepalive.failure?.gap.components.seconds
        doubtedAge = (keepalive.failure?.foundAt.duration(to: now).components.seconds).map { max($0, 0) }
        self.age = max(age.components.seconds, 0)
    }

    /// The row of this entry; nil if it is too old or makes no sense.
    func restored(
        elapsed: Duration, bounds: KeepaliveBounds, at now: BootInstant
    ) -> (network: NetworkKey, keepalive: NetworkKeepalive, usedAt: BootInstant)? {
        let age = Duration.seconds(max(self.age, 0)) + elapsed
        guard age < KeepaliveRules.retention, let kind = NetworkKind(rawValue: kind),
            let key = NetworkKey(hexadecimal: network)
        else { return nil }
        let hold = min(Duration.seconds(max(hold, 0)), KeepaliveRules.longestHold) - elapsed
        let keepalive = NetworkKeepalive(
            kind: kind, bounds: bounds, interval: .seconds(interval), limit: limit.map { .seconds($0) },
            failedRetries: min(max(failedRetries, 0), KeepaliveRules.countedRetries),
            holdUntil: now.advanced(by: hold),
            failure: doubted.map {
                NetworkKeepalive.Failure(
                    gap: .seconds($0),
                    foundAt: now.advanced(by: .zero - (.seconds(max(doubtedAge ?? 0, 0)) + elapsed)))
            })
        return (key, keepalive, now.advanced(by: .zero - age))
    }
}
