internal import RingwakeCore

/// How often apps may ask whether a caller is blocked: often enough for each call, and too seldom to find out by trying
/// who is on the lists.
package struct CallerQuestions: Sendable {
    /// Questions that an app may ask at once.
    package static let atOnce = 10
    /// The time after which it may ask another one.
    package static let interval = Duration.seconds(1)

    private var buckets: [AppID: RateBucket] = [:]

    /// Counts a question of an app.
    ///
    /// - Returns: nil if it may be answered, else how long the app has to wait.
    mutating func ask(_ app: AppID, at now: BootInstant) -> Duration? {
        var bucket = buckets[app] ?? RateBucket(burst: Self.atOnce, interval: Self.interval)
        guard bucket.allows(at: now) else { return bucket.wait(at: now) }
        bucket.take(at: now)
        buckets[app] = bucket
        return nil
    }

    /// Forgets apps that are not configured any more.
    mutating func keep(_ isConfigured: (AppID) -> Bool) { buckets = buckets.filter { isConfigured($0.key) } }
}
