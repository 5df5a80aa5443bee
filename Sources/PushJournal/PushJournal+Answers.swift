internal import DataProtection
internal import Logging
internal import RingwakeCore
internal import RunLoop
internal import StoreMigration

// The answers of the thread.
extension PushJournal {
    func watchAnswers() throws(RingwakeError) -> ReadinessSource {
        do throws(RunLoopError) {
            return try runLoop.watch(mailbox.answerDescriptor, for: .read, cause: .journal) { [weak self] _ in
                self?.deliverAnswers()
            }
        } catch {
            throw RingwakeError(.system, "the journal's answers cannot be waited for: \(error).")
        }
    }

    /// Waits for the thread's first answer. Without one in time, or if the disk fails, the journal is in the state in
    /// which no commit succeeds, until the store is open.
    /// - Throws: if a person has to mend the fault: see ``StoreOpeningFailure/refusesStart``.
    func waitUntilOpen() throws(RingwakeError) {
        let deadline = BootClock.now().advanced(by: limits.maximumOpening)
        while Self.waitForAnswers(mailbox, until: deadline) {
            (answers, nextAnswer) = (mailbox.takeAnswers(), 0)
            while nextAnswer < answers.count {
                let answer = answers[nextAnswer]
                nextAnswer += 1
                switch answer {
                case .migrating(let progress): report(progress)
                case .found(let findings, let former): note(findings, after: former)
                case .opened(.failure(let failure)) where failure.refusesStart: throw failure.error
                case .opened(let result): return took(result)
                default: break
                }
            }
        }
        let migrating = migration.map(migrationError)
        note(
            migrating
                ?? RingwakeError(
                    .timedOut,
                    "the journal in \(directory) did not open within \(limits.maximumOpening): its disk is too slow."))
    }

    /// Logs every tenth of a migration.
    private func report(_ progress: MigrationProgress) {
        if migration.map({ $0.version != progress.version || $0.percent / 10 != progress.percent / 10 }) ?? true {
            logger.notice(
                "store is being migrated",
                metadata: ["to-version": "\(progress.version)", "percent": "\(progress.percent)"])
        }
        migration = progress
    }

    private func migrationError(_ progress: MigrationProgress) -> RingwakeError {
        RingwakeError(
            .timedOut,
            "the store in \(directory) is being migrated to version \(progress.version), and \(progress.percent) % are done; "
                + "pushes are refused until it is.")
    }

    private func took(_ opening: Result<JournalContents, StoreOpeningFailure>) {
        let migrated = migration
        migration = nil
        switch opening {
        case .success(let found):
            if let migrated {
                logger.notice("store is migrated", metadata: ["version": "\(migrated.version)", "path": "\(path)"])
            }
            note(nil)
            timeouts.forgetFailures()
            isOpen = true
            contents = found
            // The end writes what waits, and restores nothing.
            if !isClosed { onOpened?() }
        case .failure(let failure):
            note(failure.error)
            scheduleRetry()
        }
    }

    /// - Returns: false if nothing arrived before `deadline`.
    static func waitForAnswers(_ mailbox: JournalMailbox, until deadline: BootClock.Instant) -> Bool {
        while true {
            let left = BootClock.now().duration(to: deadline)
            guard left > .zero else { return false }
            // It returns early if a signal interrupts it.
            let milliseconds = Int32(clamping: left.milliseconds + 1)
            if mailbox.waitForAnswers(milliseconds: milliseconds) { return true }
        }
    }

    /// Asks the thread to end, without waiting for it.
    func leaveThread() {
        var order = JournalSubmission()
        order.work = [.close]
        mailbox.submit(order, limits: limits)
        thread.abandon()
    }

    /// Processes all available answers. A completion may close the journal, which processes the rest in a nested call.
    /// So the position is a property.
    func deliverAnswers() {
        answers += mailbox.takeAnswers()
        while nextAnswer < answers.count {
            let answer = answers[nextAnswer]
            nextAnswer += 1
            deliver(answer)
        }
        answers = []
        nextAnswer = 0
        // The disk has answered: the timeout for the remaining work starts again.
        timeouts.answerReceived()
        expectAnswer()
    }

    private func deliver(_ answer: JournalAnswer) {
        switch answer {
        case .push, .ring, .kept, .list, .pushes, .calls, .mail, .report, .protected:
            let notify = waiting.take(answer)
            notify?()
        case .rekeyed(let rows, let removed, let keys):
            if removed > 0 {
                logger.warning(
                    "entries of lists of callers are gone with their keys", metadata: ["entries": "\(removed)"])
            }
            if rows > 0 { logger.notice("records were written again with new keys", metadata: ["rows": "\(rows)"]) }
            onRekeyed?(keys)
        case .found(let findings, let former): note(findings, after: former)
        case .copying(let number, let percent): copyRequest.report(percent: percent, of: number)
        case .copied(let number, let result):
            let notify = copyRequest.close(number)
            notify?(result)
        case .committed(let error, let waitingRecords):
            note(error)
            if error == nil || (waitingRecords == 0 && isOpen) { timeouts.forgetFailures() } else { scheduleRetry() }
        case .untidy(let error):
            // Log it once per failure period. The next commit shows whether the failure continues.
            guard !isUntidy else { return }
            isUntidy = true
            logger.warning("journal not tidied up", metadata: ["reason": "\(error.message)"])
        case .unreadable(let rows):
            logger.warning("journal rows passed over: not written by ringwaked", metadata: ["rows": "\(rows)"])
        case .droppedCalls(let count):
            logger.error("call records given up: the journal cannot write", metadata: ["calls": "\(count)"])
        case .droppedStates(let count):
            logger.error("state given up: too much waits, or is kept", metadata: ["rows": "\(count)"])
        case .replaced(let damage):
            for what in damage { logger.error("journal damaged", metadata: ["why": "\(what)"]) }
        case .gaveWay(let count):
            guard !hasGivenWay else { return }
            hasGivenWay = true
            logger.warning(
                "disk is full: the oldest pushes and calls give way to new ones; free some space",
                metadata: ["removed": "\(count)"])
        case .setAside(let path, let reason):
            logger.warning("state set aside", metadata: ["path": "\(path)", "reason": "\(reason)"])
        case .ended:
            hasEnded = true
        case .migrating(let progress):
            report(progress)
            note(migrationError(progress))
        case .opened(let result):
            took(result)
        }
    }

    private func note(_ findings: RecordFindings, after former: RecordFindings) {
        for (kind, places) in findings.damaged where places != former.damaged[kind] {
            logger.error(
                "stored records are damaged; a backup may have them",
                metadata: ["kind": "\(kind.rawValue)", "records": "\(places.count)"])
        }
        if findings.missingKeys != former.missingKeys, !findings.missingKeys.isEmpty {
            let classes = findings.missingKeys.keys.map(\.rawValue).sorted().joined(separator: ",")
            logger.error("protection.json is older than the store and lacks keys", metadata: ["classes": "\(classes)"])
        }
    }

    /// Retries the records of a failed commit, and the opening of the store, even if no push causes that: a call that the
    /// user ended must not ring after a restart.
    private func scheduleRetry() {
        guard !isClosed else { return }
        timeouts.scheduleRetry { [weak self] in
            guard let self, !self.isClosed else { return }
            self.gathered.isUrgent = true
            self.scheduleSubmission()
        }
    }

    func note(_ error: RingwakeError?) {
        switch (health, error) {
        case (.working, nil):
            return
        case (.working, let error?):
            health = .failing(since: clocks.boot(), error)
            logger.error(
                isOpen
                    ? "journal cannot write: pushes are answered 503"
                    : "journal cannot be opened: pushes are answered 503",
                metadata: ["error": "\(error.code.slug)", "reason": "\(error.message)"])
        case (.failing(let since, _), let error?):
            health = .failing(since: since, error)
            return
        case (.failing(let since, _), nil):
            health = .working
            isUntidy = false
            logger.notice(
                "journal writes again", metadata: ["after": "\(since.duration(to: clocks.boot()).milliseconds) ms"])
        }
        onHealthChange?(health)
    }
}
