internal import RingwakeCore

/// The effects of other programs. Each program writes them to its journal before its first command, so all effects
/// that the server shows are in there. The journals are read, never written.
final class OtherJournals {
    private let journal: EffectJournal
    private let known: [String]
    private var read: [EffectLedger]?

    /// - Parameter known: Journals in the usual places.
    init(besides journal: EffectJournal, known: [String]) { (self.journal, self.known) = (journal, known) }

    /// Read once, and kept until ``forget()``.
    var ledgers: [EffectLedger] {
        if let read { return read }
        let registered = (journal.registry?.journals ?? []).filter { $0 != journal.place && !known.contains($0) }
        let ledgers = (known + registered).compactMap { path -> EffectLedger? in
            guard case .ledger(let ledger) = try? EffectJournalFile.contents(of: path) else { return nil }
            return ledger
        }
        read = ledgers
        return ledgers
    }

    /// Another program may have written since.
    func forget() { read = nil }
}
