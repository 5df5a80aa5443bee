internal import DataProtection
internal import FileSystem
internal import Logging
internal import PushJournal
internal import RingwakeCore

/// The block and identification lists. The journal stores them; calls are looked up in an index file beside it. A
/// change is reported when the index contains it, so it applies from then on.
final class CallerLists {
    /// The index is rebuilt after each change. Changes that arrive during a build share the next one.
    private var isBuilding = false
    private var waiters: [(Result<Void, RingwakeError>) -> Void] = []

    /// The index of the lists; nil if there are no lists.
    private var index: CallerIndex?
    /// Whether the index differs from the lists, or there is none.
    private var isStale = false
    /// Whether the store is open, and has lists.
    private var hasLists = false
    private let vault: RecordVault
    /// How to read numbers without a country code.
    private var dialling: DiallingRules
    private let journal: PushJournal
    private let indexPath: String
    private let logger: Logger

    init(
        journal: PushJournal, dialling: DiallingRules, keys: KeyRing = .off, stateDirectory: String, logger: Logger
    ) {
        self.journal = journal
        vault = RecordVault(keys)
        self.dialling = dialling
        indexPath = stateDirectory + "/callers.index"
        self.logger = logger
    }

    /// What the lists say about a caller. A damaged index says nothing and is rebuilt: it's better to let one call too
    /// many ring than one too few.
    func verdict(on caller: CallerHandle) -> ListVerdict? {
        do throws(RingwakeError) {
            return try index?.lookup(caller)
        } catch {
            logger.error("callers cannot be looked up", metadata: ["why": "\(error.message)"])
            if error.code == .locked { return nil }
            index = nil
            rebuild { _ in }
            return nil
        }
    }

    /// Runs a command. A change of the lists completes when lookups use it.
    func run(_ command: CallerListCommand, completion: @escaping (Result<CallerListResult, RingwakeError>) -> Void) {
        journal.lists(command) { [self] result in
            guard command.changesLookups, case .success = result else { return completion(result) }
            rebuild { built in completion(built.flatMap { result }) }
        }
    }

    /// Opens the index of the last run, and builds it anew if it doesn't match the lists. Until that is done it is used
    /// as it is.
    /// - Parameter contents: nil while the store cannot be opened.
    func begin(_ contents: JournalContents?) {
        index = nil
        // 0: no list was ever made.
        guard contents?.listGeneration != 0 else { return }
        hasLists = contents != nil
        do throws(RingwakeError) {
            let index = try CallerIndex(indexPath, vault)
            self.index = index
            isStale = index.generation != contents?.listGeneration ?? index.generation
            if isStale { logger.notice("index of callers is older than the lists, and built anew") }
        } catch {
            isStale = true
            if hasLists { logger.notice("index of callers is built anew", metadata: ["why": "\(error.message)"]) }
        }
        refresh()
    }

    /// Rebuilds the index if the dialling rules have changed.
    func reconfigure(_ dialling: DiallingRules) {
        self.dialling = dialling
        refresh()
    }

    /// Takes the present keys of the lists' entries.
    func use(_ keys: KeyRing) {
        vault.use(keys)
        // A build that has begun may have the former keys.
        if isBuilding { waiters.append { _ in } }
        refresh()
    }

    /// Rebuilds the index if it needs that, and the entries can be read.
    private func refresh() {
        let isOutdated = index.map { !$0.isBuilt(with: dialling) || !$0.hasPresentKeys } ?? false
        guard hasLists, isStale || isOutdated, vault.ring.areListsAvailable else { return }
        rebuild { _ in }
    }

    /// Builds the index from the journal's lists, then uses it for lookups.
    private func rebuild(_ completion: @escaping (Result<Void, RingwakeError>) -> Void) {
        waiters.append(completion)
        guard !isBuilding else { return }
        isBuilding = true
        hasLists = true
        let served = waiters
        waiters = []
        journal.rebuildIndex(at: indexPath, rules: dialling) { [self] result in
            isBuilding = false
            let outcome = result.flatMap { _ in open() }
            isStale = (try? outcome.get()) == nil
            if case .failure(let error) = outcome {
                logger.error(
                    "index of callers not built, the old one stays in force", metadata: ["why": "\(error.message)"])
            }
            for waiter in served { waiter(outcome) }
            if let next = waiters.popLast() { rebuild(next) }
        }
    }

    private func open() -> Result<Void, RingwakeError> {
        do throws(RingwakeError) {
            index = try CallerIndex(indexPath, vault)
            return .success(())
        } catch {
            return .failure(error)
        }
    }
}
