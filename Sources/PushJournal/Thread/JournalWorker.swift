internal import DataProtection
internal import Database
internal import RingwakeCore

/// The work of the journal's thread: it takes waiting work, makes it durable in as few commits as possible, and
/// answers. When nothing waits, it does the upkeep. It sleeps when there is nothing to do, without timers.
nonisolated final class JournalWorker {
    /// If the log reaches this many times `largeLogPages`, nothing more is written to it.
    private static let refusedLogs = 4

    private let mailbox: JournalMailbox
    private let limits: JournalLimits
    private let store: Store
    private let reader: StoreReader
    private let lists: ListWorker
    private let copies: CopyWorker
    private let room: StoreRoom
    private var rekeying = Rekeying()
    private var upkeep: StoreUpkeep
    private var check = StoreCheck()
    /// Commits since the last check of pages, and since somebody else's changes of the files were found to be harmless.
    private var unchecked: UInt64 = 0
    private var trusted: UInt64 = 0
    /// Whether somebody else wrote to the files, and no check has shown yet that they are in order.
    private var isSuspect = false

    /// The work that has been taken and not done.
    private(set) var waiting: WaitingJournalWork
    /// Set if the file is damaged: nothing more is written, and the store has to be replaced.
    private var damage: SQLiteFailure?
    /// Whether the last commit failed.
    private var isFailing = false

    /// - Parameters:
    ///   - unfit: unreadable rows with the reason. They are set aside first.
    ///   - damaged: the calls among these, as records that end them.
    ///   - waiting: the work that a former store left.
    init(
        store: Store, mailbox: JournalMailbox, limits: JournalLimits, unfit: [String: String], damaged: [CallRecord],
        waiting: WaitingJournalWork
    ) {
        self.store = store
        reader = StoreReader(store: store)
        self.mailbox = mailbox
        self.limits = limits
        self.waiting = waiting
        lists = ListWorker(store: store, mailbox: mailbox, limits: limits)
        copies = CopyWorker(store: store, mailbox: mailbox, limits: limits)
        upkeep = StoreUpkeep(limits: limits)
        room = StoreRoom(of: store)
        lists.take(waiting.lists)
        self.waiting.lists = []
        for (path, reason) in unfit { self.waiting.records.setAside(path, reason: reason, limits: limits) }
        for call in damaged { self.waiting.records.merge(RevisedCall(record: call, revision: 1), limits: limits) }
        if !unfit.isEmpty || self.waiting.records.count > 0 { self.waiting.isUrgent = true }
        beginRekeying()
        publishStatistics()
    }

    /// Works until it is asked to close, or until the store has to be replaced.
    /// - Returns: what is wrong with the store; nil if it was closed.
    func run() -> String? {
        while !waiting.isClosing, damage == nil {
            take(waiting: false)
            // A sender that keeps the journal busy must not make it grow without limit.
            if upkeep.isOverfull(store) { _ = tidy() }
            if !waiting.backlog.isEmpty || waiting.isUrgent {
                workOff()
                // Alternate, so that neither waits for long, and a push waits for at most one step.
                _ = (workOnLists(), copies.work())
            } else if !workOnLists(), !copies.work(), !tidy(), damage == nil {
                take(waiting: true)
            }
        }
        close()
        return waiting.isClosing ? nil : damage?.text
    }

    private func take(waiting isWaiting: Bool) {
        let submission = mailbox.takeWork(waiting: isWaiting)
        lists.take(submission.lists)
        if let keys = submission.keys {
            store.vault.use(keys)
            beginRekeying()
        }
        var rest = submission
        (rest.lists, rest.keys) = ([], nil)
        mailbox.answer(waiting.take(rest, limits: limits))
        lists.collectFindings()
        publishFindings()
    }

    /// Processes the next part of the backlog: one transaction, or one read.
    private func workOff() {
        let batch = waiting.backlog.prefix(limits.maximumBatch).prefix { $0.isWrite }
        // Work that was submitted before a read is written before it.
        if !batch.isEmpty || waiting.isUrgent || (waiting.records.count > 0 && !waiting.backlog.isEmpty) {
            waiting.backlog.removeFirst(batch.count)
            commit(batch)
            if !batch.isEmpty { return }
        }
        guard damage == nil, let work = waiting.backlog.popFirst() else { return }
        switch work {
        case .readPushes(let ticket, let query):
            read({ () throws(SQLiteFailure) in try reader.pushes(query) }) { .pushes(ticket: ticket, $0) }
        case .readCalls(let ticket, let query):
            read({ () throws(SQLiteFailure) in try reader.calls(query) }) { .calls(ticket: ticket, $0) }
        case .readMail(let ticket, let keys):
            read({ () throws(SQLiteFailure) in .init(values: try store.links.payloads(keys)) }) {
                .mail(ticket: ticket, $0)
            }
        case .readReport(let ticket):
            read({ () throws(SQLiteFailure) in .init(values: try store.report()) }) { .report(ticket: ticket, $0) }
        case .readProtected(let ticket, let since):
            read({ () throws(SQLiteFailure) in .init(values: try reader.protected(since: since)) }) {
                .protected(ticket: ticket, $0)
            }
        case .copy(let number, let path): copies.start(path, number: number)
        case .cancelCopy: copies.cancel()
        case .close: waiting.isClosing = true
        case .push, .ring, .keep, .barrier, .correctTimes, .link: break
        }
    }

    // MARK: - Writing

    private func commit(_ batch: ArraySlice<JournalWork>) {
        waiting.isUrgent = false
        var answers: [JournalAnswer] = []
        answers.reserveCapacity(batch.count + 1)
        var failure = damage.map { StoreError.of($0, path: store.path) }
        let changesBefore = store.connection.totalChanges
        if failure == nil {
            do throws(SQLiteFailure) {
                try lookForStrangers()
                try makeRoomInLog()
                answers = try room.making { () throws(SQLiteFailure) in
                    try BatchWrite(store: store, records: waiting.records).write(batch)
                }
                // A commit to a store that was moved away is durable, but lost.
                if store.file.bytes == nil { failure = StoreError.moved(store.path) }
            } catch {
                failure = StoreError.of(error, path: store.path)
                if error.isDamage { damage = error }
            }
        }
        noteRemoved()
        if let failure {
            waiting.statistics.failedCommits += 1
            answers = batch.compactMap { $0.answer(failing: failure) }
        } else {
            waiting.records.removeAll(keepingCapacity: waiting.records.count <= limits.maximumBatch)
        }
        // A transaction that changes nothing, such as for a repeated push, does not show that the disk works.
        let isShown = failure != nil || store.connection.totalChanges != changesBefore
        if isShown, failure == nil { countCommit() }
        if isShown { isFailing = failure != nil }
        publishStatistics()
        mailbox.answer((isShown ? [.committed(failure, waitingRecords: waiting.records.count)] : []) + answers)
        if failure == nil, store.connection.logPages >= limits.largeLogPages { moveLog() }
        upkeep.isDue = failure == nil
        if failure == nil { keepRoom() }
    }

    /// Before anything is built on it: whether somebody else wrote to the store or its log. Their times show it, and
    /// then all is read. A check that fails is made again: work that fails meanwhile is noted as ours.
    private func lookForStrangers() throws(SQLiteFailure) {
        guard trusted == 0, isSuspect || !store.file.isUntouched else { return }
        isSuspect = true
        try StoreCheck.all(store.connection)
        isSuspect = false
        // Times that a file server changes by itself must not cost this much again for each commit.
        trusted = StoreCheck.interval
    }

    /// A log that cannot be moved into the store must not grow without limit.
    private func makeRoomInLog() throws(SQLiteFailure) {
        guard store.connection.logPages >= Self.refusedLogs * limits.largeLogPages else { return }
        try store.checkpoint()
    }

    /// Reports the history that gave way to what is new.
    private func noteRemoved() {
        let removed = room.takeRemoved()
        guard removed > 0 else { return }
        waiting.statistics.gaveWay += removed
        mailbox.answer([.gaveWay(removed)])
    }

    private func keepRoom() {
        guard damage == nil else { return }
        do throws(SQLiteFailure) {
            try room.keep()
        } catch {
            report(error)
        }
        noteRemoved()
    }

    // MARK: - Lists of callers

    /// Takes one step of the requests on lists.
    /// - Returns: false if there is nothing to do.
    private func workOnLists() -> Bool {
        guard lists.hasWork, damage == nil else { return false }
        let changesBefore = store.connection.totalChanges
        do throws(SQLiteFailure) {
            try lookForStrangers()
            try makeRoomInLog()
            let isTaken =
                try rekeying.isDueForLists ? rekey() : lists.step(lock: rekeying.lockOfLists) == .taken
            guard isTaken else { return false }
        } catch {
            let failure = StoreError.of(error, path: store.path)
            if error.isDamage { damage = error }
            // Otherwise each request would try the disk again.
            lists.failAll(failure)
            waiting.statistics.failedCommits += 1
            isFailing = true
            publishStatistics()
            mailbox.answer([.committed(failure, waitingRecords: waiting.records.count)] + lists.takeAnswers())
            return true
        }
        guard store.connection.totalChanges != changesBefore else {
            publishFindings()
            mailbox.answer(lists.takeAnswers())
            return true
        }
        countCommit()
        publishStatistics()
        let news: [JournalAnswer] = isFailing ? [.committed(nil, waitingRecords: waiting.records.count)] : []
        isFailing = false
        mailbox.answer(news + lists.takeAnswers())
        if store.connection.logPages >= limits.largeLogPages { moveLog() }
        upkeep.isDue = true
        return true
    }

    // MARK: - Reading

    private func read<Value>(
        _ body: () throws(SQLiteFailure) -> StoreReader.Reading<Value>,
        answer: (Result<Value, RingwakeError>) -> JournalAnswer
    ) {
        do throws(SQLiteFailure) {
            let reading = try body()
            publishFindings()
            let complaint: [JournalAnswer] = reading.unreadable > 0 ? [.unreadable(rows: reading.unreadable)] : []
            mailbox.answer(complaint + [answer(.success(reading.values))])
        } catch {
            if error.isDamage { damage = error }
            mailbox.answer([answer(.failure(StoreError.of(error, path: store.path)))])
        }
    }

    // MARK: - Upkeep

    /// Takes one small step, if one is due.
    /// - Returns: false if there is nothing to do until the next commit.
    private func tidy() -> Bool {
        guard upkeep.isDue, damage == nil else { return false }
        do throws(SQLiteFailure) {
            try lookForStrangers()
            var isBusy = try rekey()
            if !isBusy { isBusy = try upkeep.step(store) }
            if isBusy {
                waiting.statistics.commits += 1
                publishStatistics()
                if store.connection.logPages >= limits.largeLogPages { moveLog() }
                return true
            }
            try checkPages()
        } catch {
            report(error)
        }
        upkeep.isDue = false
        if store.connection.logPages >= limits.smallLogPages { moveLog() }
        return false
    }

    private func beginRekeying() {
        do throws(SQLiteFailure) {
            try rekeying.begin(store)
            upkeep.isDue = upkeep.isDue || rekeying.isDue
            if rekeying.isComplete { answerRekeyed() }
        } catch {
            report(error)
        }
    }

    /// - Returns: false if there is nothing to do.
    private func rekey() throws(SQLiteFailure) -> Bool {
        guard rekeying.isDue else { return false }
        try rekeying.step(store)
        if rekeying.isComplete { answerRekeyed() }
        return true
    }

    private func answerRekeyed() {
        let counts = rekeying.takeCounts()
        mailbox.answer([.rekeyed(rows: counts.written, removed: counts.removed, keys: store.vault.ring)])
    }

    /// Checks some pages of the store if enough was written since the last time.
    private func checkPages() throws(SQLiteFailure) {
        guard unchecked >= StoreCheck.interval else { return }
        unchecked = 0
        try store.checkpoint()
        try check.somePages(store.connection)
    }

    private func moveLog() {
        do throws(SQLiteFailure) {
            try store.checkpoint()
        } catch {
            report(error)
        }
    }

    private func report(_ failure: SQLiteFailure) {
        if failure.isDamage { damage = failure }
        publishStatistics()
        mailbox.answer([.untidy(StoreError.of(failure, path: store.path))])
    }

    private func countCommit() {
        (waiting.statistics.commits, unchecked) = (waiting.statistics.commits + 1, unchecked + 1)
        trusted -= min(trusted, 1)
    }

    private func publishStatistics() {
        waiting.statistics.pushes = store.pushCount
        waiting.statistics.calls = store.callCount
        waiting.statistics.states = store.states.count
        (waiting.statistics.rekeyed, waiting.statistics.toRekey) =
            rekeying.isDue ? (rekeying.looked, rekeying.total) : (0, 0)
        waiting.statistics.bytes = store.file.bytes ?? waiting.statistics.bytes
        mailbox.statistics = waiting.statistics
        publishFindings()
    }

    /// Also what a look that wrote nothing has shown.
    private func publishFindings() {
        let (former, findings) = (waiting.statistics.findings, store.vault.findings)
        guard findings != former else { return }
        waiting.statistics.findings = findings
        mailbox.statistics = waiting.statistics
        mailbox.answer([.found(findings, former: former)])
    }

    /// Writes the records that nobody waits for, and moves the log into the store: the seal then needs none.
    private func close() {
        lists.close()
        copies.close()
        mailbox.answer(lists.takeAnswers())
        if waiting.records.count > 0, damage == nil { commit([]) }
        do throws(SQLiteFailure) {
            if damage == nil { try store.checkpoint() }
        } catch {
            damage = error
        }
        if damage != nil { store.connection.leaveLogAtClose() }
    }
}
