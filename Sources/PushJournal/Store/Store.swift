internal import CRingwakeSQLite
internal import RingwakeCore

/// The SQLite file: what is done to it in one transaction each. It belongs to the journal's thread.
///
/// A store is never opened a second time after a failure. When an `fdatasync` fails, Linux forgets that the pages
/// were not written: a new connection would find the rolled-back frames in the page cache, take them for committed
/// ones, and later commits would stand on what is not on the disk. The connection that saw the failure writes its
/// frames over them instead, so what it syncs is what it wrote. What a new process finds is written again first
/// (``Connection/rewriteLog()``).
nonisolated final class Store {
    /// How many of the newest pushes are looked at for the newest arrival: wall clocks are corrected now and then.
    static let newestArrivalsLookedAt = 1_000

    let path: String
    let connection: Connection
    let statements: StoreStatements
    let clocks: JournalClocks
    let limits: JournalLimits
    /// The row of the present boot.
    let boot: Int64
    var file: StoreFile

    /// Pushes and calls stored.
    var pushCount: Int
    var callCount: Int
    var states: StateTable
    /// Whether there may be entries of callers that no list has.
    var hasRemains = true
    /// The generations of imports that go on.
    var liveImports: Set<Int64> = []
    /// The wall clock of the newest arrival journaled.
    var newestWall: Int64?
    private var lastSequence: Int64

    init(
        path: String, connection: Connection, statements: StoreStatements, clocks: JournalClocks,
        limits: JournalLimits, boot: Int64, file: StoreFile
    ) throws(SQLiteFailure) {
        self.path = path
        self.connection = connection
        self.statements = statements
        self.clocks = clocks
        self.limits = limits
        self.boot = boot
        self.file = file
        pushCount = Int(clamping: try connection.number("SELECT count(*) FROM push"))
        callCount = Int(clamping: try connection.number("SELECT count(*) FROM call"))
        states = try StateTable(connection, limits: limits)
        lastSequence = try connection.number("SELECT max(sequence) FROM push")
        let newest =
            "SELECT max(received_wall) FROM "
            + "(SELECT received_wall FROM push ORDER BY sequence DESC LIMIT \(Self.newestArrivalsLookedAt))"
        newestWall = try Statement(newest, on: connection.database).number()
    }

    /// Both clocks, and what the journal makes of them.
    func times() -> BootTimes {
        BootTimes(boot: boot, now: clocks.boot(), wall: clocks.wall(), newestWall: newestWall, trust: clocks.trust())
    }

    /// The same to write with, when nobody asks whether the wall clock is right.
    func writingTimes() -> BootTimes {
        BootTimes(boot: boot, now: clocks.boot(), wall: clocks.wall(), newestWall: newestWall, trust: .none)
    }

    // MARK: - Transactions

    /// Runs `body` in a transaction of its own: all of it is durable when this returns, or none of it was done.
    func transaction(_ body: () throws(SQLiteFailure) -> Void) throws(SQLiteFailure) {
        let counts = (pushCount, callCount, states)
        do throws(SQLiteFailure) {
            try statements.begin.run()
            try body()
            try statements.commit.run()
        } catch {
            (pushCount, callCount, states) = counts
            try rollBack(after: error)
            throw error
        }
    }

    private func rollBack(after failure: SQLiteFailure) throws(SQLiteFailure) {
        // SQLite ends the transaction itself after some failures.
        guard connection.isInTransaction else { return }
        do throws(SQLiteFailure) {
            try statements.rollback.run()
        } catch {
            guard connection.isInTransaction else { return }
            throw failure
        }
    }

    // MARK: - Parts of a transaction

    /// What became of a push, and whether the record of the call that came with it was written.
    struct Appended {
        let verdict: PushVerdict
        var wroteCall = false
    }

    /// Adds a push, and its call unless the journal has that already.
    func append(
        _ push: PushRecord, payloads: [CallPayload], call: CallRecord?, times: BootTimes
    ) throws(SQLiteFailure) -> Appended {
        StoreRows.bind(push, sequence: lastSequence + 1, times: times, to: statements.insertPush)
        try statements.insertPush.run()
        let isNew = connection.changes == 1
        if isNew {
            lastSequence += 1
            pushCount += 1
        }
        let verdict: PushVerdict = isNew ? .new : .repeated
        guard let call else { return Appended(verdict: verdict) }
        // One push is about one call: what its repeat calls another is not rung for.
        if !isNew, try nameOfCall(of: push) != push.call.rawValue { return Appended(verdict: .callKnown) }

        StoreRows.bind(call, times: times, to: statements.insertCall)
        try statements.insertCall.run()
        let wroteCall = connection.changes == 1
        if wroteCall {
            callCount += 1
        } else if try number(of: call) != call.number {
            return Appended(verdict: .callKnown)
        }
        for payload in payloads { try insert(payload, of: call.number) }
        if let newest = payloads.last?.push, newest > 0, let oldest = call.progress?.oldestUnreadUpdate {
            try deletePayloads(of: call.number, 1..<Int64(oldest))
        }
        return Appended(verdict: verdict, wroteCall: wroteCall)
    }

    /// Writes the whole record of a call that is to ring: the append of its push may have failed.
    func appendRing(_ call: CallRecord, times: BootTimes) throws(SQLiteFailure) -> RingVerdict {
        let isKnown = try number(of: call) != nil
        StoreRows.bind(call, times: times, to: statements.upsertCall)
        try statements.upsertCall.run()
        guard connection.changes == 1 else {
            // Its end may have been written before, with an earlier transaction, and stays.
            return try number(of: call) == call.number ? .recorded : .callKnown
        }
        if !isKnown {
            callCount += 1
            // Until its push comes again: a call without a row here has ended.
            try insert(CallPayload(push: 0, bytes: []), of: call.number)
        }
        if call.state == .ended { try deletePayloads(of: call.number, 0..<Int64.max) }
        return .recorded
    }

    /// Writes the record of a call. One that has neither rung nor ended is changed only where it is: it comes into
    /// the journal with its push, so that what a start finds to deliver again has its payload.
    func write(_ call: CallRecord, times: BootTimes) throws(SQLiteFailure) {
        if call.hasRung || call.state == .ended {
            _ = try appendRing(call, times: times)
        } else {
            StoreRows.bind(call, times: times, to: statements.updateCall)
            try statements.updateCall.run()
        }
    }

    private func insert(_ payload: CallPayload, of call: Int64) throws(SQLiteFailure) {
        statements.insertPayload.bind(call)
        statements.insertPayload.bind(Int64(payload.push))
        statements.insertPayload.bind(payload.bytes)
        try statements.insertPayload.run()
    }

    private func deletePayloads(of call: Int64, _ pushes: Range<Int64>) throws(SQLiteFailure) {
        statements.deletePayloads.bind(call)
        statements.deletePayloads.bind(pushes.lowerBound)
        statements.deletePayloads.bind(pushes.upperBound)
        try statements.deletePayloads.run()
    }

    /// The id of the call that a push was about when it came first.
    private func nameOfCall(of push: PushRecord) throws(SQLiteFailure) -> String? {
        let statement = statements.callOfPush
        statement.bind(push.pushID)
        statement.bind(push.app.rawValue)
        statement.bind(push.provenance.doorName)
        statement.bind(push.provenance.sender)
        defer { statement.reset() }
        return try statement.next() ? statement.text() : nil
    }

    /// The number of the call that the journal has under the name of `call`, of its app and sender.
    private func number(of call: CallRecord) throws(SQLiteFailure) -> Int64? {
        statements.numberOfCall.bind(call.key.id.rawValue)
        statements.numberOfCall.bind(call.key.app.rawValue)
        statements.numberOfCall.bind(call.provenance.sender)
        return try statements.numberOfCall.number()
    }
}
