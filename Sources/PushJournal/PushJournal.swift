package import Logging
package import RingwakeCore
package import RunLoop

/// The durable memory of the daemon: each push that was answered 200, and where each call stands.
///
///     let journal = try PushJournal(directory: "/var/lib/ringwake", runLoop: loop, logger: logger, clocks: clocks)
///     recover(journal.takeContents())
///     journal.append(push, payloads: payloads, call: record) { result in answer(result) }
///     journal.write(record, .withNext)
///     journal.close()
///
/// One SQLite file behind one thread, which owns the only connection to it. The work of one turn of the loop is
/// submitted together, and the thread takes all that waits into one transaction: so the more waits, the fewer times the
/// disk is asked. Results come back on the loop. A transaction that fails is rolled back whole.
package final class PushJournal {
    /// Whether the journal can write.
    package internal(set) var health = JournalHealth.working
    /// The store's file.
    package var path: String { directory + "/" + StoreFile.name }
    /// Called when it begins to fail, and when it works again.
    package var onHealthChange: ((JournalHealth) -> Void)?
    /// Called before the work of a turn of the loop is submitted: the time for what is made of the turn's end alone, and
    /// would else be made again with each of its events.
    package var beforeSubmission: (() -> Void)?

    let runLoop: RunLoop
    let logger: Logger
    let limits: JournalLimits
    let clocks: JournalClocks
    let directory: String
    let mailbox: JournalMailbox
    let thread: JournalThread
    private var source: ReadinessSource?

    private var contents: JournalContents?
    /// The work of this turn of the loop.
    var gathered = JournalSubmission()
    private var isSubmissionScheduled = false
    var waiting = WaitingWork()
    private var lastRevision: UInt64 = 0
    /// Answers that have been taken and not been dealt with.
    var answers: [JournalAnswer] = []
    var nextAnswer = 0
    var isUntidy = false
    let timeouts: JournalTimeouts
    private(set) var isClosed = false
    var hasEnded = false

    /// Opens `store.db` in `directory`, or begins it, on the journal's own thread, and waits until that is done.
    /// - Parameters:
    ///   - directory: The journal's; nobody else may write to it.
    ///   - vfs: The name of SQLite's layer that reads and writes files; nil for the system's. For tests.
    /// - Throws: `system` when the store cannot be made or opened, can only be read, or is damaged; `conflict` when a
    ///   newer version or another program wrote it; `inUse` when another process has it; `timedOut` when the disk
    ///   does not answer. The store is then left as it is.
    package init(
        directory: String, runLoop: RunLoop, logger: Logger, limits: JournalLimits = JournalLimits(),
        clocks: JournalClocks, vfs: String? = nil
    ) throws(RingwakeError) {
        self.directory = directory
        self.runLoop = runLoop
        self.logger = logger
        self.limits = limits
        self.clocks = clocks
        timeouts = JournalTimeouts(runLoop: runLoop, maximumSilence: limits.maximumSilence)
        mailbox = try JournalMailbox()
        thread = try JournalThread(
            JournalThread.Order(directory: directory, vfs: vfs, limits: limits, clocks: clocks, mailbox: mailbox))
        do throws(RingwakeError) {
            (contents, answers) = try Self.waitUntilOpen(mailbox, directory: directory, limits: limits)
            source = try watchAnswers()
        } catch {
            leaveThread()
            throw error
        }
        if !answers.isEmpty { runLoop.enqueue { [weak self] in self?.deliverAnswers() } }
    }

    isolated deinit {
        source?.cancel()
        if !isClosed { leaveThread() }
    }

    // MARK: - Work

    /// What the last run left: to be read once at the start.
    /// - Returns: The same at the first time; nothing later.
    package func takeContents() -> JournalContents {
        defer { contents = nil }
        return contents ?? JournalContents(open: [], recent: [], nextCallNumber: 1, newestWallClock: nil)
    }

    /// False while as much waits for the disk as may, or the disk does not answer at all: further work then fails with
    /// `limitReached`.
    package var hasRoom: Bool {
        waiting.pushes < limits.maximumWaiting && waiting.bytes < limits.maximumWaitingBytes && !timeouts.isSilent
    }

    /// Why there is no room, for a person.
    package var complaint: String {
        if case .failing(_, let error) = health { return error.message }
        return fullError.message
    }

    /// What the journal holds and has done.
    package var statistics: JournalStatistics { mailbox.statistics }

    /// Makes a push durable.
    /// - Parameters:
    ///   - payloads: Of the call's pushes, those that the journal may not have. Kept until the call has ended.
    ///   - call: Written in the same transaction, unless the journal has that call already.
    ///   - completion: Called later, from the loop: when the push is durable, or with why it is not. Then nothing of
    ///     it is in the journal.
    package func append(
        _ push: PushRecord, payloads: [CallPayload], call: CallRecord?,
        completion: @escaping (Result<PushVerdict, RingwakeError>) -> Void
    ) {
        guard !isClosed, hasRoom else {
            let error = isClosed ? closedError : fullError
            return runLoop.enqueue { completion(.failure(error)) }
        }
        let ticket = waiting.addPush(bytes: payloads.reduce(0) { $0 + $1.bytes.count }, completion)
        submit(.push(ticket: ticket, push, payloads: payloads, call: call.map(revised)))
    }

    /// Makes durable that a call is to ring: its state is `confirmed`.
    package func appendRing(
        _ call: CallRecord, completion: @escaping (Result<RingVerdict, RingwakeError>) -> Void
    ) {
        guard !isClosed else {
            let error = closedError
            return runLoop.enqueue { completion(.failure(error)) }
        }
        submit(.ring(ticket: waiting.addRing(completion), revised(call)))
    }

    /// Has the record of a call written, in the place of all earlier ones. If the commit fails, it is written with
    /// the next one. The journal takes a call that has neither rung nor ended from `append` only, so until that has
    /// succeeded such a record changes nothing.
    package func write(_ call: CallRecord, _ urgency: WriteUrgency) {
        guard !isClosed else { return }
        gathered.merge(revised(call), limits: limits)
        guard urgency == .now else { return }
        gathered.isUrgent = true
        scheduleSubmission()
    }

    /// Waits for the disk.
    /// - Parameter completion: Called later, from the loop: when all earlier work is durable, or with why it is
    ///   not.
    package func barrier(completion: @escaping (Result<Void, RingwakeError>) -> Void) {
        guard !isClosed else {
            let error = closedError
            return runLoop.enqueue { completion(.failure(error)) }
        }
        submit(.barrier(ticket: waiting.addState(bytes: 0, completion)))
    }

    /// Reads pushes, newest first, after all earlier work was written or has failed.
    /// - Parameter completion: Called later, from the loop.
    package func pushes(
        _ query: PushQuery, completion: @escaping (Result<[JournaledPush], RingwakeError>) -> Void
    ) {
        guard !isClosed, waiting.reads < limits.maximumWaitingReads else {
            let error = isClosed ? closedError : readsError
            return runLoop.enqueue { completion(.failure(error)) }
        }
        submit(.readPushes(ticket: waiting.addRead(completion), query))
    }

    /// Reads calls, newest first, after all earlier work was written or has failed.
    /// - Parameter completion: Called later, from the loop.
    package func calls(
        _ query: CallQuery, completion: @escaping (Result<[JournaledCall], RingwakeError>) -> Void
    ) {
        guard !isClosed, waiting.reads < limits.maximumWaitingReads else {
            let error = isClosed ? closedError : readsError
            return runLoop.enqueue { completion(.failure(error)) }
        }
        submit(.readCalls(ticket: waiting.addRead(completion), query))
    }

    /// Writes what waits, closes the store and ends the thread. All completions are called before it returns; it
    /// waits for the disk for `JournalLimits.maximumClosing` at most, and says so when that was not enough. Work
    /// that comes later fails. Idempotent.
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
    package func scheduleSubmission() {
        guard !isSubmissionScheduled else { return }
        isSubmissionScheduled = true
        // Before the turn's notifications: nobody is notified of an end long before it reaches the disk.
        runLoop.enqueue { [weak self] in self?.submitGathered() }
    }

    private func submitGathered() {
        beforeSubmission?()
        isSubmissionScheduled = false
        guard !gathered.isEmpty else { return }
        mailbox.submit(gathered, limits: limits)
        gathered = JournalSubmission()
        expectAnswer()
    }

    /// Only for what somebody waits for: a record that is written may change nothing, and then no answer comes.
    func expectAnswer() {
        guard !waiting.isEmpty, !isClosed else { return }
        timeouts.expectAnswer { [weak self] in
            guard let self, !self.isClosed else { return }
            self.note(self.silentError)
        }
    }

    private var fullError: RingwakeError {
        RingwakeError(.limitReached, "\(waiting.pushes) pushes wait for the disk of \(directory); try again later.")
    }

    private var readsError: RingwakeError {
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
