internal import Database
internal import RingwakeCore

/// Limits the size of the store: removes pushes, calls and rows set aside that are too old or too many, and returns
/// free pages to the file system. It works in small transactions, between which the caller looks for work. It runs only
/// after commits, so that an idle journal does nothing.
nonisolated struct StoreUpkeep {
    /// The interval between checks for rows that are too old.
    static let ageCheckInterval = Duration.seconds(3600)
    /// The maximum number of rows of one kind that a step removes while there are far too many: more than one
    /// transaction adds.
    static let overfullStep = 1_024

    private let limits: JournalLimits
    /// Whether there was a commit after the last step that found nothing to do.
    var isDue = true
    private var nextAgeCheck: BootInstant?

    init(limits: JournalLimits) {
        self.limits = limits
    }

    /// Takes one step, in its own transaction.
    /// - Returns: false if there is nothing to do.
    mutating func step(_ store: Store) throws(SQLiteFailure) -> Bool {
        if try removeRows(store) { return true }
        if try store.removeRemains(limits.listStep) { return true }
        return try vacuum(store)
    }

    /// Whether there are so many rows too many that they must be removed even while work waits.
    func isOverfull(_ store: Store) -> Bool {
        max(store.pushCount, store.callCount) >= limits.maximumPushes + limits.maximumPushes / 10 + Self.overfullStep
    }

    private mutating func removeRows(_ store: Store) throws(SQLiteFailure) -> Bool {
        let times = store.times()
        // By count only when a whole step is too many: otherwise each push would remove one row.
        let step = isOverfull(store) ? Self.overfullStep : limits.pruneStep
        var removed = 0
        if store.pushCount >= limits.maximumPushes + step {
            removed += try store.removePushes(step, received: .min ... .max)
        }
        if store.callCount >= limits.maximumPushes + step {
            removed += try store.removeCalls(step, received: .min ... .max)
        }
        if removed > 0 { return true }
        // An unreliable clock may be ahead for a moment, and removed rows cannot be restored.
        guard times.isWallKept, times.now >= nextAgeCheck ?? times.now else { return false }
        let (cutoff, overflow) = times.wall.subtractingReportingOverflow(limits.maximumAge.milliseconds)
        if !overflow, cutoff >= BootTimes.earliestWallClock {
            // The age of rows that were written before the clock was set is unknown.
            let old = BootTimes.earliestWallClock...cutoff
            if try store.removePushes(limits.pruneStep, received: old) > 0 { return true }
            if try store.removeCalls(limits.pruneStep, received: old) > 0 { return true }
            if try store.removeStatesAside(old) > 0 { return true }
        }
        nextAgeCheck = times.now.advanced(by: Self.ageCheckInterval)
        return false
    }

    private func vacuum(_ store: Store) throws(SQLiteFailure) -> Bool {
        let free = try store.freePages()
        guard free >= limits.freePages + limits.vacuumStep else { return false }
        try store.giveBackPages(limits.vacuumStep)
        return true
    }
}

nonisolated extension Store {
    /// Removes the oldest pushes, up to `count` of those that arrived within a time by the wall clock (milliseconds
    /// since 1970), but none of a call that has not ended.
    /// - Returns: the number of removed pushes.
    func removePushes(_ count: Int, received time: ClosedRange<Int64>) throws(SQLiteFailure) -> Int {
        try remove(
            """
            DELETE FROM push WHERE sequence IN (
                SELECT sequence FROM push AS old WHERE received_wall BETWEEN ?1 AND ?2 AND NOT EXISTS (
                    SELECT 1 FROM call WHERE call.id = old.call_id AND call.app = old.app AND call.state <> 'ended')
                AND sequence < ifnull((SELECT sequence FROM push ORDER BY sequence LIMIT 1 OFFSET \(scanned)), ?4)
                ORDER BY sequence LIMIT ?3)
            """, count, time
        ) { pushCount -= $0 }
    }

    /// Removes the oldest ended calls, in the same way as `removePushes`.
    func removeCalls(_ count: Int, received time: ClosedRange<Int64>) throws(SQLiteFailure) -> Int {
        try remove(
            """
            DELETE FROM call WHERE number IN (
                SELECT number FROM call WHERE received_wall BETWEEN ?1 AND ?2 AND state = 'ended'
                AND number < ifnull((SELECT number FROM call ORDER BY number LIMIT 1 OFFSET \(scanned)), ?4)
                ORDER BY number LIMIT ?3)
            """, count, time
        ) { callCount -= $0 }
    }

    /// The wall clock is right, and it is `wall`: what arrived later arrived by a clock that was ahead, and now counts
    /// as of now. Part of a transaction.
    func correctTimes(_ wall: Int64) throws(SQLiteFailure) {
        for table in ["push", "call"] {
            try connection.run("UPDATE \(table) SET received_wall = ?1 WHERE received_wall > ?1", wall)
        }
        newestWall = newestWall.map { min($0, wall) }
    }

    /// Removes rows of state that were set aside within a time by the wall clock.
    func removeStatesAside(_ time: ClosedRange<Int64>) throws(SQLiteFailure) -> Int {
        var removed = 0
        try transaction { () throws(SQLiteFailure) in removed = try states.removeAside(time) }
        return removed
    }

    /// How many of the oldest rows are searched for rows to remove. Rows of open calls cannot be removed, but there are
    /// few of these.
    private var scanned: Int { limits.maximumOpenCalls + limits.pruneStep }

    private func remove(
        _ sql: String, _ count: Int, _ time: ClosedRange<Int64>, _ note: (Int) -> Void
    ) throws(SQLiteFailure) -> Int {
        var removed = 0
        let statement = try Statement(sql, on: connection.database)
        statement.bind(time.lowerBound)
        statement.bind(time.upperBound)
        statement.bind(Int64(count))
        statement.bind(Int64.max)
        try transaction { () throws(SQLiteFailure) in
            try statement.run()
            removed = connection.changes
            note(removed)
        }
        return removed
    }

    /// The number of unused pages in the file.
    func freePages() throws(SQLiteFailure) -> Int {
        Int(clamping: try connection.number("PRAGMA freelist_count"))
    }

    /// Whether SQLite overwrites what is on a page that becomes free, which costs a write of it.
    func keepNothingOfFreedPages(_ isOn: Bool) throws(SQLiteFailure) {
        try connection.run("PRAGMA secure_delete = \(isOn ? "ON" : "FAST")")
    }

    /// Shrinks the file by up to `count` free pages.
    func giveBackPages(_ count: Int) throws(SQLiteFailure) {
        try transaction { () throws(SQLiteFailure) in
            try connection.run("PRAGMA incremental_vacuum(\(count))")
        }
    }
}
