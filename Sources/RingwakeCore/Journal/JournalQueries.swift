/// When the record of a call is written.
package enum WriteUrgency: Hashable, Sendable {
    /// With a commit that is made for it, if none is on its way.
    case now
    /// With the next commit that something else makes, or with the next read.
    case withNext
}

/// Which pushes to read, newest first.
package struct PushQuery: Hashable, Sendable {
    /// Only this app's.
    package var app: AppID?
    /// Only those with this id, whose case does not count.
    package var pushID: String?
    /// How many at most, up to ``JournalQueries/maximumAnswers``.
    package var limit: Int
    /// Only those with a lower sequence number: the last one of the page before.
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
    /// Only this app's.
    package var app: AppID?
    /// Only those with this id: one for each app.
    package var id: CallID?
    /// Only those that belong into the list of missed calls.
    package var missedOnly: Bool
    /// How many at most, up to ``JournalQueries/maximumAnswers``.
    package var limit: Int
    /// Only those with a lower number: the last one of the page before.
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

/// A push as the journal has it. Its instants are of the present boot.
package struct JournaledPush: Hashable, Sendable {
    /// Its place in the journal: higher than those of earlier pushes.
    package let sequence: Int64
    /// The push.
    package let push: PushRecord
    /// When it arrived, in milliseconds since 1970.
    package let receivedWallClock: Int64
    /// When it was written: it is durable since the end of that commit. Nil in rows of older versions.
    package let journaledAt: BootInstant?
    /// The call that it is about; nil when the journal does not have it, or no longer.
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

/// A call as the journal has it. Its instants are of the present boot.
package struct JournaledCall: Hashable, Sendable {
    /// The call.
    package let record: CallRecord
    /// When the push that started it arrived, in milliseconds since 1970.
    package let receivedWallClock: Int64

    package init(record: CallRecord, receivedWallClock: Int64) {
        self.record = record
        self.receivedWallClock = receivedWallClock
    }
}

/// Bounds of what the journal answers.
package enum JournalQueries {
    /// Pushes or calls in one answer.
    package static let maximumAnswers = 1_000
}
