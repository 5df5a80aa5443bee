internal import FileSystem

/// The file with the effects to undo: one for each user or program. It is written before the first command of an
/// effect is sent, and removed when no effect is in force.
///
/// A lock file beside it (`.lock`) keeps two programs from undoing each other's effects.
final class EffectJournal {
    /// The ledger in the file when it was opened: the effects to undo.
    let found: EffectLedger
    /// What was wrong with the file, and where it is now.
    let damage: String?
    /// The ledger on the disk.
    private(set) var written = EffectLedger()
    /// Its canonical path.
    let place: String
    /// The registry for programs that don't know its folder.
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

    /// Writes the ledger to the file durably; removes the file if the ledger is empty. If a power cut undoes the
    /// removal, that does no harm: everything in the file has its old value already, or the user's.
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
