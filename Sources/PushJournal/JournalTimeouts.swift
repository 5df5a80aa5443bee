internal import RingwakeCore
internal import RunLoop

/// How long the journal waits for a disk: for an answer that is due, and after a failure until it tries again.
///
/// An idle journal has no timer, and one whose disk answers in time is woken by none.
final class JournalTimeouts {
    /// How long after a failure it is tried again: at first, and at most.
    private static let shortestRetry = Duration.seconds(1)
    private static let longestRetry = Duration.seconds(30)

    private let runLoop: RunLoop
    private let maximumSilence: Duration
    /// Runs while an answer is due.
    private var watch: Timer?
    /// Runs while something that failed is to be tried again.
    private var retry: Timer?
    private var retryDelay = shortestRetry
    /// The disk hasn't answered for ``JournalLimits/maximumSilence``.
    private(set) var isSilent = false

    init(runLoop: RunLoop, maximumSilence: Duration) {
        self.runLoop = runLoop
        self.maximumSilence = maximumSilence
    }

    /// An answer is due. `onSilence` is called if none comes in time.
    func expectAnswer(_ onSilence: @escaping () -> Void) {
        guard watch == nil, !isSilent else { return }
        let deadline = BootClock.now().advanced(by: maximumSilence)
        watch = runLoop.schedule(at: deadline, tolerance: maximumSilence / 10) { [weak self] in
            guard let self else { return }
            self.watch = nil
            self.isSilent = true
            onSilence()
        }
    }

    /// The disk has answered.
    func answerReceived() {
        isSilent = false
        if let watch { runLoop.cancel(watch) }
        watch = nil
    }

    /// Calls `tryAgain` after a while, later with each failure. No timer runs while the disk works.
    func scheduleRetry(_ tryAgain: @escaping () -> Void) {
        guard retry == nil else { return }
        let time = BootClock.now().advanced(by: retryDelay)
        retry = runLoop.schedule(at: time, tolerance: retryDelay / 2) { [weak self] in
            self?.retry = nil
            tryAgain()
        }
        retryDelay = min(retryDelay * 2, Self.longestRetry)
    }

    /// The last commit succeeded.
    func forgetFailures() { retryDelay = Self.shortestRetry }
}
