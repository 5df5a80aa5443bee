internal import RingwakeCore

/// The work that the journal's thread has taken and not done. It outlives a store that has to be replaced.
nonisolated struct WaitingJournalWork {
    /// In order.
    var backlog: ArraySlice<JournalWork> = []
    var lists: [ListWork] = []
    /// The newest records that have not been committed, and whether they need a commit now.
    var records = JournalRecords()
    var isUrgent = false
    var statistics = JournalStatistics()
    var isClosing = false

    /// Whether the journal is to be closed, at once or after the backlog.
    var isAskedToClose: Bool { isClosing || backlog.contains { if case .close = $0 { true } else { false } } }

    /// Adds submitted work.
    /// - Returns: answers that report dropped records.
    mutating func take(_ submission: JournalSubmission, limits: JournalLimits) -> [JournalAnswer] {
        backlog += submission.work
        lists += submission.lists
        records.merge(submission.records, limits: limits)
        isUrgent = isUrgent || submission.isUrgent
        return records.takeDropped()
    }

    /// Fails all work that somebody waits for. Records go on waiting.
    mutating func failAll(_ error: RingwakeError) -> [JournalAnswer] {
        statistics.failedCommits += 1
        isClosing = isAskedToClose
        let answers = backlog.compactMap { $0.answer(failing: error) }
        let listAnswers = lists.map { JournalAnswer.list(ticket: $0.ticket, .failure(error)) }
        (backlog, lists, isUrgent) = ([], [], false)
        return [.committed(error, waitingRecords: records.count)] + answers + listAnswers
    }
}
