/// One push and its result, for its sender.
package struct PushMessage: Codable, Equatable, Sendable {
    package var schema = ControlAPI.schema
    /// The push's ID, exactly as the sender wrote it.
    package var pushId: String
    /// Bundle ID of the app to which its token belongs.
    package var app: String
    /// Topic of the push. Like the next two, it is nil if the push didn't come by APNs.
    package var topic: String?
    /// Environment of the push: `development` or `production`.
    package var environment: String?
    /// Team of its sender.
    package var team: String?
    /// Priority: 10, 5 or 1. Nil while it is only `accepted`.
    package var priority: Int?
    /// Collapse ID: it replaces an earlier push with the same one whose call waits for a handler.
    package var collapseId: String?
    /// The call that it is about.
    package var call: String
    /// What it did when it arrived: `PushOutcome` as text.
    package var outcome: String
    /// Its state: ``State`` as text.
    package var state: String
    /// Why its call ended or is ending.
    package var reason: String?
    /// Details of the end, for people.
    package var detail: String?
    /// What kept its call out; nil if nothing did.
    package var restriction: RestrictionMessage?
    /// Number of attempts to wake a handler for its call.
    package var attempt: Int
    /// Arrival time: ``UTCTime`` as text.
    package var receivedAt: String
    /// History, in order: of its call if it started the call, otherwise of the push.
    package var timeline: [Hop]
}

extension PushMessage {
    /// The state of a push, from its call. A message has it as text, so that new states don't break a reader.
    package enum State: String, Sendable, CaseIterable {
        /// Accepted but not durable: the journal couldn't write it, and the sender was notified.
        case accepted
        /// Durable. Its call waits for its app's handler.
        case journaled
        /// A handler was woken for its call.
        case woken
        /// The handler has reported its call.
        case reported
        /// Its call rings.
        case ringing
        /// Its call was answered here, and is in progress.
        case answered
        /// Its call has ended, and isn't a missed call.
        case ended
        /// It arrived too late to ring.
        case expired
        /// Its call has ended, and was not answered or declined anywhere.
        case missed
        /// Its sender cancelled its call.
        case cancelled
        /// Its call was kept out: by do not disturb, a block list or a limit.
        case restricted
        /// Its app's handler has too many strikes and was not started for it.
        case withheld
        /// A later push with its collapse ID took its place before a handler had its call.
        case replaced

        /// Whether the state is final.
        package var isFinal: Bool {
            switch self {
            case .ended, .expired, .missed, .cancelled, .restricted, .withheld, .replaced: true
            case .accepted, .journaled, .woken, .reported, .ringing, .answered: false
            }
        }
    }
}

/// Pushes, the newest first.
package struct PushListMessage: Codable, Equatable, Sendable {
    package var schema = ControlAPI.schema
    package var pushes: [PushMessage]
    /// The value of `before` for older pushes; nil if there are none.
    package var next: Int64?

    package init(pushes: [PushMessage], next: Int64? = nil) {
        self.pushes = pushes
        self.next = next
    }
}
