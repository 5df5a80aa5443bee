package import DataProtection
package import Logging
package import RingwakeCore
package import RunLoop
package import StoreMigration

/// The durable memory of the daemon: each push that was answered with 200, and the state of each call.
///
///     let journal = try PushJournal(directory: "/var/lib/ringwake", runLoop: loop, logger: logger, clocks: clocks)
///     recover(journal.takeContents())
///     journal.append(push, payloads: payloads, call: record) { result in answer(result) }
///     journal.write(record, .withNext)
///     journal.close()
///
/// The journal is one SQLite file. One thread owns the only connection to it. The work of one turn of the loop is
/// submitted together, and the thread writes all waiting work in one transaction. So under load there are fewer commits
/// per push. Results are delivered on the loop. A failed transaction is rolled back completely.
package final class PushJournal {
    /// Whether the journal can write.
    package internal(set) var health = JournalHealth.working
    /// The store's file.
    package var path: String { directory + "/" + StoreFile.name }
    /// Whether the store has been opened. Until then the journal fails, and tries again with each new piece of work and
    /// after a while.
    package internal(set) var isOpen = false
    /// Called when a store that could not be opened at first has been opened: ``takeContents()`` has its contents.
    package var onOpened: (() -> Void)?
    /// Called when the journal begins to fail, and when it works again.
    package var onHealthChange: ((JournalHealth) -> Void)?
    /// Called when all records have the present key of their class, so that former keys can go.
    package var onRekeyed: ((KeyRing) -> Void)?
    /// Called before the work of a turn of the loop is submitted. Use it for rows that depend only on the state at the
    /// end of the turn and would otherwise be written after each event.
    package var beforeSubmission: (() -> Void)?

    let runLoop: RunLoop
    let logger: Logger
    let limits: JournalLimits
    let clocks: JournalClocks
    let directory: String
    let mailbox: JournalMailbox
    let thread: JournalThread
    private var source: ReadinessSource?

    var contents: JournalContents?
    /// While the store is being migrated.
    var migration: MigrationProgress?
    var copyRequest = CopyRequest()
    /// The work of the current turn of the loop.
    var gathered = JournalSubmission()
    private var isSubmissionScheduled = false
    private var hasSubmittedInTurn = false
    /// When what is to be written ``WriteUrgency/soon`` gets its own commit.
    private var soonTimer: Timer?
    var waiting = WaitingWork()
    private var lastRevision: UInt64 = 0
    /// Answers that have been received but not all processed.
    var answers: [JournalAnswer] = []
    var nextAnswer = 0
    var isUntidy = false
    /// Whether it was logged that history gives way; once a run.
    var hasGivenWay = false
    let timeouts: JournalTimeouts
    private(set) var isClosed = false
    var hasEnded = false

    /// Opens or creates `store.db` in `directory` on the journal's own thread, and waits until that is done or has failed.
    /// - Parameters:
    ///   - directory: the journal's directory. Nothing else may write to it.
    ///   - vfs: the name of SQLite's file layer; nil for the default. For tests.
    ///   - versions: the versions of the store; nil for this program's. For tests.
    ///   - keys: of what is protected, as far as they are available at the start.
    /// - Throws: what a person has to mend: `conflict` if a newer version wrote the store, `inUse` if another process has
    ///   it, `system` if its path or its owner is wrong. The store is then unchanged. If the disk fails, ``isOpen`` is
    ///   false.
    package init(
        directory: String, runLoop: RunLoop, logger: Logger, limits: JournalLimits = JournalLimits(),
        clocks: JournalClocks, vfs: String? = nil, versions: StoreVersions? = nil, keys: KeyRing = .off
    ) throws(RingwakeError) {
        self.directory = directory
        self.runLoop = runLoop
        self.logger = logger
        self.limits = limits
        self.clocks = clocks
        timeouts = JournalTimeouts(runLoop: runLoop, maximumSilence: limits.maximumSilence)
        mailbox = try JournalMailbox()
        thread = try JournalThread(
            JournalThread.Order(
                directory: directory, vfs: vfs, limits: limits, clocks: clocks, versions: versions ?? StoreModels.all,
                keys: keys, mailbox: mailbox))
        do throws(RingwakeError) {
            try waitUntilOpen()
            source = try watchAnswers()
        } catch {
            leaveThread()
            throw error
        }
        if nextAnswer < answers.count { runLoop.enqueue { [weak self] in self?.deliverAnswers() } }
    }

    isolated deinit {
        source?.cancel()
        if !isClosed { leaveThread() }
    }

    // MARK: - Work

    /// The contents from the last run. Read them once, when the store is open.
    /// - Returns: the contents on the first call; an empty value later.
    package func takeContents() -> JournalContents {
        defer { contents = nil }
        return contents ?? JournalContents(open: [], recent: [], nextCallNumber: 1, newestWallClock: nil)
    }

    /// False while the queue for the disk is full, or while the disk does not answer. Further work then fails with
    /// `limitReached`.
    package var hasRoom: Bool {
        waiting.pushes < limits.maximumWaiting && waiting.bytes < limits.maximumWaitingBytes && !timeouts.isSilent
    }

    /// Whether the disk does not answer.
    package var isSilent: Bool { timeouts.isSilent }

    /// Why there is no room, for a person.
    package var complaint: String {
        if case .failing(_, let error) = health { return error.message }
        return fullError.message
    }

    /// The size of the journal, and counters of its work.
    package var statistics: JournalStatistics { mailbox.statistics }

    /// Makes a push durable.
    /// - Parameters:
    ///   - payloads: the payloads of the call's pushes that the journal may not have. They are kept until the call has
    ///     ended.
    ///   - call: written in the same transaction, unless the journal already has that call.
    ///   - replaced: a call that has ended because the push took its place. It is written in the same transaction.
    ///   - completion: called later, from the loop: when the push is durable, or with the error. After an error the
    ///     journal has no part of it.
    package func append(
        _ push: PushRecord, payloads: [CallPayload], call: CallRecord?, replaced: CallRecord? = nil,
        completion: @escaping (Result<PushVerdict, RingwakeError>) -> Void
    ) {
        guard !isClosed, hasRoom else {
            let error = isClosed ? closedError : fullError
            return runLoop.enqueue { completion(.failure(error)) }
        }
        let ticket = waiting.addPush(bytes: payloads.reduce(0) { $0 + $1.bytes.count }, completion)
        submit(
            .push(
                ticket: ticket, push, payloads: payloads, call: call.map(revised), replaced: replaced.map(revised)))
    }

    /// Records durably that a call rings; its state is `confirmed`.
    package func appendRing(
        _ call: CallRecord, completion: @escaping (Result<RingVerdict, RingwakeError>) -> Void
    ) {
        guard !isClosed, !isSilent else {
            let error = isClosed ? closedError : silentError
            return runLoop.enqueue { completion(.failure(error)) }
        }
        submit(.ring(ticket: waiting.addRing(completion), revised(call)))
    }

    /// Writes the record of a call; it replaces all earlier ones. If the commit fails, the record is written with the
    /// next one. Only `append` adds a call that has neither rung nor ended. Until that has succeeded, the record of
    /// such a call changes nothing.
    package func write(_ call: CallRecord, _ urgency: WriteUrgency) {
        guard !isClosed else { return }
        gathered.records.merge(revised(call), limits: limits)
        require(urgency)
    }

    /// Waits for the disk.
    /// - Parameter completion: called later, from the loop: when all earlier work is durable, or with the error.
    package func barrier(completion: @escaping (Result<Void, RingwakeError>) -> Void) {
        guard !isClosed else {
            let error = closedError
            return runLoop.enqueue { completion(.failure(error)) }
        }
        submit(.barrier(ticket: waiting.addState(bytes: 0, completion)))
    }

    /// Corrects what a clock that was ahead has written.
    /// - Parameters:
    ///   - wall: the right time, in milliseconds since 1970. Pushes and calls that arrived later count as of then.
    ///   - completion: called later, from the loop: when that is durable, or with the error.
    package func correctTimes(_ wall: Int64, completion: @escaping (Result<Void, RingwakeError>) -> Void) {
        guard !isClosed else {
            let error = closedError
            return runLoop.enqueue { completion(.failure(error)) }
        }
        submit(.correctTimes(ticket: waiting.addState(bytes: 0, completion), wall: wall))
    }

    /// Reads pushes, the newest first, after all earlier work has been written or has failed.
    /// - Parameter completion: called later, from the loop.
    package func pushes(
        _ query: PushQuery, completion: @escaping (Result<[JournaledPush], RingwakeError>) -> Void
    ) {
        guard !isClosed, waiting.reads < limits.maximumWaitingReads else {
            let error = isClosed ? closedError : readsError
            return runLoop.enqueue { completion(.failure(error)) }
        }
        submit(.readPushes(ticket: waiting.addRead(completion), query))
    }

    /// Reads calls, the newest first, after all earlier work has been written or has failed.
    /// - Parameter completion: called later, from the loop.
    package func calls(
        _ query: CallQuery, completion: @escaping (Result<[JournaledCall], RingwakeError>) -> Void
    ) {
        guard !isClosed, waiting.reads < limits.maximumWaitingReads else {
            let error = isClosed ? closedError : readsError
            return runLoop.enqueue { completion(.failure(error)) }
        }
        submit(.readCalls(ticket: waiting.addRead(completion), query))
    }

    /// Says what the store is and holds.
    /// - Parameter completion: called later, from the loop.
    package func report(completion: @escaping (Result<StoreReport, RingwakeError>) -> Void) {
        guard !isClosed, waiting.reads < limits.maximumWaitingReads else {
            let error = isClosed ? closedError : readsError
            return runLoop.enqueue { completion(.failure(error)) }
        }
        submit(.readReport(ticket: waiting.addRead(completion)))
    }

    /// Replaces the keys of what is protected. What the new ring lacks is overwritten in memory as soon as the journal's
    /// thread has ended its present step. Records that have other keys than the present ones of their classes are written
    /// again while nothing else is to do; ``onRekeyed`` then says so.
    package func use(_ keys: KeyRing) {
        guard !isClosed else { return }
        gathered.keys = keys
        scheduleSubmission()
    }

    /// Reads what is protected, after the keys of ``use(_:)`` are in force.
    /// - Parameters:
    ///   - since: the number of the first call that has ended and is wanted; nil: none is.
    ///   - completion: called later, from the loop.
    package func readProtected(
        since: Int64?, completion: @escaping (Result<ProtectedRows, RingwakeError>) -> Void
    ) {
        guard !isClosed, waiting.reads < limits.maximumWaitingReads else {
            let error = isClosed ? closedError : readsError
            return runLoop.enqueue { completion(.failure(error)) }
        }
        submit(.readProtected(ticket: waiting.addRead(completion), since: since))
    }

    /// Copies the store into an empty file while pushes go on. The copy is what the store is when it is finished. It isn't
    /// synced.
    /// - Parameters:
    ///   - progress: called with the percentage, from the loop.
    ///   - completion: called later, from the loop. `inUse` if a copy is already being made.
    package func copy(
        to path: String, progress: @escaping (Int) -> Void, completion: @escaping (Result<Void, RingwakeError>) -> Void
    ) {
        guard !isClosed, !copyRequest.isOpen else {
            let error =
                isClosed
                ? closedError : RingwakeError(.inUse, "the store is being copied already; wait until that has ended.")
            return runLoop.enqueue { completion(.failure(error)) }
        }
        submit(.copy(number: copyRequest.open(progress: progress, completion: completion), path))
    }

    /// Gives up the copy: `completion` isn't called. The file is worthless then.
    package func cancelCopy() {
        guard !isClosed, copyRequest.close() != nil else { return }
        submit(.cancelCopy)
    }

    /// Writes waiting work, closes the store and ends the thread. All completions are called before it returns. It
    /// waits for the disk for at most `JournalLimits.maximumClosing`, and logs an error if that was not enough. Later
    /// work fails. Idempotent.
    package func close() {
        guard !isClosed else { return }
        submit(.close)
        submitGathered()
        isClosed = true
        let deadline = BootClock.now().advanced(by: limits.maximumClosing)
        repeat {
            deliverAnswers()
        } while !hasEnded && Self.waitForAnswers(mailbox, until: deadline)
        source?.cancel()
        if hasEnded {
            thread.join()
        } else {
            thread.abandon()
            logger.error("journal not closed: the disk does not answer", metadata: ["path": "\(directory)"])
        }
        for notify in waiting.takeAll(failing: silentError) { notify() }
    }
}

// MARK: - Submitting

extension PushJournal {
    func nextRevision() -> UInt64 {
        lastRevision += 1
        return lastRevision
    }

    private func revised(_ call: CallRecord) -> RevisedCall {
        RevisedCall(record: call, revision: nextRevision())
    }

    func submit(_ work: JournalWork) {
        gathered.work.append(work)
        scheduleSubmission()
    }

    /// Submits the work of this turn of the loop at its end, with what ``beforeSubmission`` adds.
    func scheduleSubmission() {
        guard !isSubmissionScheduled else { return }
        isSubmissionScheduled = true
        // Before the turn's notifications, so that the end of a call reaches the disk soon after it is reported.
        runLoop.enqueue { [weak self] in self?.submitGathered() }
    }

    /// Submits at once what would be submitted at the end of the turn, so that the disk works meanwhile. Only once in each
    /// turn: what ``beforeSubmission`` adds would be made anew for each push of a burst.
    package func submitNow() {
        guard !isClosed, !hasSubmittedInTurn else { return }
        hasSubmittedInTurn = true
        runLoop.enqueue { [weak self] in self?.hasSubmittedInTurn = false }
        submitGathered()
    }

    private func submitGathered() {
        isSubmissionScheduled = false
        guard !gathered.work.isEmpty || !gathered.lists.isEmpty || gathered.isUrgent || gathered.keys != nil else {
            return
        }
        beforeSubmission?()
        if let timer = soonTimer {
            runLoop.cancel(timer)
            soonTimer = nil
            gathered.isUrgent = true
        }
        mailbox.submit(gathered, limits: limits)
        gathered = JournalSubmission()
        expectAnswer()
    }

    /// Sees to it that what was gathered, and what ``beforeSubmission`` adds, is written in time.
    package func require(_ urgency: WriteUrgency) {
        guard !isClosed else { return }
        switch urgency {
        case .withNext: return
        case .now:
            gathered.isUrgent = true
            scheduleSubmission()
        case .soon:
            guard soonTimer == nil else { return }
            soonTimer = runLoop.schedule(
                at: runLoop.now.advanced(by: WriteUrgency.soonDelay), tolerance: WriteUrgency.soonDelay
            ) { [weak self] in
                self?.soonTimer = nil
                self?.require(.now)
            }
        }
    }

    /// Only for work with a completion. Writing a record may change nothing, and then there is no answer.
    func expectAnswer() {
        guard !waiting.isEmpty, !isClosed else { return }
        timeouts.expectAnswer { [weak self] in
            guard let self, !self.isClosed else { return }
            self.note(self.silentError)
        }
    }

    var fullError: RingwakeError {
        RingwakeError(.limitReached, "\(waiting.pushes) pushes wait for the disk of \(directory); try again later.")
    }

    var readsError: RingwakeError {
        RingwakeError(.limitReached, "\(waiting.reads) reads wait for the disk of \(directory); try again later.")
    }

    var closedError: RingwakeError {
        RingwakeError(.failed, "the journal is closed, because the daemon ends; try again later.")
    }

    var silentError: RingwakeError {
        RingwakeError(.timedOut, "the disk of \(directory) does not answer; look into the kernel's log.")
    }
}

extension WakeupCause {
    /// The journal's thread has answered.
    package static let journal = WakeupCause("journal")
}
