internal import DataProtection
internal import Database
internal import RingwakeCore

/// Reads pushes and calls, and the complete contents at a start.
nonisolated struct StoreReader {
    let store: Store

    /// How long a call counts as recently ended.
    static let recentTime = Duration.seconds(3600)

    /// The result of a read, and the number of skipped rows: those with values that no version writes.
    struct Reading<Value> {
        var values: Value
        var unreadable = 0
    }

    /// The contents from the last run, the number of skipped rows, the rows of state to set aside, and the calls to end
    /// because their rows are damaged.
    struct Contents {
        let journal: JournalContents
        let unreadable: Int
        let unfit: [String: String]
        let damaged: [CallRecord]
    }

    func contents() throws(SQLiteFailure) -> Contents {
        let times = store.times()
        var open: [StoredCall] = []
        var (damaged, unfit): ([CallRecord], [String: String]) = ([], [:])
        var unreadable = 0
        let selectOpen = try Statement(
            Schema.selectCall + " WHERE number IN (SELECT call FROM payload) ORDER BY number LIMIT ?1",
            on: store.connection.database)
        selectOpen.bind(Int64(store.limits.maximumOpenCalls))
        while try selectOpen.next() {
            switch StoreRows.call(of: selectOpen, times: times, opening: store.vault) {
            case .readable(let call, let origin):
                open.append(try withPayloads(call.record, origin))
            case .damaged(let call, let reason):
                damaged.append(call)
                unfit[StatePath.call(call.number)] = reason
            case nil:
                unreadable += 1
            }
        }
        let recent = try recentCalls(times)
        // An invalid number must not use up the numbers of later calls.
        let highest = try store.connection.number(
            "SELECT max(number) FROM call WHERE number < \(CallRecord.numbers.upperBound)")
        let states = try store.states.rows(times)
        unfit.merge(states.unfit) { first, _ in first }
        let contents = JournalContents(
            open: open, recent: recent.values, nextCallNumber: max(0, highest) + 1,
            newestWallClock: store.newestWall, states: states.rows, lockedStates: states.locked,
            lists: try store.lists().map(\.record),
            listGeneration: try store.listStamp(), devices: try store.links.devices(),
            mail: try store.links.mail(times), epoch: store.epochText,
            setAside: unfit.sorted { $0.key < $1.key }.map { (path: $0.key, reason: $0.value) })
        return Contents(
            journal: contents, unreadable: unreadable + recent.unreadable, unfit: unfit, damaged: damaged)
    }

    /// The call with the payloads of its pushes, by their ordinals. In place of those that are locked are empty objects:
    /// a handler learns that there is a push.
    private func withPayloads(_ call: CallRecord, _ origin: StoredCall.Origin) throws(SQLiteFailure) -> StoredCall {
        let select = try Statement(
            "SELECT push, bytes FROM payload WHERE call = ?1 AND length(bytes) > 0 ORDER BY push",
            on: store.connection.database)
        select.bind(call.number)
        var payloads: [CallPayload] = []
        var locked: ProtectionClass?
        while try select.next() {
            let push = select.integer()
            let place = StoreRecords.payload(call: call.number, push: push)
            do throws(RecordFailure) {
                let bytes = try store.vault.open(select.bytes(), .payloads, place: place)
                payloads.append(CallPayload(push: Int(clamping: push), bytes: bytes))
            } catch {
                // One that is damaged, or whose key was deleted, is lost.
                guard case .locked(let protection) = error else { continue }
                locked = protection
                payloads.append(CallPayload(push: Int(clamping: push), bytes: Array("{}".utf8)))
            }
        }
        var stored = StoredCall(call, payloads: payloads, origin)
        stored.lockedPayloads = locked
        return stored
    }

    /// What can be read with the present keys of what is protected.
    /// - Parameter since: of calls that have ended, those from this number on; nil: none.
    func protected(since: Int64?) throws(SQLiteFailure) -> ProtectedRows {
        let times = store.times()
        let states = try store.states.rows(times)
        var found = ProtectedRows(
            states: states.rows.filter { StoreRecords.kind(ofState: $0.path) != nil }, lockedStates: states.locked,
            unfitStates: states.unfit.filter { StoreRecords.kind(ofState: $0.key) != nil })
        let select = try Statement(
            Schema.selectCall + " WHERE number IN (SELECT call FROM payload) OR number >= ?1",
            on: store.connection.database)
        select.bind(since ?? .max)
        while try select.next() {
            guard let call = StoreRows.call(of: select, times: times, opening: store.vault)?.journaled else { continue }
            found.callers[call.record.number] = call.record.update
        }
        return found
    }

    private func recentCalls(_ times: BootTimes) throws(SQLiteFailure) -> Reading<[CallRecord]> {
        let select = try Statement(
            Schema.selectCall + " WHERE state = 'ended' ORDER BY number DESC LIMIT ?1", on: store.connection.database)
        var reading = Reading<[CallRecord]>(values: [])
        let since = times.now.advanced(by: .zero - Self.recentTime)
        select.bind(Int64(store.limits.maximumRecentCalls))
        while try select.next() {
            guard case .readable(let call, let origin) = StoreRows.call(of: select, times: times, opening: store.vault)
            else {
                reading.unreadable += 1
                continue
            }
            let end = call.record.time(of: .ended) ?? call.record.receivedAt
            if origin == .otherBoot(isTimeKnown: false) || end >= since { reading.values.append(call.record) }
        }
        reading.values.reverse()
        return reading
    }

    /// Pushes, the newest first.
    func pushes(_ query: PushQuery) throws(SQLiteFailure) -> Reading<[JournaledPush]> {
        var conditions: [String] = []
        // `+` keeps SQLite from using another index, which would make it read and sort all of the app's pushes.
        if query.pushID != nil { conditions.append("lower(push.push_id) = lower(?1)") }
        if query.app != nil { conditions.append("+push.app = ?2") }
        if query.before != nil { conditions.append("push.sequence < ?3") }
        let select = try Statement(
            Schema.selectPush + Self.whereClause(conditions) + " ORDER BY push.sequence DESC LIMIT ?4",
            on: store.connection.database)
        select.bind(query.pushID)
        select.bind(query.app?.rawValue)
        select.bind(query.before)
        select.bind(Int64(max(0, min(query.limit, store.limits.maximumAnswers))))
        let times = store.times()
        var reading = Reading<[JournaledPush]>(values: [])
        while try select.next() {
            guard let push = StoreRows.push(of: select, times: times, opening: store.vault) else {
                reading.unreadable += 1
                continue
            }
            reading.values.append(push)
        }
        return reading
    }

    /// Calls, the newest first.
    func calls(_ query: CallQuery) throws(SQLiteFailure) -> Reading<[JournaledCall]> {
        var conditions: [String] = []
        if query.id != nil { conditions.append("id = ?1") }
        if query.app != nil { conditions.append("app = ?2") }
        if query.missedOnly { conditions.append("is_missed = 1") }
        if query.before != nil { conditions.append("number < ?3") }
        let select = try Statement(
            Schema.selectCall + Self.whereClause(conditions) + " ORDER BY number DESC LIMIT ?4",
            on: store.connection.database)
        select.bind(query.id?.rawValue)
        select.bind(query.app?.rawValue)
        select.bind(query.before)
        select.bind(Int64(max(0, min(query.limit, store.limits.maximumAnswers))))
        let times = store.times()
        var reading = Reading<[JournaledCall]>(values: [])
        while try select.next() {
            guard let call = StoreRows.call(of: select, times: times, opening: store.vault)?.journaled else {
                reading.unreadable += 1
                continue
            }
            reading.values.append(call)
        }
        return reading
    }

    private static func whereClause(_ conditions: [String]) -> String {
        conditions.isEmpty ? "" : " WHERE " + conditions.joined(separator: " AND ")
    }
}
