internal import RingwakeCore
internal import RunLoop
internal import Synchronization

/// The state that the loop and the journal's thread share. `PushJournal` bounds its size by its limits.
nonisolated final class JournalMailbox: Sendable {
    private let submission = Mutex(JournalSubmission())
    private let answers = Mutex<[JournalAnswer]>([])
    private let sharedStatistics = Mutex(JournalStatistics())
    private let workBell: EventDescriptor
    private let answerBell: EventDescriptor

    init() throws(RingwakeError) {
        do throws(RunLoopError) {
            workBell = try EventDescriptor(nonblocking: false)
            answerBell = try EventDescriptor(nonblocking: true)
        } catch {
            throw RingwakeError(
                .system, "no descriptor for the journal: \(error.reason); raise the limit on them.")
        }
    }

    /// The size of the journal, and counters of its work.
    var statistics: JournalStatistics {
        get { sharedStatistics.withLock { $0 } }
        set { sharedStatistics.withLock { $0 = newValue } }
    }

    // MARK: - For the loop

    /// The descriptor that becomes readable when answers arrive.
    var answerDescriptor: Int32 { answerBell.number }

    func submit(_ more: JournalSubmission, limits: JournalLimits) {
        let wasEmpty = submission.withLock { waiting in
            let wasEmpty = waiting.isEmpty
            waiting.merge(more, limits: limits)
            return wasEmpty
        }
        // If work already waits there, the thread has been woken for it and has not taken it yet.
        if wasEmpty { workBell.ring() }
    }

    /// Wakes the journal's thread without new work.
    func nudge() {
        workBell.ring()
    }

    func takeAnswers() -> [JournalAnswer] {
        answerBell.hear()
        return answers.withLock { answers in
            defer { answers = [] }
            return answers
        }
    }

    /// Waits for answers.
    /// - Returns: false if none arrived within that time.
    func waitForAnswers(milliseconds: Int32) -> Bool {
        answerBell.wait(milliseconds: milliseconds)
    }

    // MARK: - For the journal's thread

    /// Takes the submitted work; empty if there is none.
    ///
    /// Waiting and taking are one step. After a wait without taking, the work would stay here, and nothing would wake the
    /// thread for it again.
    /// - Parameter isWaiting: whether to sleep until work is submitted. Even then there may be none.
    func takeWork(waiting isWaiting: Bool) -> JournalSubmission {
        if isWaiting { workBell.hear() }
        return submission.withLock { waiting in
            defer { waiting = JournalSubmission() }
            return waiting
        }
    }

    func answer(_ more: [JournalAnswer]) {
        guard !more.isEmpty else { return }
        let wasEmpty = answers.withLock { answers in
            defer { answers += more }
            return answers.isEmpty
        }
        if wasEmpty { answerBell.ring() }
    }
}
