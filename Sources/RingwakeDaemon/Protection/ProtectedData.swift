internal import CallService
internal import DaemonConfiguration
internal import DataProtection
internal import Logging
internal import PushJournal
internal import RingwakeCore

/// Joins the keys with what they protect: the journal's records, and what of them is in memory.
///
///     ProtectionService --keys--> PushJournal, CallService: what can be read
///     PushJournal --all records have present keys--> ProtectionService: former keys go
final class ProtectedData {
    private let protection: ProtectionService
    private let journal: PushJournal
    private let calls: CallDriver
    private let lists: CallerLists
    private let restoration: Restoration
    /// The classes that can be read; at first those with which the journal was opened.
    private var available: Set<ProtectionClass>

    init(
        _ protection: ProtectionService, journal: PushJournal, calls: CallDriver, lists: CallerLists,
        restoration: Restoration
    ) {
        self.protection = protection
        self.journal = journal
        self.calls = calls
        self.lists = lists
        self.restoration = restoration
        available = Set(ProtectionClass.allCases.filter(protection.distribution.ring.isAvailable))
    }

    func begin() {
        protection.distribution.apply = { [weak self] keys, completion in self?.use(keys, completion) }
        protection.distribution.publish = { [calls] state in calls.submit(.protectedDataChanged(state)) }
        protection.onDeletion = { [weak self] protection in self?.forget(protection) }
        protection.progress = { [weak self] in self?.progress(of: $0) }
        protection.missingKeys = { [journal] in MissingKeys(generations: journal.statistics.findings.missingKeys) }
        journal.onRekeyed = { [weak self] in self?.removeFormerKeys($0) }
        protection.begin()
    }

    /// Hides what can't be read any more at once, and shows what can be read when it has been read.
    private func use(_ keys: KeyRing, _ completion: @escaping () -> Void) {
        let available = Set(ProtectionClass.allCases.filter(keys.isAvailable))
        let isMore = !available.isSubset(of: self.available)
        self.available = available
        calls.submit(.protectionChanged(ProtectionState(classes: keys.classes, available: available)))
        journal.use(keys)
        lists.use(keys)
        guard isMore else { return journal.barrier { _ in completion() } }
        let hidden = calls.coordinator.finished.lazy.filter { $0.update.lockedBy != nil }
        // While the store can't be opened there is nothing to show: it is read when it is.
        journal.readProtected(since: hidden.map(\.number).min()) { [restoration, calls] result in
            if case .success(let rows) = result { restoration.reveal(rows, calls) }
            completion()
        }
    }

    /// The journal counts all kinds of data together.
    private func progress(of protection: ProtectionClass) -> (done: Int64, total: Int64)? {
        let statistics = journal.statistics
        guard statistics.toRekey > 0, self.protection.distribution.ring.classes.values.contains(protection) else {
            return nil
        }
        return (statistics.rekeyed, statistics.toRekey)
    }

    /// - Parameter used: the keys that all records have. There may be newer ones meanwhile.
    private func removeFormerKeys(_ used: KeyRing) {
        guard !protection.isOff else { return protection.finishGivingUp() }
        for key in ProtectionClass.withKeys {
            guard let generation = used.keys[key]?.last?.generation,
                !ClassKey.temporaryGenerations.contains(generation)
            else { continue }
            do throws(RingwakeError) {
                try protection.finishRekeying(of: key, before: generation)
            } catch {
                protection.logger.error(
                    "former keys stay", metadata: ["class": "\(key.rawValue)", "why": "\(error.message)"])
            }
        }
    }

    /// The keys of a class are deleted: what it protects must not be in memory either. What belongs to a call in progress
    /// stays, and is protected by the new key.
    private func forget(_ deleted: ProtectionClass) {
        let classes = protection.settings.classes.byKind
        if classes[.appState] == deleted { calls.submit(.statesDeleted) }
        if classes[.callers] == deleted { calls.submit(.callersDeleted) }
    }
}
