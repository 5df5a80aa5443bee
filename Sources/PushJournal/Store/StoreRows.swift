internal import CRingwakeSQLite
internal import DataProtection
internal import Database
internal import FoundationEssentials
internal import RingwakeCore

/// Binds and reads pushes and calls, column by column in the order of `Schema`.
nonisolated enum StoreRows {
    // MARK: - Writing

    static func bind(_ push: PushRecord, sequence: Int64, times: BootTimes, to statement: Statement) {
        statement.bind(sequence)
        statement.bind(push.pushID)
        statement.bind(push.app.rawValue)
        statement.bind(push.provenance.topic?.rawValue ?? "")
        statement.bind(push.provenance.doorName)
        statement.bind(push.provenance.sender)
        statement.bind(Int64(push.priority.rawValue))
        statement.bind(push.collapseID)
        statement.bind(push.call.rawValue)
        statement.bind(push.outcome.rawValue)
        statement.bind(times.boot)
        statement.bind(push.receivedAt.nanoseconds)
        statement.bind(push.receivedWallClock ?? times.wallClock(at: push.receivedAt))
        statement.bind(times.now.offset(from: push.receivedAt))
    }

    static func bind(
        _ call: CallRecord, times: BootTimes, sealing vault: RecordVault, to statement: Statement
    ) throws(SQLiteFailure) {
        var caller: [UInt8]?
        if call.update.lockedBy == nil, let known = CallerSnapshot.json(of: call.update) {
            caller = try vault.record(known, .callers, place: StoreRecords.caller(call: call.number))
        }
        statement.bind(call.number)
        statement.bind(call.key.app.rawValue)
        statement.bind(call.key.id.rawValue)
        statement.bind(call.provenance.sender)
        statement.bind(call.receivedWallClock ?? times.wallClock(at: call.receivedAt))
        statement.bind(times.boot)
        statement.bind(call.receivedAt.nanoseconds)
        statement.bind(call.state.rawValue)
        statement.bind((call.isMissed ? 1 : 0) as Int64)
        statement.bind(Int64(CallSnapshot.version))
        statement.bind(String(decoding: CallSnapshot.json(of: call), as: UTF8.self))
        (caller.map(StoreValue.blob) ?? .null).bind(to: statement)
    }

    // MARK: - Reading

    /// A push and, if the row has one, its call.
    /// - Returns: nil if the row has values that no version writes.
    static func push(of row: Statement, times: BootTimes, opening vault: RecordVault) -> JournaledPush? {
        let sequence = row.integer()
        let pushID = row.text()
        let app = AppID(row.text())
        let topic = row.text()
        let door = row.text()
        let provenance = Provenance(doorName: door, topic: topic, sender: row.text())
        let priority = PushPriority(rawValue: Int(truncatingIfNeeded: row.integer()))
        let collapseID = row.optionalText()
        let call = CallID(row.text())
        let outcome = PushOutcome(rawValue: row.text())
        let boot = row.integer()
        let receivedBoot = row.integer()
        let receivedWall = row.integer()
        let journaled = row.optionalInteger()
        guard let app, let provenance, let priority, let outcome else { return nil }
        let arrival = times.arrival(
            boot: boot, receivedBoot: receivedBoot, receivedWall: receivedWall, lastOffset: journaled ?? 0)
        var record = PushRecord(
            pushID: pushID, app: app, provenance: provenance, priority: priority, collapseID: collapseID,
            receivedAt: arrival.at, call: call, outcome: outcome)
        record.receivedWallClock = receivedWall
        return JournaledPush(
            sequence: sequence, push: record, receivedWallClock: receivedWall,
            journaledAt: journaled.map(arrival.at.advanced(byOffset:)),
            call: self.call(of: row, times: times, opening: vault)?.journaled)
    }

    /// The result of reading a call.
    enum Call {
        case readable(JournaledCall, StoredCall.Origin)
        /// The columns are readable, but the snapshot isn't: the call's record as ended, and the reason.
        case damaged(CallRecord, reason: String)

        /// The call, if it was readable.
        var journaled: JournaledCall? {
            if case .readable(let call, _) = self { call } else { nil }
        }
    }

    /// A call.
    /// - Returns: nil if the row has values that no version writes, or if a join found none.
    static func call(of row: Statement, times: BootTimes, opening vault: RecordVault) -> Call? {
        guard let number = row.optionalInteger(), CallRecord.numbers.contains(number) else { return nil }
        let app = AppID(row.text())
        let id = CallID(row.text())
        let sender = row.text()
        let receivedWall = row.integer()
        let boot = row.integer()
        let receivedBoot = row.integer()
        let state = CallStateMachine.State.Name(rawValue: row.text())
        // Skip `is_missed`: it follows from the other values.
        _ = row.integer()
        let version = row.integer()
        let text = row.text()
        let record = row.optionalBytes()
        guard let app else { return nil }
        let key = CallKey(app: app, id: id)
        let (snapshot, reason) = decode(text, version: version)
        let caller = record.map { self.caller(of: number, $0, vault) } ?? Caller.known(nil)
        let arrival = times.arrival(
            boot: boot, receivedBoot: receivedBoot, receivedWall: receivedWall, lastOffset: snapshot?.lastOffset ?? 0)
        var call = state.flatMap { state in
            snapshot?.record(
                number: number, key: key, sender: sender, state: state, receivedAt: arrival.at,
                receivedWallClock: receivedWall, caller: caller.known)
        }
        if case .locked(let protection) = caller { call?.update.lockedBy = protection }
        guard let call else {
            let why = reason ?? "its row holds what no version of ringwaked writes"
            return .damaged(
                ended(number: number, key, sender: sender, at: arrival.at, wall: receivedWall, why), reason: why)
        }
        return .readable(
            JournaledCall(record: call, receivedWallClock: receivedWall),
            boot == times.boot ? .thisBoot : .otherBoot(isTimeKnown: arrival.isKnown))
    }

    /// Who called.
    private enum Caller {
        case known(CallerSnapshot?)
        case locked(ProtectionClass)

        var known: CallerSnapshot? {
            if case .known(let caller) = self { caller } else { nil }
        }
    }

    /// A caller that is damaged, or whose key was deleted, is unknown: the call is still a call.
    private static func caller(of number: Int64, _ record: [UInt8], _ vault: RecordVault) -> Caller {
        do throws(RecordFailure) {
            let json = try vault.open(record, .callers, place: StoreRecords.caller(call: number))
            return .known(try? JSONDecoder().decode(CallerSnapshot.self, from: Data(json)))
        } catch {
            guard case .locked(let protection) = error else { return .known(nil) }
            return .locked(protection)
        }
    }

    /// The snapshot, upgraded to the current version; or the reason why there is none.
    private static func decode(_ text: String, version: Int64) -> (CallSnapshot?, String?) {
        guard version == CallSnapshot.version else {
            return (nil, "it has version \(version), and this program reads \(CallSnapshot.version)")
        }
        do {
            return (try JSONDecoder().decode(CallSnapshot.self, from: Data(text.utf8)), nil)
        } catch {
            return (nil, "it can't be decoded: \(error)")
        }
    }

    /// The record for a call whose row is damaged: nobody knows whether it rang, so it must not ring again.
    private static func ended(
        number: Int64, _ key: CallKey, sender: String, at arrival: BootInstant, wall: Int64, _ why: String
    ) -> CallRecord {
        var record = CallRecord(
            number: number, key: key,
            provenance: Provenance(sender: sender, door: .apns(.production, .voip(of: key.app))),
            pushID: "", state: .ended, reason: .failed, detail: "its record in the journal could not be read: \(why)",
            update: CallUpdate(), attempt: 0, ringBefore: arrival, isOneAttempt: false, ringTime: .zero,
            timeline: [TimelineEntry(.received, at: arrival), TimelineEntry(.ended, at: arrival)])
        record.receivedWallClock = wall
        return record
    }
}

nonisolated extension Provenance {
    /// The value of the column `door`. It is APNs' environment, because a device token is valid for only one of them.
    var doorName: String {
        switch door {
        case .apns(let environment, _): environment.rawValue
        // Of calls only: no push comes by it.
        case .device: "device"
        }
    }

    /// - Returns: nil for a door that no version writes.
    fileprivate init?(doorName: String, topic: String, sender: String) {
        guard let environment = PushEnvironment(rawValue: doorName) else { return nil }
        self.init(sender: sender, door: .apns(environment, Topic(topic)))
    }
}
