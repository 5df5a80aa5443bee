internal import RingwakeCore

/// What bounds the journal: its size on the disk, what waits in memory, and how long it may take.
///
/// The store's file holds at most `maximumPushes` pushes and as many calls (about 0.6 KB for each pair without its
/// payload, so some 65 MB with the defaults), the payloads of calls that have not ended, state, and `freePages`; lists of callers come on top, some 50 bytes an entry. Its
/// write-ahead log is moved into it at `largeLogPages` at the latest, so it holds that and one transaction more.
package nonisolated struct JournalLimits: Hashable, Sendable {
    /// How long pushes and ended calls are kept.
    package var maximumAge: Duration = .seconds(30 * 24 * 3600)
    /// How many pushes, and how many calls, are kept; of ended calls and their pushes the oldest go first.
    package var maximumPushes: Int = 100_000
    /// Pushes that may wait for the disk; and calls whose records wait to be written.
    package var maximumWaiting: Int = 4_096
    /// Bytes of payload that may wait for the disk.
    package var maximumWaitingBytes: Int = 16 << 20
    /// Reads that may wait.
    package var maximumWaitingReads: Int = 64
    /// Pushes and rings in one transaction.
    package var maximumBatch: Int = 256
    /// Answers to one read.
    package var maximumAnswers: Int = JournalQueries.maximumAnswers
    /// Calls given back at a start as not ended; there are never as many, unless the store was made by hand.
    package var maximumOpenCalls: Int = 4_096
    /// Calls given back at a start as ended lately.
    package var maximumRecentCalls: Int = 512

    /// Rows of state that are kept, and that may wait for the disk; bytes of one, and of all together.
    package var maximumStates: Int = 8_192
    package var maximumStateBytes: Int = 1 << 20
    package var maximumStatesBytes: Int = 16 << 20
    /// Rows of state that are kept after they were set aside.
    package var maximumAside: Int = 32

    /// Lists of callers, and the entries of all of them.
    package var maximumLists: Int = 64
    package var maximumListEntries: Int = 5_000_000
    /// Imports that may go on at once.
    package var maximumImports: Int = 4
    /// Entries that one request may add to an import, and that one may change in a list.
    package var maximumImportPiece: Int = 16_384
    package var maximumListChange: Int = 2_048
    /// Requests on lists that may wait, and the entries of all of them.
    package var maximumWaitingLists: Int = 32
    package var maximumWaitingListEntries: Int = 65_536
    /// Entries that one transaction adds or removes, or that are read at once: so long a push waits for them.
    package var listStep: Int = 2_048
    /// The same for entries that come in between others: each may change a page of its own.
    package var scatteredListStep: Int = 256

    /// Rows of one kind that one transaction removes: small, so that a push that comes meanwhile waits little.
    package var pruneStep: Int = 64
    /// Pages of 4096 bytes that one transaction gives back to the file system, and those that are kept for reuse.
    package var vacuumStep: Int = 64
    package var freePages: Int = 256
    /// Pages of the write-ahead log from which it is moved into the store when nothing waits.
    package var smallLogPages: Int = 256
    /// Pages of the write-ahead log from which it is moved into the store though something waits.
    package var largeLogPages: Int = 1_024

    /// How long the store may take to open: it may have a long log to work off.
    package var maximumOpening: Duration = .seconds(60)
    /// How long the disk may take for an answer before that is said, and further pushes are refused.
    package var maximumSilence: Duration = .seconds(10)
    /// How long a close may wait for the disk.
    package var maximumClosing: Duration = .seconds(10)

    package init() {}
}
