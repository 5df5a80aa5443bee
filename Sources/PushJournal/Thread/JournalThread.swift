internal import RingwakeCore
internal import RunLoop

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
        do throws(RingwakeError) {
            try work(order)
        } catch {
            order.mailbox.answer([.opened(.failure(error))])
        }
        order.mailbox.answer([.ended])
    }

    private static func work(_ order: Order) throws(RingwakeError) {
        let store = try StoreOpening.open(
            directory: order.directory, vfs: order.vfs, limits: order.limits, clocks: order.clocks)
        let contents: StoreReader.Contents
        do throws(SQLiteFailure) {
            contents = try StoreReader(store: store).contents()
        } catch {
            throw StoreError.of(error, path: store.path)
        }
        let worker = JournalWorker(
            store: store, mailbox: order.mailbox, limits: order.limits, unfit: contents.unfit,
            damaged: contents.damaged)
        let complaint: [JournalAnswer] = contents.unreadable > 0 ? [.unreadable(rows: contents.unreadable)] : []
        order.mailbox.answer([.opened(.success(contents.journal))] + complaint)
        worker.run()
    }
}
