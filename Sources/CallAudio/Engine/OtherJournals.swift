internal import FileSystem
internal import Glibc
internal import RingwakeCore

/// The effects of other programs. Each program writes them to its journal before its first command, so all effects
/// that the server shows are in there. The journals are read, never written.
final class OtherJournals {
    private let journal: EffectJournal
    /// The journals in the usual places, by their folders.
    private let known: [String: [String]]
    private var read: [EffectLedger]?

    /// - Parameter known: Journals in the usual places.
    init(besides journal: EffectJournal, known: [String]) {
        self.journal = journal
        self.known = Dictionary(grouping: known) { EffectJournals.folder(of: $0) }
    }

    /// Read once, and kept until ``forget()``.
    var ledgers: [EffectLedger] {
        if let read { return read }
        let usual = Set(known.values.joined())
        let registered = (journal.registry?.journals ?? []).filter { $0 != journal.place && !usual.contains($0) }
        let ledgers = (known.flatMap(existing) + registered).compactMap { path -> EffectLedger? in
            guard case .ledger(let ledger) = try? EffectJournalFile.contents(of: path) else { return nil }
            return ledger
        }
        read = ledgers
        return ledgers
    }

    /// Those of a folder that are there: nearly always none, and a call waits for this.
    private func existing(_ folder: String, _ journals: [String]) -> [String] {
        do throws(FileSystemError) {
            let names = Set(try FileSystem.entries(of: folder).map { "\(folder)/\($0)" })
            return journals.filter(names.contains)
        } catch {
            return error.errno == ENOENT ? [] : journals
        }
    }

    /// Another program may have written since.
    func forget() { read = nil }
}
