internal import CRingwakeSQLite
internal import DataProtection
internal import Database
internal import RingwakeCore
internal import StoreMigration

/// The SQLite file, and the parts of its transactions. It belongs to the journal's thread.
///
/// A store is never reopened after a failure. If an `fdatasync` fails, Linux marks the pages as clean although they
/// were not written. A new connection would find the rolled-back frames in the page cache and treat them as committed.
/// Later commits would depend on data that is not on disk. The connection that saw the failure writes its frames over
/// them instead, so it syncs what it wrote. A new process writes the existing log again first
/// (``Connection/rewriteLog()``).
nonisolated final class Store {
    /// The number of newest pushes in which the newest arrival is searched: wall clocks are corrected now and then.
    static let newestArrivalsLookedAt = 1_000

    let path: String
    let connection: Connection
    let statements: StoreStatements
    let clocks: JournalClocks
    let limits: JournalLimits
    let vault: RecordVault
    private let versions: StoreVersions
    /// The row of the present boot.
    let boot: Int64
    var file: StoreFile
    private let seal: StoreSeal
    /// How far this store is committed.
    private(set) var position: StorePosition

    /// Stored pushes and calls.
    var pushCount: Int
    var callCount: Int
    var states: StateTable
    /// Linked devices and their waiting pushes.
    let links: LinkTables
    /// Whether there may be entries that belong to no list.
    var hasRemains = true
    /// The generations of imports in progress.
    var liveImports: Set<Int64> = []
    /// The wall clock of the newest journaled arrival.
    var newestWall: Int64?
    private var nextSequence: Int64

    init(
        path: String, connection: Connection, statements: StoreStatements, clocks: JournalClocks,
        limits: JournalLimits, versions: StoreVersions, vault: RecordVault, boot: Int64, file: StoreFile,
        seal: StoreSeal
    ) throws(SQLiteFailure) {
        self.path = path
        self.connection = connection
        self.statements = statements
        self.clocks = clocks
        self.limits = limits
        self.versions = versions
        self.vault = vault
        self.boot = boot
        self.file = file
        pushCount = Int(clamping: try connection.number("SELECT count(*) FROM push"))
        callCount = Int(clamping: try connection.number("SELECT count(*) FROM call"))
        states = try StateTable(connection, vault, limits: limits)
        links = try LinkTables(connection, boot: boot)
        nextSequence = try connection.successor("SELECT max(sequence) FROM push")
        let newest =
            "SELECT max(received_wall) FROM "
            + "(SELECT received_wall FROM push ORDER BY sequence DESC LIMIT \(Self.newestArrivalsLookedAt))"
        newestWall = try Statement(newest, on: connection.database).number()
        self.seal = seal
        position = StorePosition(
            store: try connection.number("SELECT store FROM epoch"),
            epoch: try connection.successor("SELECT number FROM epoch") - 1, logPages: 0, newestPush: nextSequence - 1)
    }

    deinit {
        // SQLite would move the log into the store at the end, and the seal would say that the log is lost. An empty log is
        // removed, which may be on the disk before the seal that says that it is empty.
        if connection.logPages > 0 || !seal.makeDurable() { connection.leaveLogAtClose() }
    }

    /// Cuts the log to nothing, once everything is in the store.
    func cutLog() throws(SQLiteFailure) {
        try checkpoint()
        // If that fails, the log is cut all the same: what it contains must not stay.
        _ = seal.makeDurable()
        try connection.run("PRAGMA wal_checkpoint(TRUNCATE)")
        writeSeal()
    }

    /// Overwrites what is left of former rows in the store: in its free pages, in the unused parts of others, and in the log.
    func clearRemains() throws(SQLiteFailure) {
        try giveBackPages(Int(Int32.max))
        try checkpoint()
        file.noteWork(isInStore: true)
        // What SQLite has in its cache would be written again with a page that changes.
        sqlite3_db_release_memory(connection.database)
        var pages = try StorePages(connection)
        try pages.clearGaps()
        try cutLog()
    }

    /// Names this store.
    var epochText: String { String(UInt64(bitPattern: position.store), radix: 16) }

    /// Notes outside the store how far it is committed. Without its files, what is committed is lost.
    /// - Parameter isInStore: whether the last work was on the store, and not on its log only.
    func writeSeal(isInStore: Bool = true) {
        guard file.noteWork(isInStore: isInStore) else { return }
        position.logPages = Int64(connection.logPages)
        position.newestPush = nextSequence - 1
        seal.write(StoreSeal.Contents(position: position, stamp: file.stamp))
    }

    /// Moves the log into the store.
    func checkpoint() throws(SQLiteFailure) {
        do throws(SQLiteFailure) {
            try connection.checkpoint()
        } catch {
            file.noteWork(isInStore: true)
            throw error
        }
        writeSeal()
    }

    func report() throws(SQLiteFailure) -> StoreReport {
        try StoreReport(connection, path: path, versions: versions)
    }

    /// Both clocks, and the checks of the wall clock.
    func times() -> BootTimes {
        BootTimes(boot: boot, now: clocks.boot(), wall: clocks.wall(), newestWall: newestWall, trust: clocks.trust())
    }

    /// The same for writing, which doesn't need to know whether the wall clock is right.
    func writingTimes() -> BootTimes {
        BootTimes(boot: boot, now: clocks.boot(), wall: clocks.wall(), newestWall: newestWall, trust: .none)
    }

    // MARK: - Transactions

    /// Runs `body` in its own transaction: when this returns, all of it is durable; when it throws, nothing was
    /// changed.
    func transaction(_ body: () throws(SQLiteFailure) -> Void) throws(SQLiteFailure) {
        let former = (pushCount, callCount, states, position, nextSequence, newestWall)
        do throws(SQLiteFailure) {
            try statements.begin.run()
            let changesBefore = connection.totalChanges
            try body()
            if connection.logPages == 0, connection.totalChanges != changesBefore {
                position.epoch += 1
                try statements.setEpoch.run(position.epoch)
            }
            try statements.commit.run()
        } catch {
            (pushCount, callCount, states, position, nextSequence, newestWall) = former
            // What it has written to the log is ours.
            defer { file.noteWork(isInStore: false) }
            try rollBack(after: error)
            throw error
        }
        writeSeal(isInStore: false)
    }

    private func rollBack(after failure: SQLiteFailure) throws(SQLiteFailure) {
        // After some failures SQLite has already rolled back.
        guard connection.isInTransaction else { return }
        do throws(SQLiteFailure) {
            try statements.rollback.run()
        } catch {
            guard connection.isInTransaction else { return }
            throw failure
        }
    }

    // MARK: - Parts of a transaction

    /// The result of appending a push, and whether the record of its call was written.
    struct Appended {
        let verdict: PushVerdict
        var wroteCall = false
    }

    /// Adds a push, and its call unless the journal already has it.
    func append(
        _ push: PushRecord, payloads: [CallPayload], call: CallRecord?, times: BootTimes
    ) throws(SQLiteFailure) -> Appended {
        StoreRows.bind(push, sequence: nextSequence, times: times, to: statements.insertPush)
        try statements.insertPush.run()
        let isNew = connection.changes == 1
        if isNew {
            nextSequence += 1
            pushCount += 1
        }
        let verdict: PushVerdict = isNew ? .new : .repeated
        guard let call else { return Appended(verdict: verdict) }
        // A push belongs to one call. If a repeat names another call, that call must not ring.
        if !isNew, try nameOfCall(of: push) != push.call.rawValue { return Appended(verdict: .callKnown) }

        try StoreRows.bind(call, times: times, sealing: vault, to: statements.insertCall)
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

    /// Writes the complete record of a call that rings, because the append of its push may have failed.
    func appendRing(_ call: CallRecord, times: BootTimes) throws(SQLiteFailure) -> RingVerdict {
        let isKnown = try number(of: call) != nil
        try StoreRows.bind(call, times: times, sealing: vault, to: statements.upsertCall)
        try statements.upsertCall.run()
        guard connection.changes == 1 else {
            // An earlier transaction may have written its end, which stays.
            return try number(of: call) == call.number ? .recorded : .callKnown
        }
        if !isKnown {
            callCount += 1
            // An empty payload until its push arrives again: a call without a payload row counts as ended.
            try insert(CallPayload(push: 0, bytes: []), of: call.number)
        }
        if call.state == .ended { try deletePayloads(of: call.number, 0..<Int64.max) }
        return .recorded
    }

    /// Writes the record of a call. One that a push started, and that has neither rung nor ended, is only updated: its
    /// push adds it to the journal, so that every call that a restart delivers again has its payload.
    func write(_ call: CallRecord, times: BootTimes) throws(SQLiteFailure) {
        if call.isAddedByWrite {
            _ = try appendRing(call, times: times)
        } else {
            try StoreRows.bind(call, times: times, sealing: vault, to: statements.updateCall)
            try statements.updateCall.run()
        }
    }

    private func insert(_ payload: CallPayload, of call: Int64) throws(SQLiteFailure) {
        statements.insertPayload.bind(call)
        statements.insertPayload.bind(Int64(payload.push))
        statements.insertPayload.bind(
            try payload.bytes.isEmpty
                ? []
                : vault.record(
                    payload.bytes, .payloads, place: StoreRecords.payload(call: call, push: Int64(payload.push))))
        try statements.insertPayload.run()
    }

    private func deletePayloads(of call: Int64, _ pushes: Range<Int64>) throws(SQLiteFailure) {
        statements.deletePayloads.bind(call)
        statements.deletePayloads.bind(pushes.lowerBound)
        statements.deletePayloads.bind(pushes.upperBound)
        try statements.deletePayloads.run()
    }

    /// The id of the call that a push was for when it first arrived.
    private func nameOfCall(of push: PushRecord) throws(SQLiteFailure) -> String? {
        let statement = statements.callOfPush
        statement.bind(push.pushID)
        statement.bind(push.app.rawValue)
        statement.bind(push.provenance.doorName)
        statement.bind(push.provenance.sender)
        defer { statement.reset() }
        return try statement.next() ? statement.text() : nil
    }

    /// The number of the journal's call with the id, app and sender of `call`.
    private func number(of call: CallRecord) throws(SQLiteFailure) -> Int64? {
        statements.numberOfCall.bind(call.key.id.rawValue)
        statements.numberOfCall.bind(call.key.app.rawValue)
        statements.numberOfCall.bind(call.provenance.sender)
        return try statements.numberOfCall.number()
    }
}
