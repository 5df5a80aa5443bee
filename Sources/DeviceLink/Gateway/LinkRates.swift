import RingwakeCore

/// Limits how often each device, or each network, may do something.
struct LinkRates<Key: Hashable & Sendable>: Sendable {
    private let new: RateBucket
    private var buckets: [Key: RateBucket] = [:]
    /// Full buckets are forgotten when there are this many.
    private let maximumBuckets = 4_096

    /// - Parameters:
    ///   - burst: how often at once.
    ///   - interval: the time after which it may once more.
    init(burst: Int, interval: Duration) {
        new = RateBucket(burst: burst, interval: interval)
    }

    /// Takes a turn. Returns false if there is none.
    mutating func take(_ key: Key, at now: BootInstant) -> Bool {
        if buckets.count >= maximumBuckets { buckets = buckets.filter { !$0.value.isFull(at: now) } }
        var bucket = buckets[key] ?? new
        guard bucket.allows(at: now) else { return false }
        bucket.take(at: now)
        buckets[key] = bucket
        return true
    }
}
