/// What became of a push, for the operator of its sender. It says nothing of lists or rules of the device's user.
package struct PushReceiptMessage: Codable, Equatable, Sendable {
    package var schema = ControlAPI.schema
    /// The push's ID, as it was asked for.
    package var pushId: String
    /// `forwarded` (the linked device has it), `queued` (it waits at the gateway), `dropped`, or a ``PushMessage/State``.
    package var state: String
    /// Why its call ended, or why it was dropped.
    package var reason: String?
    /// Number of attempts to wake a handler; nil while the device has said nothing.
    package var attempt: Int?
    /// When it arrived: ``UTCTime`` as text.
    package var receivedAt: String
    package var timeline: [Hop]
    /// In a webhook: SHA-256 of the device token's bytes, in hex. Nil elsewhere, and if the token has ended.
    package var tokenHash: String?

    package init(
        pushId: String, state: String, reason: String? = nil, attempt: Int? = nil, receivedAt: String,
        timeline: [Hop] = []
    ) {
        self.pushId = pushId
        self.state = state
        self.reason = reason
        self.attempt = attempt
        self.receivedAt = receivedAt
        self.timeline = timeline
    }
}
