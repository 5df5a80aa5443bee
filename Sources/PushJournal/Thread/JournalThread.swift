internal import DataProtection
internal import RingwakeCore
internal import RunLoop
internal import StoreMigration

/// The journal's own thread: opens the store, works, closes it.
///
/// It exists because a commit waits for the disk, 1 to 16 ms and far longer on an SD card, and the loop must not.
nonisolated struct JournalThread {
    /// The stack size in bytes. SQLite needs less than 64 KB; untouched stack takes no memory.
    private static let stackBytes = 256 << 10

    private let thread: WorkerThread

    /// The parameters of the thread.
    struct Order: Sendable {
        let directory: String
        let vfs: String?
        let limits: JournalLimits
        let clocks: JournalClocks
        let versions: StoreVersions
        /// At the start.
        let keys: KeyRing
        let mailbox: JournalMailbox
    }

    /// Starts the thread. Its first answer is `opened`. Its last answer is `ended`; then it ends.
    init(_ order: Order) throws(RingwakeError) {
        do throws(RunLoopError) {
            thread = try WorkerThread(name: "journal", stackBytes: Self.stackBytes) { JournalThread.run(order) }
        } catch {
            throw RingwakeError(.system, "no thread for the journal: \(error.reason); raise the limit on tasks.")
        }
    }

    /// Waits for the end of the thread after `ended`.
    func join() {
        thread.join()
    }

    /// Lets the thread end later, because it waits for a disk that does not answer.
    func abandon() {
        thread.detach()
    }

    private static func run(_ order: Order) {
        var waiting = WaitingJournalWork()
        // Of the thread: a store that replaces another one goes on with the same keys.
        let vault = RecordVault(order.keys)
        var opened: Opened?
        do throws(StoreOpeningFailure) {
            opened = try open(order, vault, damage: nil, isReplacement: false)
        } catch {
            order.mailbox.answer([.opened(.failure(error))])
            opened = reopen(order, vault, damage: nil, &waiting, after: error)
        }
        while let damage = serve(&opened, &waiting, order) {
            opened = reopen(order, vault, damage: damage, &waiting)
        }
        order.mailbox.answer([.ended])
    }

    /// - Parameters:
    ///   - damage: what is wrong with the store.
    ///   - isReplacement: whether a store was open before.
    ///   - former: what failed attempts did to a damaged store, for a person.
    private static func open(
        _ order: Order, _ vault: RecordVault, damage: String?, isReplacement: Bool, former: [String] = []
    ) throws(StoreOpeningFailure) -> Opened {
        var reported = -1
        let opening = StoreOpening.Order(
            directory: order.directory, vfs: order.vfs, limits: order.limits, clocks: order.clocks,
            versions: order.versions, vault: vault
        ) { progress in
            guard progress.percent != reported else { return }
            reported = progress.percent
            order.mailbox.answer([.migrating(progress)])
        }
        let opened = try StoreOpening.open(opening, damage: damage)
        guard !isReplacement else { return (opened, .replaced(former + opened.damage)) }
        var contents = opened.contents.journal
        contents.damage = former + opened.damage
        return (opened, .opened(.success(contents)))
    }

    /// A store, and the answer that reports it.
    private typealias Opened = (store: StoreOpening.Opened, news: JournalAnswer)

    /// Works on the store until it has to be closed or replaced. When this returns, nothing has the store open.
    /// - Returns: what is wrong with the store; nil at the end.
    private static func serve(
        _ opened: inout Opened?, _ waiting: inout WaitingJournalWork, _ order: Order
    ) -> String? {
        guard let (present, news) = opened else { return nil }
        opened = nil
        let worker = JournalWorker(
            store: present.store, mailbox: order.mailbox, limits: order.limits, unfit: present.contents.unfit,
            damaged: present.contents.damaged, waiting: waiting)
        let unreadable = present.contents.unreadable
        order.mailbox.answer([news] + (unreadable > 0 ? [.unreadable(rows: unreadable)] : []))
        let damage = worker.run()
        waiting = worker.waiting
        return damage
    }

    /// Replaces the store, or opens one that could not be opened. While that fails, all work fails, and each new piece of
    /// work is another attempt.
    /// - Parameters:
    ///   - damage: what is wrong with the store that was open; nil if none was.
    ///   - failure: of the last attempt.
    /// - Returns: nil if the journal is closed meanwhile.
    private static func reopen(
        _ order: Order, _ vault: RecordVault, damage: String?, _ waiting: inout WaitingJournalWork,
        after failure: StoreOpeningFailure? = nil
    ) -> Opened? {
        var failure = failure
        // A new store is not replaced because the former one was damaged.
        var present = damage
        var former: [String] = []
        while true {
            if let failure {
                if let replacement = failure.replacement {
                    present = nil
                    former.append(replacement)
                }
                order.mailbox.answer(waiting.failAll(failure.error))
                guard !waiting.isClosing else { return nil }
                var submission = order.mailbox.takeWork(waiting: true)
                if let keys = submission.keys { vault.use(keys) }
                submission.keys = nil
                order.mailbox.answer(waiting.take(submission, limits: order.limits))
                // The end is worth another attempt only if there is something to write.
                if waiting.isAskedToClose, waiting.records.count == 0 { continue }
                if failure.isFinal { continue }
            }
            do throws(StoreOpeningFailure) {
                let opened = try open(order, vault, damage: present, isReplacement: damage != nil, former: former)
                // Without damage it was never open, and the answer that it is open now says that it works.
                if damage != nil { order.mailbox.answer([.committed(nil, waitingRecords: waiting.records.count)]) }
                return opened
            } catch {
                failure = error
            }
        }
    }
}
