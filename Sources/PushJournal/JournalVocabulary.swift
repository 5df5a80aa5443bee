package import DataProtection
package import RingwakeCore

/// The result of a submitted push.
package nonisolated enum PushVerdict: Hashable, Sendable {
    /// This push is now durable.
    case new
    /// The same push was journaled before, so it is durable, too. The same means: sender, protocol, app and id,
    /// ignoring case.
    case repeated
    /// The push is durable, but its call was not written: the journal already has another call, with another number,
    /// for that app and id.
    case callKnown
}

/// The result of recording that a call rings.
package nonisolated enum RingVerdict: Hashable, Sendable {
    /// The ring is recorded durably.
    case recorded
    /// The journal has another call, with another number, for that app and id. This one must not ring.
    case callKnown
}

/// The journal's contents at the start.
package nonisolated struct JournalContents: Sendable {
    /// Calls that had not ended, the oldest first; at most `JournalLimits.maximumOpenCalls`. A call that may have rung
    /// may have no payload; every other call has its push's.
    package let open: [StoredCall]
    /// Calls that ended within the last hour, the oldest first; the newest `JournalLimits.maximumRecentCalls`.
    package let recent: [CallRecord]
    /// The number of the next call: at least 1, and higher than any in the journal.
    package let nextCallNumber: Int64
    /// The wall clock, in milliseconds since 1970, at the newest journaled arrival; nil in a new journal.
    package let newestWallClock: Int64?
    /// State, by path; at most `JournalLimits.maximumStates` rows with `JournalLimits.maximumStatesBytes` of data.
    package let states: [StateRow]
    /// The paths of rows that can't be read now, with the class that keeps from it.
    package let lockedStates: [String: ProtectionClass]
    /// Lists of callers, by name.
    package let lists: [CallerListRecord]
    /// Identifies this version of the lists. The index that is built from them has the same number. 0 before the first
    /// change.
    package let listGeneration: UInt64
    /// Linked devices.
    package let devices: [DeviceRow]
    /// Pushes that wait for linked devices, in the order in which they were written.
    package let mail: [StoredMail]
    /// Names this store: another one, or one that was made anew, has another name.
    package let epoch: String
    /// Rows of state that could not be kept and were set aside, with the reason; for example rows that are too large.
    package let setAside: [(path: String, reason: String)]
    /// What was damaged or is lost of the store, for a person.
    package var damage: [String] = []

    package init(
        open: [StoredCall], recent: [CallRecord], nextCallNumber: Int64, newestWallClock: Int64?,
        states: [StateRow] = [], lockedStates: [String: ProtectionClass] = [:], lists: [CallerListRecord] = [],
        listGeneration: UInt64 = 0,
        devices: [DeviceRow] = [], mail: [StoredMail] = [], epoch: String = "",
        setAside: [(path: String, reason: String)] = []
    ) {
        self.open = open
        self.recent = recent
        self.nextCallNumber = nextCallNumber
        self.newestWallClock = newestWallClock
        self.states = states
        self.lockedStates = lockedStates
        self.lists = lists
        self.listGeneration = listGeneration
        self.devices = devices
        self.mail = mail
        self.epoch = epoch
        self.setAside = setAside
    }
}

/// The clocks for the journal. It reads them on its own thread.
package nonisolated struct JournalClocks: Sendable {
    /// The wall clock, in milliseconds since 1970.
    package let wall: @Sendable () -> Int64
    /// The clock that counts from boot.
    package let boot: @Sendable () -> BootInstant
    /// The id of this boot: instants of other boots are invalid. `/proc/sys/kernel/random/boot_id`.
    package let bootID: String
    /// How reliable the wall clock is.
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

/// How reliable the wall clock is. After a power cut, a board without a battery continues with about the time at which
/// it was switched off: that looks plausible, but is wrong.
package nonisolated enum WallClockTrust: Sendable {
    /// Unreliable.
    case none
    /// The kernel set it at boot from a clock with a battery.
    case battery
    /// A time service keeps it correct.
    case kept
}

/// Whether the journal can write.
package nonisolated enum JournalHealth: Equatable, Sendable {
    /// The last commit succeeded.
    case working
    /// No commit has succeeded since; with the latest error.
    case failing(since: BootInstant, RingwakeError)
}

/// The size of the journal, and counters of its work.
package nonisolated struct JournalStatistics: Hashable, Sendable {
    /// Stored pushes.
    package var pushes: Int = 0
    /// Stored calls.
    package var calls: Int = 0
    /// Stored rows of state, without those set aside.
    package var states: Int = 0
    /// The size of the store and its write-ahead log on disk, in bytes.
    package var bytes: Int64 = 0
    /// Transactions committed since the start, including those for upkeep.
    package var commits: UInt64 = 0
    /// Pushes and calls removed since the start because the disk was full.
    package var gaveWay: Int = 0
    /// Transactions that failed since the start. Each was rolled back completely.
    package var failedCommits: UInt64 = 0

    /// Records that were looked at since the keys of protected data changed, and how many there are to look at; 0 if all
    /// have their present key.
    package var rekeyed: Int64 = 0
    package var toRekey: Int64 = 0
    /// What reading records has shown since the start.
    package var findings = RecordFindings()

    package init() {}
}
