package import RingwakeCore

/// What became of a submitted push.
package nonisolated enum PushVerdict: Hashable, Sendable {
    /// This push is durable now.
    case new
    /// The same push (sender, door, app and id, whose case does not count) was journaled before: it is
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
