internal import PushJournal
internal import RingwakeCore
internal import RunLoop

/// Reads the journal for the control API, and does not wait for ever: behind a disk that hangs its answers come late,
/// or never.
final class JournalReader {
    private let journal: PushJournal
    private let runLoop: RunLoop
    private let timeout: Duration

    /// How much later than `timeout` an answer may be given up, to save a wakeup.
    private static let tolerance = Duration.milliseconds(500)

    /// - Parameter timeout: after which a read has failed. Less than a client waits.
    init(journal: PushJournal, runLoop: RunLoop, timeout: Duration = .seconds(3)) {
        self.journal = journal
        self.runLoop = runLoop
        self.timeout = timeout
    }

    /// Pushes, the newest first. `completion` is called once, later: `timedOut` when the journal did not answer.
    func pushes(_ query: PushQuery, completion: @escaping (Result<[JournaledPush], RingwakeError>) -> Void) {
        journal.pushes(query, completion: JournalReader.bounded(completion, by: timeout, on: runLoop))
    }

    /// Calls, the newest first. `completion` is called once, later: `timedOut` when the journal did not answer.
    func calls(_ query: CallQuery, completion: @escaping (Result<[JournaledCall], RingwakeError>) -> Void) {
        journal.calls(query, completion: JournalReader.bounded(completion, by: timeout, on: runLoop))
    }

    /// Calls `body` once: when what was handed in before is durable, or does not come to be.
    func whenDurable(_ body: @escaping () -> Void) {
        let completion = JournalReader.bounded(
            { (_: Result<Void, RingwakeError>) in body() }, by: timeout, on: runLoop)
        journal.barrier(completion: completion)
    }

    /// A completion that passes on the answer or the lack of one, whichever comes first.
    static func bounded<Value>(
        _ completion: @escaping (Result<Value, RingwakeError>) -> Void, by timeout: Duration, on runLoop: RunLoop
    ) -> (Result<Value, RingwakeError>) -> Void {
        var isAnswered = false
        let timer = runLoop.schedule(at: BootClock.now().advanced(by: timeout), tolerance: tolerance) {
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
