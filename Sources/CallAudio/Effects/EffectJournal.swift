internal import FileSystem

/// The file that says what to take back: one for each user, written before the first command of an effect leaves, and
/// removed when nothing is in force.
///
/// It is two lines: a heading with the version, the length and a checksum of the second, so that a file that was cut off
/// or torn is seen, and what ``EffectLedger`` is as JSON. Beside it lies a lock (`.lock`): two programs never undo each
/// other's effects.
package final class EffectJournal {
    /// The version that this program writes and reads.
    package static let version = 1
    /// More than any number of streams leads to; a longer file is none of ours.
    static let maximumBytes = 8 << 20

    package let path: String
    /// What lay there when it was opened: what is to be mended.
    package let found: EffectLedger
    /// What was wrong with the file that lay there, and where it is now.
    package let damage: String?
    /// What the disk holds.
    package private(set) var written = EffectLedger()
    /// Its path as every program has it that looks for it.
    let place: String
    /// Where programs find it that do not know its folder.
    var registry: JournalRegistry? { didSet { register() } }
    private let lock: FileLock
    private var exists: Bool

    /// - Throws: ``EffectJournalError``: another program holds it, it is of a newer version (and is left as it is), or it
    ///   cannot be read or written.
    package init(path: String) throws(EffectJournalError) {
        self.path = path
        lock = try EffectJournal.lock(path)
        place = EffectJournals.place(of: path)
        exists = FileSystem.exists(path)
        switch exists ? try EffectJournal.contents(of: path) : .ledger(EffectLedger()) {
        case .ledger(let ledger):
            found = ledger
            written = ledger
            damage = nil
        case .damaged(let why):
            found = EffectLedger()
            damage = try EffectJournal.setAside(path, why)
            exists = false
        }
    }

    /// The disk says how to take all of this back: nothing has to be written before it is done.
    package func covers(_ ledger: EffectLedger) -> Bool {
        let areRecordsCovered = ledger.records.values.allSatisfy { record in
            guard let known = written.records[record.target] else { return false }
            return known.before == record.before && known.set == record.set && known.cookie == record.cookie
                && known.restoreID == record.restoreID
        }
        let areKindsCovered = ledger.kinds.allSatisfy { name, kind in written.kinds[name]?.before == kind.before }
        return areRecordsCovered && areKindsCovered && ledger.players.allSatisfy(written.players.contains)
    }

    /// Makes the file say this, durably; or removes it where there is nothing to say. A removal that a power cut undoes is
    /// no harm: what it names is as it was before already, or the user's own by then.
    package func write(_ ledger: EffectLedger) throws(EffectJournalError) {
        if ledger == written, exists == !ledger.isEmpty { return }
        if ledger.isEmpty, !exists { return }
        do throws(FileSystemError) {
            if ledger.isEmpty {
                try FileSystem.remove(path)
            } else {
                try FileSystem.replace(path, with: EffectJournal.bytes(of: ledger), mode: 0o600)
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

/// Why the journal cannot be used.
package struct EffectJournalError: Error, Hashable, Sendable, CustomStringConvertible {
    package enum Kind: String, Hashable, Sendable {
        /// Another program has it.
        case inUse
        /// A newer version of this program wrote it.
        case newer
        /// The file system refuses.
        case unusable
    }

    package let kind: Kind
    package let description: String

    init(_ kind: Kind, _ description: String) {
        self.kind = kind
        self.description = description
    }
}
