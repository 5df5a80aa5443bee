internal import FileSystem

/// The file that tells what to undo: one for each user or program, written before the first command of an effect
/// leaves, and removed when nothing is in force.
///
/// A lock file beside it (`.lock`) keeps two programs from undoing each other's effects.
final class EffectJournal {
    /// What the file held when it was opened: what has to be undone.
    let found: EffectLedger
    /// What was wrong with the file, and where it is now.
    let damage: String?
    /// What the disk holds.
    private(set) var written = EffectLedger()
    /// Its path in the form that every program uses.
    let place: String
    /// Where programs that do not know its folder find it.
    var registry: JournalRegistry? { didSet { register() } }
    let path: String
    private let lock: FileLock
    private var exists: Bool

    /// - Throws: ``EffectJournalError``: another program holds it, it is of a newer version (and stays as it is), or it
    ///   cannot be read or written.
    init(path: String) throws(EffectJournalError) {
        self.path = path
        lock = try EffectJournalFile.lock(path)
        place = EffectJournals.place(of: path)
        exists = FileSystem.exists(path)
        switch exists ? try EffectJournalFile.contents(of: path) : .ledger(EffectLedger()) {
        case .ledger(let ledger):
            (found, written, damage) = (ledger, ledger, nil)
        case .damaged(let why):
            found = EffectLedger()
            damage = try EffectJournalFile.setAside(path, why)
            exists = false
        }
    }

    /// Makes the file hold this, durably; or removes it where there is nothing to hold. A power cut may undo a removal,
    /// which does no harm: all that it names has its old value already, or the user's.
    func write(_ ledger: EffectLedger) throws(EffectJournalError) {
        if ledger == written, exists == !ledger.isEmpty { return }
        if ledger.isEmpty, !exists { return }
        do throws(FileSystemError) {
            if ledger.isEmpty {
                try FileSystem.remove(path)
            } else {
                try FileSystem.replace(path, with: EffectJournalFile.bytes(of: ledger), mode: 0o600)
            }
        } catch {
            throw EffectJournalError(.unusable, error.description)
        }
        exists = !ledger.isEmpty
        written = ledger
        register()
    }

    private func register() {
        if exists { registry?.enter(place) } else { registry?.leave(place) }
    }
}
