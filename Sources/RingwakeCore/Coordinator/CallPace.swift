/// Limits how fast pushes to one device token start calls: a bucket for each token.
///
/// The calls that an app begins have a bucket of their own. Only pushes that start a call count: each may start a handler.
/// A repeat, an update, a cancellation and a push that comes too late cost nothing here, so a sender is never refused for
/// repeating a push that got no answer.
struct CallPace: Hashable, Sendable {
    /// What a device token belongs to.
    private struct Target: Hashable, Sendable {
        let app: AppID
        let environment: PushEnvironment?

        init(_ push: VerifiedPush) {
            app = push.app
            environment = push.provenance.environment
        }

        /// The calls that an app begins.
        init(outgoing app: AppID) {
            self.app = app
            environment = nil
        }
    }

    /// From this number of buckets on, the full ones are dropped. So the number of tokens bounds the memory.
    private static let tidyCount = 64

    private var buckets: [Target: RateBucket] = [:]
    private let fresh: RateBucket
    /// The bucket of what an app's handlers begin: more than a person dials.
    private let freshOutgoing = RateBucket(burst: 10, interval: .seconds(6))

    /// - Parameter bucket: the bucket of a token that has started no call for a while.
    init(_ bucket: RateBucket) {
        fresh = bucket
    }

    /// Whether the push may start a call.
    func allows(_ push: VerifiedPush, at now: BootInstant) -> Bool { allows(Target(push), at: now) }

    /// Whether the app may begin a call.
    func allows(outgoing app: AppID, at now: BootInstant) -> Bool { allows(Target(outgoing: app), at: now) }

    private func allows(_ target: Target, at now: BootInstant) -> Bool { buckets[target]?.allows(at: now) ?? true }

    /// The push starts a call.
    mutating func note(_ push: VerifiedPush, at now: BootInstant) { note(Target(push), fresh, at: now) }

    /// A handler of the app begins a call.
    mutating func note(outgoing app: AppID, at now: BootInstant) {
        note(Target(outgoing: app), freshOutgoing, at: now)
    }

    private mutating func note(_ target: Target, _ fresh: RateBucket, at now: BootInstant) {
        if buckets.count >= CallPace.tidyCount { buckets = buckets.filter { !$0.value.isFull(at: now) } }
        buckets[target, default: fresh].take(at: now)
    }
}
