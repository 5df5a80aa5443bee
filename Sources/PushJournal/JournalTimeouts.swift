internal import RingwakeCore
internal import RunLoop

/// The journal's timers for a slow or failing disk: a timeout for answers, and a delay before a retry.
///
/// An idle journal has no timer. If the disk answers in time, no timer fires.
final class JournalTimeouts {
    /// The first and the longest delay before a retry.
    private static let shortestRetry = Duration.seconds(1)
    private static let longestRetry = Duration.seconds(30)

    private let runLoop: RunLoop
    private let maximumSilence: Duration
    /// Runs while an answer is due.
    private var watch: Timer?
    /// Runs while a retry is due.
    private var retry: Timer?
    private var retryDelay = shortestRetry
    /// Whether the disk hasn't answered for ``JournalLimits/maximumSilence``.
    private(set) var isSilent = false

    init(runLoop: RunLoop, maximumSilence: Duration) {
        self.runLoop = runLoop
        self.maximumSilence = maximumSilence
    }

    /// An answer is due. Calls `onSilence` if none arrives in time.
    func expectAnswer(_ onSilence: @escaping () -> Void) {
        guard watch == nil, !isSilent else { return }
        let deadline = BootClock.now().advanced(by: maximumSilence)
        watch = runLoop.schedule(at: deadline, tolerance: maximumSilence / 10) { [weak self] in
            guard let self else { return }
            self.watch = nil
            // The timer is late because the machine slept or the process was stopped. Start a new timeout: the disk
            // had no time to answer either.
            guard runLoop.now < deadline.advanced(by: maximumSilence / 2) else { return self.expectAnswer(onSilence) }
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

    /// Calls `tryAgain` after a delay, which doubles with each failure. No timer runs while the disk works.
    func scheduleRetry(_ tryAgain: @escaping () -> Void) {
        guard retry == nil else { return }
        let time = BootClock.now().advanced(by: retryDelay)
        retry = runLoop.schedule(at: time, tolerance: retryDelay / 10) { [weak self] in
            self?.retry = nil
            tryAgain()
        }
        retryDelay = min(retryDelay * 2, Self.longestRetry)
    }

    /// The last commit succeeded.
    func forgetFailures() { retryDelay = Self.shortestRetry }
}
