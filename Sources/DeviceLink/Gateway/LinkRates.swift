package import RingwakeCore

/// Limits how often each device, or each network, may do something.
package struct LinkRates<Key: Hashable & Sendable>: Sendable {
    private let new: RateBucket
    private var buckets: [Key: RateBucket] = [:]
    /// Full buckets are forgotten when there are this many.
    private var sweepCount = minimumSweep
    private static var minimumSweep: Int { 4_096 }

    /// - Parameters:
    ///   - burst: how often at once.
    ///   - interval: the time after which it may once more.
    package init(burst: Int, interval: Duration) {
        new = RateBucket(burst: burst, interval: interval)
    }

    /// Takes a turn. Returns false if there is none.
    package mutating func take(_ key: Key, at now: BootInstant) -> Bool {
        if buckets.count >= sweepCount {
            buckets = buckets.filter { !$0.value.isFull(at: now) }
            // Twice what is left, so that a turn costs the same with any number of keys.
            sweepCount = max(Self.minimumSweep, 2 * buckets.count)
        }
        var bucket = buckets[key] ?? new
        guard bucket.allows(at: now) else { return false }
        bucket.take(at: now)
        buckets[key] = bucket
        return true
    }

    /// Gives a key all its turns back.
    package mutating func forget(_ key: Key) { buckets[key] = nil }
}
