internal import HTTPServer
internal import RunLoop

/// Decides which failed connections are logged as warnings. Strangers can cause as many as they like, so of each reason
/// one is logged in a while; the refusal log has them all.
nonisolated struct FailureWarnings {
    /// The least time between two warnings for the same reason.
    static let period = Duration.seconds(600)

    private struct Last {
        let at: BootClock.Instant
        /// Failures since then.
        var count = 0
    }

    private var last: [FailedConnection.Reason: Last] = [:]

    /// Records a failure.
    ///
    /// - Returns: how many of this reason were not logged since the last warning, if this one is to be logged; else nil.
    mutating func note(_ reason: FailedConnection.Reason, at now: BootClock.Instant) -> Int? {
        guard let before = last[reason], now < before.at.advanced(by: FailureWarnings.period) else {
            return last.updateValue(Last(at: now), forKey: reason)?.count ?? 0
        }
        last[reason]?.count += 1
        return nil
    }
}
