package import DataProtection
internal import Database
internal import FoundationEssentials
package import RingwakeCore
internal import StoreMigration

/// Adds the records of an export to a store that no daemon has open, all or nothing. What the store has already stays as
/// it is, and is counted as skipped.
///
/// Calls that had not ended are of another boot now: the next start of the daemon ends them, as after a restart of the
/// machine.
package nonisolated struct PortableImport {
    /// Maximum bytes of a line: more than any row with its bytes in Base64.
    package static let maximumLineBytes = 4 << 20

    /// Records by kind.
    package struct Outcome: Hashable, Sendable {
        package internal(set) var added: [String: Int] = [:]
        package internal(set) var skipped: [String: Int] = [:]
        /// The apps that have another identifier now and had records.
        package internal(set) var renamed: Set<AppID> = []
        /// When the newest push arrived, in milliseconds since 1970; nil: none was added.
        package internal(set) var newestArrival: Int64?
    }

    private let store: Store
    private let path: String
    private let boot: Int64
    /// The pushes that the store had before.
    private let found: Int64
    /// New identifiers of apps by their former ones.
    private let apps: [AppID: AppID]
    /// Added to the numbers of calls: the store may have calls with these numbers.
    private let offset: Int64
    private var generations: [String: Int64] = [:]
    private var outcome = Outcome()
    private var line: Int64 = 0
    private var end: Int64?

    private var connection: Connection { store.connection }

    /// Runs an import.
    /// - Parameters:
    ///   - directory: the state directory, whose lock the caller holds.
    ///   - apps: new identifiers of apps by their former ones.
    ///   - keys: of the store: new records are written with them.
    ///   - next: the next line, without its end; nil after the last one.
    /// - Throws: `invalidRequest` with the line's number if it is no export; the store is unchanged then.
    package static func run(
        inDirectory directory: String, limits: JournalLimits, clocks: JournalClocks,
        renaming apps: [AppID: AppID] = [:], keys: KeyRing = .off,
        next: () throws(RingwakeError) -> [UInt8]?
    ) throws(RingwakeError) -> Outcome {
        let order = StoreOpening.Order(
            directory: directory, vfs: nil, limits: limits, clocks: clocks, versions: StoreModels.all,
            vault: RecordVault(keys), report: { _ in })
        let store: Store
        do throws(StoreOpeningFailure) {
            store = try StoreOpening.open(order).store
        } catch {
            throw error.error
        }
        var refusal: RingwakeError?
        do throws(SQLiteFailure) {
            var result = Outcome()
            try store.transaction { () throws(SQLiteFailure) in
                var portable = try PortableImport(store, apps)
                do throws(RingwakeError) {
                    while let bytes = try next() { try portable.take(bytes) }
                    try portable.finish()
                } catch {
                    refusal = error
                    // Rolls back.
                    throw SQLiteFailure(extendedCode: 0, text: error.message)
                }
                result = portable.outcome
            }
            try store.checkpoint()
            return result
        } catch {
            throw refusal ?? StoreError.of(error, path: order.path)
        }
    }

    private init(_ store: Store, _ apps: [AppID: AppID]) throws(SQLiteFailure) {
        self.store = store
        self.apps = apps
        path = store.path
        offset = try store.connection.number("SELECT max(number) FROM call")
        found = try store.connection.number("SELECT count(*) FROM push")
        boot = try store.connection.successor("SELECT max(id) FROM boot")
        // No boot has this name.
        try store.connection.run("INSERT INTO boot (id, name) VALUES (?1, ?2)", boot, "import-\(boot)")
    }

    private func wrong(_ why: String) -> RingwakeError {
        RingwakeError(.invalidRequest, "line \(line) is no record of an export: \(why); nothing was imported.")
    }

    private mutating func take(_ bytes: [UInt8]) throws(RingwakeError) {
        line += 1
        let record: PortableRecord
        do {
            record = try JSONDecoder().decode(PortableRecord.self, from: Data(bytes))
        } catch let error as DecodingError {
            throw wrong(PortableImport.describe(error))
        } catch {
            throw wrong("\(error)")
        }
        if line == 1 {
            guard case .header = record else { throw wrong("it has to begin with a header") }
        }
        guard end == nil else { throw wrong("it comes after the end") }
        do throws(SQLiteFailure) {
            try add(record)
        } catch {
            throw error.extendedCode == 0 ? wrong(error.text) : StoreError.of(error, path: path)
        }
    }

    /// The error of a record that is well formed and can't be.
    private func unfit(_ why: String) -> SQLiteFailure { SQLiteFailure(extendedCode: 0, text: why) }

    private mutating func add(_ record: PortableRecord) throws(SQLiteFailure) {
        switch record {
        case .header(let schema):
            guard line == 1 else { throw unfit("there is a second header") }
            guard schema <= PortableExport.schema else {
                throw unfit("it has schema \(schema), and this program reads \(PortableExport.schema)")
            }
        case .end(let records): end = records
        case .unknown: count("unknown", wasAdded: false)
        case .call(let call): try add(call)
        case .payload(let payload): try add(payload)
        case .push(let push): try add(push)
        case .state(let state): try add(state)
        case .list(let list): try add(list)
        case .listEntry(let entry): try add(entry)
        case .device(let device):
            guard let bytes = device.bytes else { throw unfit("the device has no contents") }
            let insert = try connection.statement(
                "INSERT OR IGNORE INTO device (id, version, data) VALUES (?1, ?2, ?3)")
            try run(insert, "device", .text(device.id), .integer(device.version), .blob(bytes))
        case .mail(let mail): try add(mail)
        }
    }

    private mutating func run(
        _ insert: Statement, _ kind: String, _ values: StoreValue...
    ) throws(SQLiteFailure) {
        insert.bind(values)
        try insert.run()
        count(kind, wasAdded: connection.changes > 0)
    }

    private mutating func count(_ kind: String, wasAdded: Bool) {
        if wasAdded { outcome.added[kind, default: 0] += 1 } else { outcome.skipped[kind, default: 0] += 1 }
    }

    private func number(_ number: Int64) throws(SQLiteFailure) -> Int64 {
        let (sum, overflow) = number.addingReportingOverflow(offset)
        guard !overflow, CallRecord.numbers.contains(number), CallRecord.numbers.contains(sum) else {
            throw unfit("no call has the number \(number)")
        }
        return sum
    }

    /// The app as it is called here; nil if it is none.
    private mutating func app(_ text: String) -> AppID? {
        guard let former = AppID(text), let new = apps[former] else { return AppID(text) }
        outcome.renamed.insert(former)
        return new
    }

    private func topic(_ topic: String, of former: AppID, as app: AppID) -> String {
        topic == Topic.voip(of: former).rawValue ? Topic.voip(of: app).rawValue : topic
    }

    private mutating func add(_ call: PortableRecord.Call) throws(SQLiteFailure) {
        guard let facts = call.facts else { return count("call", wasAdded: false) }
        let number = try number(call.number)
        let state = CallStateMachine.State.Name(rawValue: call.state)
        let record = app(call.app).flatMap { app in
            state.flatMap { state in
                facts.record(
                    number: number, key: CallKey(app: app, id: CallID(call.id)), sender: call.sender, state: state,
                    receivedAt: BootInstant(nanoseconds: 0), receivedWallClock: call.received_ms)
            }
        }
        guard let record, call.version == CallSnapshot.version, state != .ended || record.reason != nil else {
            throw unfit("the call '\(call.id)' is none that this program knows")
        }
        try StoreRows.bind(record, times: times, sealing: store.vault, to: store.statements.insertCall)
        try store.statements.insertCall.run()
        count("call", wasAdded: connection.changes > 0)
    }

    /// Rows are of a boot of their own, in which everything arrived at its beginning.
    private var times: BootTimes {
        BootTimes(boot: boot, now: BootInstant(nanoseconds: 0), wall: 0, newestWall: nil, trust: .none)
    }

    private mutating func add(_ payload: PortableRecord.Payload) throws(SQLiteFailure) {
        guard let data = payload.data else { return count("payload", wasAdded: false) }
        guard let bytes = PortableRecord.bytes(data), payload.push >= 0 else {
            throw unfit("the payload is not in Base64")
        }
        let insert = try connection.statement(Schema.insertPayload)
        let call = try number(payload.call)
        let record =
            try bytes.isEmpty
            ? []
            : store.vault.record(
                bytes, .payloads, place: StoreRecords.payload(call: call, push: payload.push))
        try run(insert, "payload", .integer(call), .integer(payload.push), .blob(record))
    }

    private mutating func add(_ push: PortableRecord.Push) throws(SQLiteFailure) {
        guard let former = AppID(push.app), let app = app(push.app), PushEnvironment(rawValue: push.environment) != nil,
            PushOutcome(rawValue: push.outcome) != nil, PushPriority(rawValue: Int(clamping: push.priority)) != nil
        else { throw unfit("the push '\(push.id)' is none that this program knows") }
        let insert = store.statements.insertPush
        insert.bind(try connection.successor("SELECT max(sequence) FROM push"))
        try run(
            insert, "push", .text(push.id), .text(app.rawValue), .text(topic(push.topic, of: former, as: app)),
            .text(push.environment),
            .text(push.sender), .integer(push.priority), push.collapse_id.map(StoreValue.text) ?? .null,
            .text(push.call), .text(push.outcome), .integer(boot), .integer(0), .integer(push.received_ms),
            push.journaled_ns.map(StoreValue.integer) ?? .null)
        outcome.newestArrival = max(outcome.newestArrival ?? .min, push.received_ms)
    }

    private mutating func add(_ state: PortableRecord.State) throws(SQLiteFailure) {
        // It could not be read when the export was made.
        if state.json == nil, state.data == nil { return count("state", wasAdded: false) }
        guard let bytes = state.bytes, StatePath.isUsable(state.path), bytes.count <= store.limits.maximumStateBytes
        else {
            throw unfit("the state '\(state.path)' has no contents, or too many")
        }
        let insert = try connection.statement(
            "INSERT OR IGNORE INTO state (path, version, boot, written_boot, written_wall, data) "
                + "VALUES (?1, ?2, ?3, 0, ?4, ?5)")
        let path = StatePath.renamed(state.path, apps)
        try run(
            insert, "state", .text(path), .integer(state.version), .integer(boot), .integer(state.written_ms),
            .blob(store.vault.record(bytes, StoreRecords.kind(ofState: path), place: path)))
    }

    private mutating func add(_ list: PortableRecord.List) throws(SQLiteFailure) {
        guard let kind = CallerListKind(rawValue: list.type) else {
            throw unfit("the list '\(list.name)' is of an unknown type, '\(list.type)'")
        }
        if let known = try store.list(named: list.name) {
            // Entries that block must not become some that identify, nor the other way.
            if known.record.kind == kind { generations[list.name] = known.generation }
            return count("list", wasAdded: false)
        }
        let generation = try store.nextGeneration()
        generations[list.name] = generation
        let record = CallerListRecord(
            name: list.name, kind: kind, source: list.source, etag: list.etag, updatedWallClock: list.updated_ms,
            entries: 0)
        try store.write(StoredList(record: record, generation: generation))
        count("list", wasAdded: true)
    }

    private mutating func add(_ entry: PortableRecord.ListEntry) throws(SQLiteFailure) {
        // It could not be read when the export was made.
        guard let generation = generations[entry.list], let text = entry.pattern else {
            return count("list_entry", wasAdded: false)
        }
        guard let pattern = try? CallerPattern(text) else {
            throw unfit("the list '\(entry.list)' has an entry that is no caller or pattern, '\(text)'")
        }
        let row = try ListRecords(vault: store.vault).row(
            of: CallerEntry(pattern: pattern, label: entry.label), in: generation)
        let insert = try connection.statement(
            "INSERT OR IGNORE INTO list_entry (generation, key, entry) VALUES (?1, ?2, ?3)")
        try run(insert, "list_entry", .integer(generation), .blob(row.key), .blob(row.record))
    }

    private mutating func add(_ mail: PortableRecord.Mail) throws(SQLiteFailure) {
        guard let facts = mail.bytes, let payload = PortableRecord.bytes(mail.payload), let run = UInt64(mail.run),
            let sequence = UInt64(mail.sequence)
        else { throw unfit("the waiting push of '\(mail.device)' is not complete") }
        let insert = try connection.statement(
            "INSERT OR IGNORE INTO mail (run, sequence, device, boot, received_boot, received_wall, version, facts, payload) "
                + "VALUES (?1, ?2, ?3, ?4, 0, ?5, ?6, ?7, ?8)")
        try self.run(
            insert, "mail", .integer(Int64(bitPattern: run)), .integer(Int64(bitPattern: sequence)), .text(mail.device),
            .integer(boot), .integer(mail.received_ms), .integer(mail.version), .blob(facts), .blob(payload))
    }

    // MARK: - The end

    /// Checks that nothing is missing, and that the store is one that a daemon can have written.
    private func finish() throws(RingwakeError) {
        guard line > 0 else { throw RingwakeError(.invalidRequest, "the export is empty; nothing was imported.") }
        guard let end, end == line - 2 else {
            throw RingwakeError(
                .invalidRequest,
                "the export is cut: \(end.map { "it should have \($0) records, and has \(line - 2)" } ?? "its end is missing"); "
                    + "nothing was imported.")
        }
        do throws(SQLiteFailure) {
            // A start finds the calls that have not ended by their payloads.
            try connection.run(
                "INSERT INTO payload (call, push, bytes) SELECT number, 0, x'' FROM call WHERE state <> 'ended' "
                    + "AND number NOT IN (SELECT call FROM payload)")
            try connection.run(
                "UPDATE list SET entries = (SELECT count(*) FROM list_entry WHERE list_entry.generation = list.generation)"
            )
            if !generations.isEmpty { try connection.run("UPDATE list_stamp SET stamp = random()") }
            // What was added may have other keys than the present ones: the next start looks.
            if !outcome.added.isEmpty { try Rekeying.forget(connection) }
            let limits = store.limits
            // Otherwise the next push would remove what was here for what is older.
            let added = try connection.number("SELECT count(*) FROM push") - found
            guard found == 0 || added == 0 || found + added <= Int64(limits.maximumPushes) else {
                throw unfit(
                    "the store has \(found) pushes and would get \(added) more, and journal.pushes is \(limits.maximumPushes): "
                        + "raise it before")
            }
            for (what, sql, limit) in [
                ("lists", "SELECT count(*) FROM list", limits.maximumLists),
                ("entries of lists", "SELECT sum(entries) FROM list", limits.maximumListEntries),
                ("rows of state", "SELECT count(*) FROM state", limits.maximumStates),
                ("bytes of state", "SELECT sum(\(StateTable.size)) FROM state", limits.maximumStatesBytes),
            ] where try connection.number(sql) > Int64(limit) {
                throw unfit("the store would have more than \(limit) \(what)")
            }
        } catch {
            throw error.extendedCode == 0
                ? RingwakeError(.limitReached, "\(error.text); nothing was imported.")
                : StoreError.of(error, path: path)
        }
    }

    private static func describe(_ error: DecodingError) -> String {
        switch error {
        case .keyNotFound(let key, _): return "'\(key.stringValue)' is missing"
        case .typeMismatch(_, let context), .valueNotFound(_, let context), .dataCorrupted(let context):
            let place = context.codingPath.map(\.stringValue).joined(separator: ".")
            var why = context.debugDescription
            if why.hasSuffix(".") { why.removeLast() }
            return place.isEmpty ? why : "\(place): \(why)"
        @unknown default: return "\(error)"
        }
    }
}
