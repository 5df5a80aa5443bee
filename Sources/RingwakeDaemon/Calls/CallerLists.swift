internal import FileSystem
internal import Logging
internal import PushJournal
internal import RingwakeCore

/// The block and identification lists: the journal keeps them, and calls are looked up in an index file beside it. A
/// change is answered when the index has it, so it counts from the answer on.
final class CallerLists {
    /// The index is rebuilt after each change; changes that arrive meanwhile share the next build.
    private var isBuilding = false
    private var waiters: [(Result<Void, RingwakeError>) -> Void] = []

    private let journal: PushJournal
    private let screen: CallScreen
    private let indexPath: String
    private let logger: Logger

    init(journal: PushJournal, screen: CallScreen, stateDirectory: String, logger: Logger) {
        self.journal = journal
        self.screen = screen
        indexPath = stateDirectory + "/callers.index"
        self.logger = logger
        screen.onDamage = { [weak self] in self?.rebuild { _ in } }
    }

    /// Opens the index that the last run left, or builds one if there is none that fits the lists.
    func begin(_ contents: JournalContents) {
        // No list was ever made.
        guard contents.listGeneration > 0 else { return }
        do throws(RingwakeError) {
            let index = try CallerIndex(indexPath)
            if index.generation == contents.listGeneration, index.isBuilt(with: screen.dialling) {
                screen.index = index
                return
            }
            logger.notice("index of callers is older than the lists, and built anew")
        } catch {
            logger.notice("index of callers is built anew", metadata: ["why": "\(error.message)"])
        }
        rebuild { _ in }
    }

    /// Rebuilds the index if the dialling rules have changed.
    func reconfigure() {
        guard let index = screen.index, !index.isBuilt(with: screen.dialling) else { return }
        rebuild { _ in }
    }

    /// Builds the index of the lists as the journal has them, and looks callers up in it from then on.
    func rebuild(_ completion: @escaping (Result<Void, RingwakeError>) -> Void) {
        waiters.append(completion)
        guard !isBuilding else { return }
        isBuilding = true
        let served = waiters
        waiters = []
        journal.rebuildIndex(at: indexPath, rules: screen.dialling) { [self] result in
            isBuilding = false
            let outcome = result.flatMap { _ in open() }
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
            screen.index = try CallerIndex(indexPath)
            return .success(())
        } catch {
            return .failure(error)
        }
    }
}
