internal import RingwakeCore
internal import RunLoop

/// How long the journal waits for a disk: for an answer that does not come, and after a failure until it tries again.
struct JournalPatience {
    /// How long after a failure it is tried again: at first, and at most.
    static let shortestRetry = Duration.seconds(1)
    static let longestRetry = Duration.seconds(30)

    /// The disk has not answered for ``JournalLimits/maximumSilence``.
    var isExhausted = false
    /// Runs while an answer is due.
    var watch: Timer?
    /// Runs while something that failed is to be tried again.
    var retry: Timer?
    private var retryDelay = shortestRetry

    /// How long to wait this time.
    mutating func nextRetry() -> Duration {
        defer { retryDelay = min(retryDelay * 2, Self.longestRetry) }
        return retryDelay
    }

    mutating func forgetFailures() {
        retryDelay = Self.shortestRetry
    }
}

extension PushJournal {
    /// Something was handed in. An idle journal has no timer, and one whose disk answers in time wakes nobody by it.
    /// Only what somebody waits for is answered: a record that is written may change nothing, and then nothing is said.
    func expectAnswers() {
        guard !waiting.isEmpty, patience.watch == nil, !patience.isExhausted, !isClosed else { return }
        let deadline = BootClock.now().advanced(by: limits.maximumSilence)
        patience.watch = runLoop.schedule(at: deadline, tolerance: limits.maximumSilence / 10) { [weak self] in
            guard let self, !self.isClosed else { return }
            self.patience.watch = nil
            self.patience.isExhausted = true
            self.note(self.silentError)
        }
    }

    /// The disk has answered.
    func expectNothing() {
        patience.isExhausted = false
        if let watch = patience.watch { runLoop.cancel(watch) }
        patience.watch = nil
    }

    /// Has the records of calls written that a failed commit has left, though no push comes that brings a commit
    /// along: what the user ended must not ring after a restart. No timer runs while the disk works.
    func tryAgainLater() {
        guard patience.retry == nil, !isClosed else { return }
        let delay = patience.nextRetry()
        let time = BootClock.now().advanced(by: delay)
        patience.retry = runLoop.schedule(at: time, tolerance: delay / 2) { [weak self] in
            guard let self, !self.isClosed else { return }
            self.patience.retry = nil
            self.gathered.isUrgent = true
            self.enqueueHandover()
        }
    }
}
