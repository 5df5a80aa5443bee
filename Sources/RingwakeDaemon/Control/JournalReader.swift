internal import PushJournal
internal import RingwakeCore
internal import RunLoop

/// Reads the journal for the control API, with a timeout: if the disk hangs, the journal answers late or never.
final class JournalReader {
    private let journal: PushJournal
    private let runLoop: RunLoop
    private let timeout: Duration

    /// A timeout may fire this much late, to save a wakeup.
    private static let tolerance = Duration.milliseconds(500)

    /// - Parameter timeout: time after which a read fails; shorter than a client's timeout.
    init(journal: PushJournal, runLoop: RunLoop, timeout: Duration = .seconds(3)) {
        self.journal = journal
        self.runLoop = runLoop
        self.timeout = timeout
    }

    /// Reads pushes, newest first. `completion` is called once, later; with `timedOut` if the journal doesn't answer.
    func pushes(_ query: PushQuery, completion: @escaping (Result<[JournaledPush], RingwakeError>) -> Void) {
        journal.pushes(query, completion: JournalReader.bounded(completion, by: timeout, on: runLoop))
    }

    /// Reads calls, newest first. `completion` is called once, later; with `timedOut` if the journal doesn't answer.
    func calls(_ query: CallQuery, completion: @escaping (Result<[JournaledCall], RingwakeError>) -> Void) {
        journal.calls(query, completion: JournalReader.bounded(completion, by: timeout, on: runLoop))
    }

    /// Says what the store is and holds. `completion` is called once, later; with `timedOut` if the journal doesn't answer.
    func report(completion: @escaping (Result<StoreReport, RingwakeError>) -> Void) {
        journal.report(completion: JournalReader.bounded(completion, by: timeout, on: runLoop))
    }

    /// Calls `body` once, when all earlier writes are durable, have failed or have timed out.
    func whenDurable(_ body: @escaping () -> Void) {
        let completion = JournalReader.bounded(
            { (_: Result<Void, RingwakeError>) in body() }, by: timeout, on: runLoop)
        journal.barrier(completion: completion)
    }

    /// A completion that fails with `timedOut` if it isn't called in time.
    static func bounded<Value>(
        _ completion: @escaping (Result<Value, RingwakeError>) -> Void, by timeout: Duration, on runLoop: RunLoop
    ) -> (Result<Value, RingwakeError>) -> Void {
        var isAnswered = false
        let timer = runLoop.schedule(
            at: BootClock.now().advanced(by: timeout), tolerance: tolerance, wakingFromSuspend: false
        ) {
            isAnswered = true
            completion(
                .failure(
                    RingwakeError(
                        .timedOut,
                        "the journal did not answer within \(timeout): its disk hangs or is overloaded; "
                            + "'ringwake status' shows its state")))
        }
        return { result in
            guard !isAnswered else { return }
            isAnswered = true
            runLoop.cancel(timer)
            completion(result)
        }
    }
}
