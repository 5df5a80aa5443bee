internal import RingwakeCore
internal import RunLoop
internal import Synchronization

/// A record of a call, and how new it is: a higher revision is a newer record.
nonisolated struct RevisedCall: Sendable {
    let record: CallRecord
    let revision: UInt64
}

/// What the loop asks of the journal's thread; it is done in the order of asking.
nonisolated enum JournalWork: Sendable {
    case push(ticket: UInt64, PushRecord, payload: [UInt8], call: RevisedCall?)
    case ring(ticket: UInt64, RevisedCall)
    case readPushes(ticket: UInt64, PushQuery)
    case readCalls(ticket: UInt64, CallQuery)
    case close
}

/// What is handed over at once. The records of calls go before the rest.
nonisolated struct JournalHandover: Sendable {
    /// What is to be done, in order.
    var work: [JournalWork] = []
    /// The newest records of calls, to be written with the next commit.
    var calls: [Int64: RevisedCall] = [:]
    /// Whether a commit is to be made for the calls.
    var isUrgent = false
    /// Calls that found no room.
    var droppedCalls = 0

    var isEmpty: Bool { work.isEmpty && calls.isEmpty && !isUrgent }

    /// Takes over a record unless it has a newer one.
    /// - Parameter maximum: How many calls may wait. Beyond it a call that is not among them is given up: it came
    ///   later, so the journal is less likely to have it.
    mutating func merge(_ call: RevisedCall, maximum: Int) {
        if let known = calls[call.record.number] {
            if known.revision < call.revision { calls[call.record.number] = call }
        } else if calls.count < maximum {
            calls[call.record.number] = call
        } else {
            droppedCalls += 1
        }
    }
}

/// What the journal's thread answers.
nonisolated enum JournalAnswer: Sendable {
    case opened(Result<JournalContents, RingwakeError>)
    case push(ticket: UInt64, Result<PushVerdict, RingwakeError>)
    case ring(ticket: UInt64, Result<RingVerdict, RingwakeError>)
    case pushes(ticket: UInt64, Result<[JournaledPush], RingwakeError>)
    case calls(ticket: UInt64, Result<[JournaledCall], RingwakeError>)
    /// A transaction was committed, or the error with which it failed, and how many records of calls wait for another
    /// one; before the answers that rest on it.
    case committed(RingwakeError?, waitingCalls: Int)
    /// The log could not be moved into the store, or old rows could not be removed.
    case untidy(RingwakeError)
    /// That many rows held something that no version writes, and were passed over.
    case unreadable(rows: Int)
    /// That many records of calls were given up, because too many waited for a disk that fails.
    case droppedCalls(Int)
    /// The store is closed and the thread ends.
    case ended
}

/// What the two threads share. Bounded by who hands in: the front does not take more than its limits.
nonisolated final class JournalMailbox: Sendable {
    private let handover = Mutex(JournalHandover())
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

    func hand(in more: JournalHandover, maximumCalls: Int) {
        let wasEmpty = handover.withLock { waiting in
            let wasEmpty = waiting.isEmpty
            waiting.work += more.work
            for call in more.calls.values { waiting.merge(call, maximum: maximumCalls) }
            waiting.isUrgent = waiting.isUrgent || more.isUrgent
            waiting.droppedCalls += more.droppedCalls
            return wasEmpty
        }
        // If something waits there already, the thread was woken for that and has not come for it yet.
        if wasEmpty { workBell.ring() }
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

    /// What has been handed in; nothing when nothing was.
    func takeWork() -> JournalHandover {
        handover.withLock { waiting in
            defer { waiting = JournalHandover() }
            return waiting
        }
    }

    /// Sleeps until something is handed in. May return early.
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
