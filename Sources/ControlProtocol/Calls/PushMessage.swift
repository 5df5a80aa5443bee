/// One push: what became of it, as its sender would want to know.
package struct PushMessage: Codable, Equatable, Sendable {
    package var schema = ControlAPI.schema
    /// The sender's name for it, exactly as the sender wrote it.
    package var pushId: String
    /// The bundle id of the app that its token belongs to.
    package var app: String
    /// The topic that it was sent to. Nil, as the next two, for a push that came by another door than APNs.
    package var topic: String?
    /// The environment that it came in by: `development` or `production`.
    package var environment: String?
    /// The team of its sender.
    package var team: String?
    /// Its priority: 10, 5 or 1. Nil while it is only `accepted`.
    package var priority: Int?
    /// Which undelivered push it replaces.
    package var collapseId: String?
    /// The call that it is about.
    package var call: String
    /// What it brought about when it arrived: `PushOutcome` as text.
    package var outcome: String
    /// How far it has come: ``State`` as text.
    package var state: String
    /// Why its call ended, or is ending.
    package var reason: String?
    /// More on why its call ended, for a person.
    package var detail: String?
    /// What kept its call out; nil of a push whose call nothing did.
    package var restriction: RestrictionMessage?
    /// How often a handler was woken for its call.
    package var attempt: Int
    /// When it arrived: ``UTCTime`` in text.
    package var receivedAt: String
    /// What happened, in order: to its call where it started it, else to the push itself.
    package var timeline: [Hop]
}

extension PushMessage {
    /// How far a push has come, by its call. New ones may come; text in the message, so that none breaks a reader.
    package enum State: String, Sendable, CaseIterable {
        /// Taken, and not durable: the journal failed to write it, and its sender was told so.
        case accepted
        /// Durable; its call waits for its app's handler.
        case journaled
        /// A handler was woken for its call.
        case woken
        /// The handler vouches for its call.
        case reported
        /// Its call rings.
        case ringing
        /// Its call was answered here, and goes on.
        case answered
        /// Its call is over, and is no missed call.
        case ended
        /// It was too late to ring for it.
        case expired
        /// Its call is over, and nobody answered or declined it anywhere.
        case missed
        /// Its sender took its call back.
        case cancelled
        /// Its call was kept out: by do not disturb, a block list or a limit.
        case restricted
        /// Its app's handler has too many strikes and was not started for it.
        case withheld

        /// Whether it stays so.
        package var isFinal: Bool {
            switch self {
            case .ended, .expired, .missed, .cancelled, .restricted, .withheld: true
            case .accepted, .journaled, .woken, .reported, .ringing, .answered: false
            }
        }
    }
}

/// Pushes, the newest first.
package struct PushListMessage: Codable, Equatable, Sendable {
    package var schema = ControlAPI.schema
    package var pushes: [PushMessage]
    /// What to ask for as `before` to get the older ones; nil when there are none.
    package var next: Int64?

    package init(pushes: [PushMessage], next: Int64? = nil) {
        self.pushes = pushes
        self.next = next
    }
}
