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
    private var upkeep: StoreUpkeep
    private var statistics = JournalStatistics()

    /// The waiting work, in order; work before `position` is done.
    private var backlog: [JournalWork] = []
    private var position = 0
    /// The newest records that have not been committed, and whether they need a commit now.
    private var pending = JournalRecords()
    private var isUrgent = false
    /// Set if the file is damaged: nothing more is written, and all work fails with this error.
    private var damage: RingwakeError?
    private var isClosing = false
    /// Whether the last commit failed.
    private var isFailing = false

    /// - Parameters:
    ///   - unfit: unreadable rows with the reason. They are set aside first.
    ///   - damaged: the calls among these, as records that end them.
    init(
        store: Store, mailbox: JournalMailbox, limits: JournalLimits, unfit: [String: String], damaged: [CallRecord]
    ) {
        self.store = store
        reader = StoreReader(store: store)
        self.mailbox = mailbox
        self.limits = limits
        lists = ListWorker(store: store, mailbox: mailbox, limits: limits)
        upkeep = StoreUpkeep(limits: limits)
        for (path, reason) in unfit { pending.setAside(path, reason: reason, limits: limits) }
        for call in damaged { pending.merge(RevisedCall(record: call, revision: 1), limits: limits) }
        isUrgent = !unfit.isEmpty
        publishStatistics()
    }

    /// Works until it is asked to close.
    func run() {
        while !isClosing {
            take()
            // A sender that keeps the journal busy must not make it grow without limit.
            if upkeep.isOverfull(store) { _ = tidy() }
            if position < backlog.count || isUrgent {
                workOff()
                // Alternate, so that neither waits for long, and a push waits for at most one step.
                _ = workOnLists()
            } else if !workOnLists(), !tidy() {
                mailbox.waitForWork()
            }
        }
        close()
    }

    private func take() {
        let submission = mailbox.takeWork()
        backlog.removeFirst(position)
        position = 0
        backlog += submission.work
        lists.take(submission.lists)
        pending.merge(submission.records, limits: limits)
        isUrgent = isUrgent || submission.isUrgent
        mailbox.answer(pending.takeDropped())
    }

    /// Processes the next part of the backlog: one transaction, or one read.
    private func workOff() {
        let batch = backlog[position...].prefix(limits.maximumBatch).prefix { $0.isWrite }
        // Work that was submitted before a read is written before it.
        if !batch.isEmpty || isUrgent || (pending.count > 0 && position < backlog.count) {
            commit(batch)
            position += batch.count
            if !batch.isEmpty { return }
        }
        guard position < backlog.count else { return }
        let work = backlog[position]
        position += 1
        switch work {
        case .readPushes(let ticket, let query):
            read({ () throws(SQLiteFailure) in try reader.pushes(query) }) { .pushes(ticket: ticket, $0) }
        case .readCalls(let ticket, let query):
            read({ () throws(SQLiteFailure) in try reader.calls(query) }) { .calls(ticket: ticket, $0) }
        case .close:
            isClosing = true
        case .push, .ring, .keep, .barrier:
            break
        }
    }

    // MARK: - Writing

    private func commit(_ batch: ArraySlice<JournalWork>) {
        isUrgent = false
        var answers: [JournalAnswer] = []
        answers.reserveCapacity(batch.count + 1)
        var failure = damage
        let changesBefore = store.connection.totalChanges
        if failure == nil {
            do throws(SQLiteFailure) {
                try makeRoomInLog()
                answers = try write(batch)
                // A commit to a store that was moved away is durable, but lost.
                if store.file.bytes() == nil { failure = StoreError.moved(store.path) }
            } catch {
                failure = StoreError.of(error, path: store.path)
                if error.isDamage { damage = failure }
            }
        }
        if let failure {
            statistics.failedCommits += 1
            answers = batch.compactMap { $0.answer(failing: failure) }
        } else {
            pending.removeAll(keepingCapacity: pending.count <= limits.maximumBatch)
        }
        // A transaction that changes nothing, such as for a repeated push, does not show that the disk works.
        let isShown = failure != nil || store.connection.totalChanges != changesBefore
        if isShown, failure == nil { statistics.commits += 1 }
        if isShown { isFailing = failure != nil }
        publishStatistics()
        mailbox.answer((isShown ? [.committed(failure, waitingRecords: pending.count)] : []) + answers)
        if failure == nil, store.connection.logPages >= limits.largeLogPages { moveLog() }
        upkeep.isDue = failure == nil
    }

    /// One transaction with all of `batch` and the waiting records.
    private func write(_ batch: ArraySlice<JournalWork>) throws(SQLiteFailure) -> [JournalAnswer] {
        var answers: [JournalAnswer] = []
        var written: [Int64: UInt64] = [:]
        var keptStates: [String: UInt64] = [:]
        var droppedStates = 0
        let times = store.writingTimes()
        try store.transaction { () throws(SQLiteFailure) in
            for (path, reason) in pending.asides where try store.states.setAside(path, reason: reason, times: times) {
                answers.append(.setAside(path: path, reason: reason))
            }
            for work in batch {
                switch work {
                case .push(let ticket, let push, let payloads, let call):
                    let appended = try store.append(push, payloads: payloads, call: call?.record, times: times)
                    if let call, appended.wroteCall { written[call.record.number] = call.revision }
                    answers.append(.push(ticket: ticket, .success(appended.verdict)))
                case .ring(let ticket, let call):
                    let verdict = try store.appendRing(call.record, times: times)
                    if verdict == .recorded { written[call.record.number] = call.revision }
                    answers.append(.ring(ticket: ticket, .success(verdict)))
                case .keep(let ticket, let state):
                    let isKept = try store.states.keep(state, times: times)
                    if isKept { keptStates[state.path] = state.revision }
                    let error = StoreError.fullOfState(store.path)
                    answers.append(.kept(ticket: ticket, isKept ? .success(()) : .failure(error)))
                case .barrier(let ticket): answers.append(.kept(ticket: ticket, .success(())))
                case .readPushes, .readCalls, .close: break
                }
            }
            for (number, call) in pending.calls where call.revision > written[number] ?? 0 {
                try store.write(call.record, times: times)
            }
            for (path, state) in pending.states where state.revision > keptStates[path] ?? 0 {
                if try !store.states.keep(state, times: times) { droppedStates += 1 }
            }
        }
        if droppedStates > 0 { answers.append(.droppedStates(droppedStates)) }
        return answers
    }

    /// A log that cannot be moved into the store must not grow without limit.
    private func makeRoomInLog() throws(SQLiteFailure) {
        guard store.connection.logPages >= Self.refusedLogs * limits.largeLogPages else { return }
        try store.connection.checkpoint()
    }

    // MARK: - Lists of callers

    /// Takes one step of the requests on lists.
    /// - Returns: false if there is nothing to do.
    private func workOnLists() -> Bool {
        guard lists.hasWork else { return false }
        if let damage {
            lists.failAll(damage)
            mailbox.answer(lists.takeAnswers())
            return false
        }
        let changesBefore = store.connection.totalChanges
        do throws(SQLiteFailure) {
            try makeRoomInLog()
            guard try lists.step() == .taken else { return false }
        } catch {
            let failure = StoreError.of(error, path: store.path)
            if error.isDamage { damage = failure }
            // Otherwise each request would try the disk again.
            lists.failAll(failure)
            statistics.failedCommits += 1
            isFailing = true
            publishStatistics()
            mailbox.answer([.committed(failure, waitingRecords: pending.count)] + lists.takeAnswers())
            return true
        }
        guard store.connection.totalChanges != changesBefore else {
            mailbox.answer(lists.takeAnswers())
            return true
        }
        statistics.commits += 1
        publishStatistics()
        let news: [JournalAnswer] = isFailing ? [.committed(nil, waitingRecords: pending.count)] : []
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
            let complaint: [JournalAnswer] = reading.unreadable > 0 ? [.unreadable(rows: reading.unreadable)] : []
            mailbox.answer(complaint + [answer(.success(reading.values))])
        } catch {
            mailbox.answer([answer(.failure(StoreError.of(error, path: store.path)))])
        }
    }

    // MARK: - Upkeep

    /// Takes one small step, if one is due.
    /// - Returns: false if there is nothing to do until the next commit.
    private func tidy() -> Bool {
        guard upkeep.isDue, damage == nil else { return false }
        do throws(SQLiteFailure) {
            if try upkeep.step(store) {
                statistics.commits += 1
                publishStatistics()
                if store.connection.logPages >= limits.largeLogPages { moveLog() }
                return true
            }
        } catch {
            report(error)
        }
        upkeep.isDue = false
        if store.connection.logPages >= limits.smallLogPages { moveLog() }
        return false
    }

    private func moveLog() {
        do throws(SQLiteFailure) {
            try store.connection.checkpoint()
        } catch {
            report(error)
        }
    }

    private func report(_ failure: SQLiteFailure) {
        let error = StoreError.of(failure, path: store.path)
        if failure.isDamage { damage = error }
        mailbox.answer([.untidy(error)])
    }

    private func publishStatistics() {
        statistics.pushes = store.pushCount
        statistics.calls = store.callCount
        statistics.states = store.states.count
        statistics.bytes = store.file.bytes() ?? statistics.bytes
        mailbox.statistics = statistics
    }

    /// Writes the waiting records; no completion waits for them. The log is moved into the store when the connection
    /// closes.
    private func close() {
        lists.close()
        mailbox.answer(lists.takeAnswers())
        if pending.count > 0 { commit([]) }
    }
}

nonisolated extension JournalWork {
    /// Whether it is committed together with others.
    fileprivate var isWrite: Bool {
        switch self {
        case .push, .ring, .keep, .barrier: true
        case .readPushes, .readCalls, .close: false
        }
    }

    /// The answer if its transaction failed.
    fileprivate func answer(failing error: RingwakeError) -> JournalAnswer? {
        switch self {
        case .push(let ticket, _, _, _): .push(ticket: ticket, .failure(error))
        case .ring(let ticket, _): .ring(ticket: ticket, .failure(error))
        case .keep(let ticket, _), .barrier(let ticket): .kept(ticket: ticket, .failure(error))
        case .readPushes(let ticket, _): .pushes(ticket: ticket, .failure(error))
        case .readCalls(let ticket, _): .calls(ticket: ticket, .failure(error))
        case .close: nil
        }
    }
}
