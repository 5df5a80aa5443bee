internal import FoundationEssentials
internal import RingwakeCore

/// Calls in stores of version 3: a column for each fact, a payload, and a row of state for a call in progress.
nonisolated enum CallRowsVersion3 {
    private static let columns = [
        "number", "app", "id", "topic", "environment", "team", "apns_id", "boot", "received_boot", "received_wall",
        "state", "reason", "detail", "caller", "caller_name", "has_video", "attempt", "ring_before", "is_one_attempt",
        "ring_time", "identified_as", "restriction", "verified", "journaled", "woke", "reported", "rang", "answered",
        "connected", "audio_active", "hung_up", "ended",
    ]

    /// For the table of version 4.
    private static let insertCall =
        "INSERT INTO call (number, app, id, team, received_wall, boot, received_boot, state, is_missed, version, snapshot) "
        + "VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11) ON CONFLICT DO NOTHING"

    /// The stages that have a column, in the columns' order.
    private static let stages: [TimelineEntry.Stage] = [
        .verified, .journaled, .woke, .reported, .rang, .answered, .connected, .audioActive, .hungUp, .ended,
    ]

    /// Converts each call of `call_3` to `call` and `payload`, one at a time. Unreadable calls are omitted: no version
    /// could show them.
    static func convert(_ connection: Connection) throws(SQLiteFailure) {
        let select = try Statement(
            "SELECT \(columns.joined(separator: ", ")) FROM call_3 ORDER BY number", on: connection.database)
        let findState = try Statement(
            "SELECT boot, data FROM state_3 WHERE path = ?1 AND version = 2", on: connection.database)
        let findPayload = try Statement("SELECT bytes FROM payload_3 WHERE call = ?1", on: connection.database)
        let insertCall = try Statement(insertCall, on: connection.database)
        let insertPayload = try Statement(Schema.insertPayload, on: connection.database)
        while try select.next() {
            guard let (call, rowBoot) = read(select) else { continue }
            var (record, boot) = (call, rowBoot)
            findPayload.bind(call.number)
            var payloads = [CallPayload(push: 0, bytes: try findPayload.next() ? findPayload.bytes() : [])]
            findPayload.reset()
            findState.bind("call/\(call.key.app)/\(call.key.id)")
            if try findState.next(), call.state != .ended {
                let stateBoot = findState.integer()
                let data = Data(findState.bytes())
                // If the state can't be decoded, the call continues from the record, as after a restart of the machine.
                if let row = try? JSONDecoder().decode(CallRowVersion2.self, from: data),
                    let running = row.record(beside: call)
                {
                    (record, boot) = (running.record, stateBoot)
                    payloads = running.payloads.isEmpty ? payloads : running.payloads
                }
            }
            findState.reset()
            // The row belongs to the boot in which it was written. This value is used only for writing it.
            let times = BootTimes(
                boot: boot, now: record.receivedAt, wall: record.receivedWallClock ?? 0, newestWall: nil, trust: .none)
            StoreRows.bind(record, times: times, to: insertCall)
            try insertCall.run()
            for payload in payloads {
                insertPayload.bind(record.number)
                insertPayload.bind(Int64(payload.push))
                insertPayload.bind(payload.bytes)
                try insertPayload.run()
            }
        }
    }

    /// The call of a row, and the boot of its arrival. Nil if the row contains something that no version wrote.
    private static func read(_ row: Statement) -> (CallRecord, boot: Int64)? {
        let number = row.integer()
        let app = AppID(row.text())
        let id = CallID(row.text())
        let topic = Topic(row.text())
        let environment = PushEnvironment(rawValue: row.text())
        let team = row.text()
        let pushID = row.text()
        let boot = row.integer()
        let arrival = BootInstant(nanoseconds: row.integer())
        let receivedWall = row.integer()
        let state = CallStateMachine.State.Name(rawValue: row.text())
        let reason = row.optionalText().flatMap(CallEndReason.init(rawValue:))
        let detail = row.optionalText()
        var update = CallUpdate(
            caller: row.optionalText(), callerName: row.optionalText(), hasVideo: row.optionalInteger().map { $0 != 0 })
        let attempt = Int(clamping: row.integer())
        let ringBefore = arrival.advanced(byOffset: row.integer())
        let isOneAttempt = row.integer() != 0
        let ringTime = Duration.nanoseconds(row.integer())
        update.identifiedAs = row.optionalText()
        let restriction = row.optionalText().flatMap(Restriction.Kind.init(rawValue:))
        var timeline = [TimelineEntry(.received, at: arrival)]
        for stage in stages {
            if let offset = row.optionalInteger() {
                timeline.append(TimelineEntry(stage, at: arrival.advanced(byOffset: offset)))
            }
        }
        guard let app, let environment, let state, CallRecord.numbers.contains(number),
            CallRecord.attempts.contains(attempt), state != .ended || reason != nil
        else { return nil }
        var record = CallRecord(
            number: number, key: CallKey(app: app, id: id),
            provenance: Provenance(sender: team, door: .apns(environment, topic)), pushID: pushID, state: state,
            reason: reason, detail: detail, update: update, attempt: attempt,
            ringBefore: ringBefore, isOneAttempt: isOneAttempt, ringTime: ringTime, timeline: timeline)
        record.receivedWallClock = receivedWall
        record.restriction = restriction
        return (record, boot)
    }
}
