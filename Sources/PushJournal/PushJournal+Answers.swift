internal import Logging
internal import RingwakeCore
internal import RunLoop

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

    /// Waits for the thread's first answer.
    /// - Returns: the store's contents, and the other answers that arrived.
    static func waitUntilOpen(
        _ mailbox: JournalMailbox, directory: String, limits: JournalLimits
    ) throws(RingwakeError) -> (JournalContents, [JournalAnswer]) {
        let deadline = BootClock.now().advanced(by: limits.maximumOpening)
        while waitForAnswers(mailbox, until: deadline) {
            let answers = mailbox.takeAnswers()
            guard case .opened(let result) = answers.first else { continue }
            return (try result.get(), Array(answers.dropFirst()))
        }
        throw RingwakeError(
            .timedOut, "the journal in \(directory) did not open within \(limits.maximumOpening): its disk is too slow."
        )
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
        case .push, .ring, .kept, .list, .pushes, .calls:
            let notify = waiting.take(answer)
            notify?()
        case .committed(let error, let waitingRecords):
            note(error)
            if waitingRecords == 0 || error == nil { timeouts.forgetFailures() } else { scheduleRetry() }
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
        case .setAside(let path, let reason):
            logger.warning("state set aside", metadata: ["path": "\(path)", "reason": "\(reason)"])
        case .ended:
            hasEnded = true
        case .opened:
            break
        }
    }

    /// Retries the records of a failed commit even if no push causes a commit: a call that the user ended must not ring
    /// after a restart.
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
                "journal cannot write: pushes are refused",
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
