package import RingwakeCore

/// What became of a push that was handed in.
package nonisolated enum PushVerdict: Hashable, Sendable {
    /// This push is durable now.
    case new
    /// The same push (team, app, environment and `apns-id`, whose case does not count) was journaled before: it is
    /// durable too.
    case repeated
    /// The push is durable, but the call that came with it was not written: the journal has another call, of another
    /// number, with that app and id.
    case callKnown
}

/// What became of a call that is to ring.
package nonisolated enum RingVerdict: Hashable, Sendable {
    /// It is durable that the call rings.
    case recorded
    /// The journal has another call, of another number, with that app and id: this one must not ring.
    case callKnown
}

/// When the record of a call is written.
package nonisolated enum WriteUrgency: Hashable, Sendable {
    /// With a commit that is made for it, if none is on its way.
    case now
    /// With the next commit that something else makes, or with the next read.
    case withNext
}

/// What the last run left in the journal.
package nonisolated struct JournalContents: Sendable {
    /// Calls that had not ended, oldest first; at most `JournalLimits.maximumOpenCalls`. A call that may have rung may
    /// come without a payload; each other one has that of its push.
    package let open: [StoredCall]
    /// Calls that ended within the last hour, oldest first; the newest `JournalLimits.maximumRecentCalls`.
    package let recent: [CallRecord]
    /// The number of the next call: at least 1, and higher than any in the journal.
    package let nextCallNumber: Int64
    /// The wall clock, in milliseconds since 1970, of the newest arrival that was journaled; nil in a new journal.
    package let newestWallClock: Int64?
    /// State, by path; at most `JournalLimits.maximumStates` rows with `JournalLimits.maximumStatesBytes` of data.
    package let states: [StateRow]
    /// Lists of callers, by name.
    package let lists: [CallerListRecord]
    /// What tells this state of the lists from others: an index that was built of them has it; 0 before the first.
    package let listGeneration: UInt64
    /// Rows of state that may not be kept, such as one that is too large, with the reason: they were set aside.
    package let setAside: [(path: String, reason: String)]

    package init(
        open: [StoredCall], recent: [CallRecord], nextCallNumber: Int64, newestWallClock: Int64?,
        states: [StateRow] = [], lists: [CallerListRecord] = [], listGeneration: UInt64 = 0,
        setAside: [(path: String, reason: String)] = []
    ) {
        self.open = open
        self.recent = recent
        self.nextCallNumber = nextCallNumber
        self.newestWallClock = newestWallClock
        self.states = states
        self.lists = lists
        self.listGeneration = listGeneration
        self.setAside = setAside
    }
}

/// The clocks of the machine, as the journal reads them; both are read on the journal's thread.
package nonisolated struct JournalClocks: Sendable {
    /// The wall clock, in milliseconds since 1970.
    package let wall: @Sendable () -> Int64
    /// The clock that counts from boot.
    package let boot: @Sendable () -> BootInstant
    /// Names this boot: instants of another one mean nothing. `/proc/sys/kernel/random/boot_id`.
    package let bootID: String
    /// Who vouches for the wall clock.
    package let trust: @Sendable () -> WallClockTrust

    package init(
        wall: @escaping @Sendable () -> Int64, boot: @escaping @Sendable () -> BootInstant, bootID: String,
        trust: @escaping @Sendable () -> WallClockTrust
    ) {
        self.wall = wall
        self.boot = boot
        self.bootID = bootID
        self.trust = trust
    }
}

/// Who vouches for the wall clock. A board without a battery goes on after a power cut with the time at which it was
/// switched off, or thereabouts: that looks well and says nothing.
package nonisolated enum WallClockTrust: Sendable {
    /// Nobody.
    case none
    /// The kernel set it from a clock with a battery when it booted.
    case battery
    /// A time service keeps it.
    case kept
}

/// Which pushes to read, newest first.
package nonisolated struct PushQuery: Hashable, Sendable {
    /// Only this app's.
    package var app: AppID?
    /// Only those with this `apns-id`, whose case does not count.
    package var apnsID: String?
    /// How many at most; more than `JournalLimits.maximumAnswers` counts as that.
    package var limit: Int
    /// Only those with a lower sequence number: the last one of the page before.
    package var before: Int64?

    package init(app: AppID? = nil, apnsID: String? = nil, limit: Int = 100, before: Int64? = nil) {
        self.app = app
        self.apnsID = apnsID
        self.limit = limit
        self.before = before
    }
}

/// Which calls to read, newest first.
package nonisolated struct CallQuery: Hashable, Sendable {
    /// Only this app's.
    package var app: AppID?
    /// Only those with this id: one for each app.
    package var id: CallID?
    /// Only those that belong into the list of missed calls.
    package var missedOnly: Bool
    /// How many at most; more than `JournalLimits.maximumAnswers` counts as that.
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
package nonisolated struct JournaledPush: Hashable, Sendable {
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
}

/// A call as the journal has it. Its instants are of the present boot.
package nonisolated struct JournaledCall: Hashable, Sendable {
    /// The call.
    package let record: CallRecord
    /// When the push that started it arrived, in milliseconds since 1970.
    package let receivedWallClock: Int64
}

/// Whether the journal can write.
package nonisolated enum JournalHealth: Equatable, Sendable {
    /// The last commit was made.
    case working
    /// No commit was made since; the error is that of the last one tried.
    case failing(since: BootInstant, RingwakeError)
}

/// What the journal holds and has done.
package nonisolated struct JournalStatistics: Hashable, Sendable {
    /// Pushes stored.
    package var pushes: Int = 0
    /// Calls stored.
    package var calls: Int = 0
    /// Rows of state stored, those set aside not counted.
    package var states: Int = 0
    /// Bytes of the store and its write-ahead log on the disk.
    package var bytes: Int64 = 0
    /// Transactions committed since the start, those that tidy up among them.
    package var commits: UInt64 = 0
    /// Transactions that failed since the start, and were rolled back whole.
    package var failedCommits: UInt64 = 0

    package init() {}
}
