internal import RingwakeCore

nonisolated extension Store {
    /// How long after its end a call counts as one that ended lately.
    static let recentTime = Duration.seconds(3600)

    /// What was read, and how many rows held something that no version writes: they are passed over.
    struct Reading<Value> {
        var values: Value
        var unreadable = 0
    }

    /// What the last run left, how many rows of it were passed over, and which rows of state are to be set aside.
    struct Contents {
        let journal: JournalContents
        let unreadable: Int
        let unfit: [String: String]
    }

    func contents() throws(SQLiteFailure) -> Contents {
        let times = self.times()
        let (open, unreadableOpen) = try openCalls(times)
        let (recent, unreadableRecent) = try recentCalls(times)
        // A number that no version writes must not use up those that are to come.
        let highest = try connection.number(
            "SELECT max(number) FROM call WHERE number < \(CallRecord.numbers.upperBound)")
        let (states, unfit) = try states(times)
        let contents = JournalContents(
            open: open, recent: recent, nextCallNumber: max(0, highest) + 1,
            newestWallClock: newestWall, states: states, lists: try lists().map(\.record),
            listGeneration: try listStamp(),
            setAside: unfit.sorted { $0.key < $1.key }.map { (path: $0.key, reason: $0.value) })
        return Contents(journal: contents, unreadable: unreadableOpen + unreadableRecent, unfit: unfit)
    }

    private func openCalls(
        _ times: BootTimes
    ) throws(SQLiteFailure) -> (calls: [RecoveredCall], unreadable: Int) {
        let select = try Statement(
            Schema.selectCall + " WHERE state <> 'ended' ORDER BY number LIMIT ?1", on: connection.database)
        let selectPayload = try Statement("SELECT bytes FROM payload WHERE call = ?1", on: connection.database)
        var calls: [RecoveredCall] = []
        var unreadable = 0
        select.bind(Int64(limits.maximumOpenCalls))
        while try select.next() {
            guard let call = StoreRows.call(of: select, times: times) else {
                unreadable += 1
                continue
            }
            selectPayload.bind(call.journaled.record.number)
            let payload = try selectPayload.next() ? selectPayload.bytes() : []
            selectPayload.reset()
            calls.append(
                RecoveredCall(record: call.journaled.record, payload: payload, isTimeKnown: call.isTimeKnown))
        }
        return (calls, unreadable)
    }

    private func recentCalls(
        _ times: BootTimes
    ) throws(SQLiteFailure) -> (calls: [CallRecord], unreadable: Int) {
        let select = try Statement(
            Schema.selectCall + " WHERE state = 'ended' ORDER BY number DESC LIMIT ?1", on: connection.database)
        var calls: [CallRecord] = []
        var unreadable = 0
        let since = times.now.advanced(by: .zero - Self.recentTime)
        select.bind(Int64(limits.maximumRecentCalls))
        while try select.next() {
            guard let call = StoreRows.call(of: select, times: times) else {
                unreadable += 1
                continue
            }
            let record = call.journaled.record
            let end = record.time(of: .ended) ?? record.receivedAt
            if !call.isTimeKnown || end >= since { calls.append(record) }
        }
        return (calls.reversed(), unreadable)
    }

    /// Pushes, newest first.
    func pushes(_ query: PushQuery) throws(SQLiteFailure) -> Reading<[JournaledPush]> {
        var conditions: [String] = []
        // `+` keeps SQLite from reading all of the app's pushes by another index to sort them.
        if query.apnsID != nil { conditions.append("lower(push.apns_id) = lower(?1)") }
        if query.app != nil { conditions.append("+push.app = ?2") }
        if query.before != nil { conditions.append("push.sequence < ?3") }
        let select = try Statement(
            Schema.selectPush + Self.whereClause(conditions) + " ORDER BY push.sequence DESC LIMIT ?4",
            on: connection.database)
        select.bind(query.apnsID)
        select.bind(query.app?.rawValue)
        select.bind(query.before)
        select.bind(Int64(max(0, min(query.limit, limits.maximumAnswers))))
        let times = self.times()
        var reading = Reading<[JournaledPush]>(values: [])
        while try select.next() {
            guard let push = StoreRows.push(of: select, times: times) else {
                reading.unreadable += 1
                continue
            }
            reading.values.append(push.durable(at: unwrittenTime(of: push.sequence)))
        }
        return reading
    }

    /// Calls, newest first.
    func calls(_ query: CallQuery) throws(SQLiteFailure) -> Reading<[JournaledCall]> {
        var conditions: [String] = []
        if query.id != nil { conditions.append("id = ?1") }
        if query.app != nil { conditions.append("app = ?2") }
        if query.missedOnly { conditions.append("is_missed = 1") }
        if query.before != nil { conditions.append("number < ?3") }
        let select = try Statement(
            Schema.selectCall + Self.whereClause(conditions) + " ORDER BY number DESC LIMIT ?4",
            on: connection.database)
        select.bind(query.id?.rawValue)
        select.bind(query.app?.rawValue)
        select.bind(query.before)
        select.bind(Int64(max(0, min(query.limit, limits.maximumAnswers))))
        let times = self.times()
        var reading = Reading<[JournaledCall]>(values: [])
        while try select.next() {
            guard let call = StoreRows.call(of: select, times: times) else {
                reading.unreadable += 1
                continue
            }
            reading.values.append(call.journaled)
        }
        return reading
    }

    private static func whereClause(_ conditions: [String]) -> String {
        conditions.isEmpty ? "" : " WHERE " + conditions.joined(separator: " AND ")
    }
}

nonisolated extension JournaledPush {
    /// The same, durable since `instant` if that is given.
    func durable(at instant: BootInstant?) -> JournaledPush {
        guard let instant else { return self }
        return JournaledPush(
            sequence: sequence, push: push, receivedWallClock: receivedWallClock, journaledAt: instant, call: call)
    }
}
