internal import RingwakeCore

/// The limits of the journal: its size on disk, the queues in memory, and timeouts.
///
/// The store's file holds at most `maximumPushes` pushes and as many calls (about 0.6 KB per pair without its payload,
/// so about 65 MB with the defaults), the payloads of calls that have not ended, state, and `freePages`. Lists of
/// callers add about 50 bytes per entry. The write-ahead log is moved into the store at `largeLogPages` at the latest,
/// so it holds at most that and one more transaction.
package nonisolated struct JournalLimits: Hashable, Sendable {
    /// How long pushes and ended calls are kept.
    package var maximumAge: Duration = .seconds(30 * 24 * 3600)
    /// The maximum number of pushes, and of calls. The oldest ended calls and their pushes are removed first.
    package var maximumPushes: Int = 100_000
    /// The maximum number of pushes that wait for the disk, and of calls whose records wait.
    package var maximumWaiting: Int = 4_096
    /// The maximum size of the payloads that wait for the disk, in bytes.
    package var maximumWaitingBytes: Int = 16 << 20
    /// The maximum number of waiting reads.
    package var maximumWaitingReads: Int = 64
    /// The maximum number of pushes and rings in one transaction.
    package var maximumBatch: Int = 256
    /// The maximum number of answers to one read.
    package var maximumAnswers: Int = JournalQueries.maximumAnswers
    /// The maximum number of open calls that a start returns. There are never that many, unless someone edited the
    /// store.
    package var maximumOpenCalls: Int = 4_096
    /// The maximum number of recently ended calls that a start returns.
    package var maximumRecentCalls: Int = 512

    /// State: the maximum number of rows that are kept or wait for the disk, and the bytes of one row and of all.
    package var maximumStates: Int = 8_192
    package var maximumStateBytes: Int = 1 << 20
    package var maximumStatesBytes: Int = 16 << 20
    /// The maximum number of rows of state that are kept after they were set aside.
    package var maximumAside: Int = 32

    /// The maximum number of lists of callers, and of the entries of all lists.
    package var maximumLists: Int = 64
    package var maximumListEntries: Int = 5_000_000
    /// The maximum number of imports in progress.
    package var maximumImports: Int = 4
    /// The maximum number of entries in one request to add to an import, and in one request to change a list.
    package var maximumImportPiece: Int = 16_384
    package var maximumListChange: Int = 2_048
    /// The maximum number of waiting requests on lists, and of their entries.
    package var maximumWaitingLists: Int = 32
    package var maximumWaitingListEntries: Int = 65_536
    /// The maximum number of entries that one transaction adds or removes, or one read returns. A push may have to wait
    /// for one such step.
    package var listStep: Int = 2_048
    /// The same for entries that belong between existing ones: each may change a different page.
    package var scatteredListStep: Int = 256

    /// The maximum number of rows of one kind that one transaction removes. It is small so that a new push does not
    /// wait long.
    package var pruneStep: Int = 64
    /// The number of pages of 4096 bytes that one transaction returns to the file system, and of those that are kept
    /// for reuse.
    package var vacuumStep: Int = 64
    package var freePages: Int = 256
    /// The number of pages that one step copies while the store is backed up.
    package var copyStep: Int = 64
    /// The size of the write-ahead log, in pages, from which an idle journal moves it into the store.
    package var smallLogPages: Int = 256
    /// The size of the write-ahead log, in pages, from which a busy journal moves it into the store, too.
    package var largeLogPages: Int = 1_024

    /// How long the store may take to open. It may have to recover a long log.
    package var maximumOpening: Duration = .seconds(60)
    /// How long the disk may take for an answer. After that the journal reports it, and refuses further pushes.
    package var maximumSilence: Duration = .seconds(10)
    /// How long closing may wait for the disk.
    package var maximumClosing: Duration = .seconds(10)

    package init() {}
}
