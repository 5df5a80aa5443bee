/// When to write a record.
package enum WriteUrgency: Hashable, Sendable {
    /// With its own commit, unless another commit is due.
    case now
    /// With the next commit, or with its own after ``soonDelay``. For what a restart can do without.
    case soon
    /// With the next commit or the next read.
    case withNext

    /// How long ``soon`` waits for another commit.
    package static let soonDelay = Duration.milliseconds(5)
}

/// Which pushes to read, newest first.
package struct PushQuery: Hashable, Sendable {
    /// Only pushes of this app.
    package var app: AppID?
    /// Only pushes with this id, ignoring case.
    package var pushID: String?
    /// The maximum number, up to ``JournalQueries/maximumAnswers``.
    package var limit: Int
    /// Only pushes with a lower sequence number: the last one of the page before.
    package var before: Int64?

    package init(app: AppID? = nil, pushID: String? = nil, limit: Int = 100, before: Int64? = nil) {
        self.app = app
        self.pushID = pushID
        self.limit = limit
        self.before = before
    }
}

/// Which calls to read, newest first.
package struct CallQuery: Hashable, Sendable {
    /// Only calls of this app.
    package var app: AppID?
    /// Only calls with this id: one per app.
    package var id: CallID?
    /// Only calls in the list of missed calls.
    package var missedOnly: Bool
    /// The maximum number, up to ``JournalQueries/maximumAnswers``.
    package var limit: Int
    /// Only calls with a lower number: the last one of the page before.
    package var before: Int64?

    package init(
        app: AppID? = nil, id: CallID? = nil, missedOnly: Bool = false, limit: Int = 100, before: Int64? = nil
    ) {
        self.app = app
        self.id = id
        self.missedOnly = missedOnly
        self.limit = limit
        self.before = before
    }
}

/// A push from the journal. Its instants are in the present boot.
package struct JournaledPush: Hashable, Sendable {
    /// Its sequence number in the journal: higher than those of earlier pushes.
    package let sequence: Int64
    package let push: PushRecord
    /// When it arrived, in milliseconds since 1970.
    package let receivedWallClock: Int64
    /// When it was written. It is durable after the commit of that time. Nil in rows of older versions.
    package let journaledAt: BootInstant?
    /// Its call; nil if the journal doesn't have the call, or no longer.
    package let call: JournaledCall?

    package init(
        sequence: Int64, push: PushRecord, receivedWallClock: Int64, journaledAt: BootInstant?, call: JournaledCall?
    ) {
        self.sequence = sequence
        self.push = push
        self.receivedWallClock = receivedWallClock
        self.journaledAt = journaledAt
        self.call = call
    }
}

/// A call from the journal. Its instants are in the present boot.
package struct JournaledCall: Hashable, Sendable {
    package let record: CallRecord
    /// When the push that started it arrived, in milliseconds since 1970.
    package let receivedWallClock: Int64

    package init(record: CallRecord, receivedWallClock: Int64) {
        self.record = record
        self.receivedWallClock = receivedWallClock
    }
}

/// Limits of the journal's answers.
package enum JournalQueries {
    /// Pushes or calls in one answer.
    package static let maximumAnswers = 1_000
}
