internal import RingwakeCore

/// What other programs have in force: each writes it to its journal before its first command, so whatever the server
/// shows of theirs is there. Their journals are read, never written.
final class OtherJournals {
    private let journal: EffectJournal
    private let known: [String]
    private var read: [EffectLedger]?

    /// - Parameter known: Journals in the usual places.
    init(besides journal: EffectJournal, known: [String]) { (self.journal, self.known) = (journal, known) }

    /// Read once, until ``forget()``.
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
