internal import RingwakeCore
internal import RunLoop
internal import Synchronization

/// What the two threads share. Bounded by the front, which takes no more than its limits.
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

    /// What the journal holds and has done.
    var statistics: JournalStatistics {
        get { sharedStatistics.withLock { $0 } }
        set { sharedStatistics.withLock { $0 = newValue } }
    }

    // MARK: - The loop's side

    /// The descriptor that is readable when answers are there.
    var answerDescriptor: Int32 { answerBell.number }

    func submit(_ more: JournalSubmission, limits: JournalLimits) {
        let wasEmpty = submission.withLock { waiting in
            let wasEmpty = waiting.isEmpty
            waiting.merge(more, limits: limits)
            return wasEmpty
        }
        // If something waits there already, the thread was woken for that and has not come for it yet.
        if wasEmpty { workBell.ring() }
    }

    /// Wakes the journal's thread though nothing was submitted.
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
    /// - Returns: False when none came within that time.
    func waitForAnswers(milliseconds: Int32) -> Bool {
        answerBell.wait(milliseconds: milliseconds)
    }

    // MARK: - The thread's side

    /// What was submitted; nothing when nothing was.
    func takeWork() -> JournalSubmission {
        submission.withLock { waiting in
            defer { waiting = JournalSubmission() }
            return waiting
        }
    }

    /// Sleeps until something is submitted. May return early.
    func waitForWork() {
        workBell.hear()
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
