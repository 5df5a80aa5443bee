internal import RingwakeCore

/// Body of `PUT /v1/apps/{app}/fault`: what happens to the pushes of an app's device token, and the same in answers.
package struct PushFaultMessage: Codable, Equatable, Sendable {
    /// Environment of the device token; nil in a request: each in which the app has one.
    package var environment: String?
    /// A reason of APNs (the push is refused with it), `delay`, `goaway`, `reset` or `silence`.
    package var fault: String
    /// Only with `delay`: how much later the answer is sent, in milliseconds.
    package var delayMs: Int64?
    /// Number of pushes that pass before the first one that is affected.
    package var after: Int?
    /// Number of pushes that are affected from then on; nil: all.
    package var count: Int?
    /// Milliseconds until it ends; nil: not by time.
    package var forMs: Int64?

    package init(
        environment: String? = nil, fault: String, delayMs: Int64? = nil, after: Int? = nil, count: Int? = nil,
        forMs: Int64? = nil
    ) {
        self.environment = environment
        self.fault = fault
        self.delayMs = delayMs
        self.after = after
        self.count = count
        self.forMs = forMs
    }

    /// Names of the faults that aren't a reason of APNs.
    package enum Name: String, Sendable, CaseIterable {
        case delay, goaway, reset, silence
    }

    /// Maximum of ``delayMs``: ten minutes.
    package static let maximumDelayMs: Int64 = 600_000
    /// Maximum of ``after`` and ``count``.
    package static let maximumPushes = 1_000_000_000
    /// Maximum of ``forMs``: a week.
    package static let maximumTimeMs: Int64 = 7 * 86_400_000
}
