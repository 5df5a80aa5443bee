internal import DataProtection
internal import Database
internal import RingwakeCore

/// Writes records again whose key is not the present one of their kind's class: after a new key, another class, or the
/// beginning of protection. It works in small transactions, between which the caller looks for work.
nonisolated struct Rekeying {
    /// Rows that a step reads.
    private static let step = 128

    /// One table with records, and how one of its rows is found, opened and written.
    private struct Pass: Sendable {
        let kind: ProtectedKind
        let table: String
        /// Selects the rows after the one with these keys, each with its record last.
        let select: String
        /// Writes what `seal` makes to the row with these keys, which are the last parameters.
        let update: String
        /// The number of keys.
        let keys: Int
        /// The keys before the first row.
        let start: [StoreValue]
        /// Nil: the record of the same content. For a row that no version writes, nothing.
        var seal: (@Sendable ([StoreValue], _ content: [UInt8], RecordVault) throws(SQLiteFailure) -> [StoreValue])?
        let place: @Sendable ([StoreValue]) -> String?
    }

    private static let passes: [Pass] = [
        // First, because changes of lists wait for it: else the same pattern could have two keys.
        Pass(
            kind: .lists, table: "list_entry",
            select: "SELECT generation, key, entry FROM list_entry WHERE (generation, key) > (?1, ?2) "
                + "ORDER BY generation, key LIMIT ?3",
            update: "UPDATE OR REPLACE list_entry SET key = ?1, entry = ?2 WHERE generation = ?3 AND key = ?4", keys: 2,
            start: [.integer(.min), .blob([])],
            seal: { (keys, content, vault) throws(SQLiteFailure) in
                guard case .integer(let generation) = keys[0], case .blob(let key) = keys[1],
                    let entry = ListRecords.entry(key: key, content: content)
                else { return [] }
                let row = try ListRecords(vault: vault).row(of: entry, in: generation)
                return [.blob(row.key), .blob(row.record)]
            }
        ) { keys in
            guard case .integer(let generation) = keys[0], case .blob(let key) = keys[1] else { return nil }
            return ListRecords.place(generation, key)
        },
        Pass(
            kind: .payloads, table: "payload",
            select: "SELECT call, push, bytes FROM payload WHERE (call, push) > (?1, ?2) ORDER BY call, push LIMIT ?3",
            update: "UPDATE payload SET bytes = ?1 WHERE call = ?2 AND push = ?3",
            keys: 2,
            start: [.integer(.min), .integer(.min)]
        ) { keys in
            guard case .integer(let call) = keys[0], case .integer(let push) = keys[1] else { return nil }
            return StoreRecords.payload(call: call, push: push)
        },
        Pass(
            kind: .callers, table: "call",
            select: "SELECT number, caller FROM call WHERE number > ?1 ORDER BY number LIMIT ?2",
            update: "UPDATE call SET caller = ?1 WHERE number = ?2",
            keys: 1, start: [.integer(.min)]
        ) { keys in
            guard case .integer(let number) = keys[0] else { return nil }
            return StoreRecords.caller(call: number)
        },
        Pass(
            kind: .appState, table: "state",
            select: "SELECT path, data FROM state WHERE path > ?1 AND path LIKE 'app/%' ORDER BY path LIMIT ?2",
            update: "UPDATE state SET data = ?1 WHERE path = ?2",
            keys: 1, start: [.text("")]
        ) { keys in
            guard case .text(let path) = keys[0] else { return nil }
            return StoreRecords.kind(ofState: path) == .appState ? path : nil
        },
    ]

    /// The passes that are not finished, and the keys of the last row that the first of them has looked at.
    private var waiting: ArraySlice<Pass> = []
    private var position: [StoreValue] = []
    /// Kinds with a row that could not be opened: nothing is known of them until there are other keys.
    private var blocked: Set<ProtectedKind> = []
    /// Whether something was encrypted that was stored as it is.
    private var hasHidden = false
    /// Rows that were looked at and written since the keys changed.
    private(set) var looked: Int64 = 0
    private(set) var written = 0
    /// Rows to look at.
    private(set) var total: Int64 = 0

    /// The keys have changed, or the store was opened.
    mutating func begin(_ store: Store) throws(SQLiteFailure) {
        let present = try Self.settled(store)
        waiting =
            Self.passes.filter { pass in
                let key = Key(store.vault.ring.header(of: pass.kind))
                // What is stored must not be lost with keys that end with this process.
                return present[pass.kind] ?? Self.unprotected != key
                    && !ClassKey.temporaryGenerations.contains(key.generation)
            }[...]
        (position, blocked, hasHidden, looked, written, total) = ([], [], false, 0, 0, 0)
        if waiting.first?.kind == .lists, !ListRecords(vault: store.vault).canMakeKeys {
            blocked.insert(.lists)
            waiting.removeFirst()
        }
        for pass in waiting { total += try store.connection.number("SELECT count(*) FROM \(pass.table)") }
    }

    /// Whether there is something to do.
    var isDue: Bool { !waiting.isEmpty }

    /// Whether there is something to do in lists of callers.
    var isDueForLists: Bool { waiting.first?.kind == .lists }

    /// Whether all records have the present key of their class.
    var isComplete: Bool { waiting.isEmpty && blocked.isEmpty }

    /// Takes one step, in its own transaction.
    mutating func step(_ store: Store) throws(SQLiteFailure) {
        guard let pass = waiting.first else { return }
        let rows = try rows(of: pass, in: store)
        looked += Int64(rows.count)
        let changes = blocked.contains(pass.kind) ? [] : try changes(of: rows, pass, store)
        if !changes.isEmpty {
            try store.transaction { () throws(SQLiteFailure) in
                for change in changes {
                    let update = try store.connection.statement(pass.update)
                    update.bind(change.values + change.keys)
                    try update.run()
                }
            }
            written += changes.count
        }
        if let last = rows.last, rows.count == Self.step, !blocked.contains(pass.kind) {
            position = last.keys
            return
        }
        position = []
        waiting = waiting.dropFirst()
        if !blocked.contains(pass.kind) { try finish(pass.kind, store) }
    }

    private struct Row {
        let keys: [StoreValue]
        let record: [UInt8]
    }

    private func rows(of pass: Pass, in store: Store) throws(SQLiteFailure) -> [Row] {
        let select = try store.connection.statement(pass.select)
        select.bind(position.isEmpty ? pass.start : position)
        select.bind(Int64(Self.step))
        var rows: [Row] = []
        while try select.next() {
            let keys = (0..<pass.keys).map { _ in select.value() }
            rows.append(Row(keys: keys, record: select.bytes()))
        }
        return rows
    }

    /// A row, and what is written to it.
    private struct Change {
        let keys: [StoreValue]
        let values: [StoreValue]
    }

    private mutating func changes(of rows: [Row], _ pass: Pass, _ store: Store) throws(SQLiteFailure) -> [Change] {
        var changes: [Change] = []
        var contents: [(keys: [StoreValue], place: String, content: [UInt8])] = []
        for row in rows {
            guard let header = RecordHeader(row.record), store.vault.ring.isOutdated(header, of: pass.kind),
                let place = pass.place(row.keys)
            else { continue }
            do throws(RecordFailure) {
                let content = try store.vault.open(row.record, pass.kind, place: place)
                contents.append((row.keys, place, content))
                hasHidden = hasHidden || header.form == .plain
            } catch {
                // One that nobody can read any more stays as it is, until it is too old.
                if case .locked = error { blocked.insert(pass.kind) }
            }
        }
        for (keys, place, content) in contents {
            let values: [StoreValue] =
                if let seal = pass.seal {
                    try seal(keys, content, store.vault)
                } else {
                    [.blob(try store.vault.record(content, pass.kind, place: place))]
                }
            if !values.isEmpty { changes.append(Change(keys: keys, values: values)) }
        }
        return changes
    }

    /// Notes that all records of a kind have its present key. What was stored as it is must not stay in free pages or the
    /// log.
    private mutating func finish(_ kind: ProtectedKind, _ store: Store) throws(SQLiteFailure) {
        let key = Key(store.vault.ring.header(of: kind))
        try store.transaction { () throws(SQLiteFailure) in
            try store.connection.run(
                "INSERT INTO protection (kind, class, generation) VALUES (?1, ?2, ?3) "
                    + "ON CONFLICT (kind) DO UPDATE SET class = ?2, generation = ?3",
                kind.rawValue, key.protection.rawValue, Int64(key.generation))
        }
        guard hasHidden else { return }
        hasHidden = false
        try store.giveBackPages(Int(Int32.max))
        try store.cutLog()
    }

    // MARK: - What is settled

    private struct Key: Equatable {
        let protection: ProtectionClass
        let generation: UInt32

        init(protection: ProtectionClass, generation: UInt32) {
            self.protection = protection
            self.generation = generation
        }

        init(_ header: RecordHeader) {
            self.init(protection: header.protection, generation: header.generation)
        }
    }

    private static let unprotected = Key(protection: .none, generation: 0)

    /// The keys that all records of a kind have at least.
    private static func settled(_ store: Store) throws(SQLiteFailure) -> [ProtectedKind: Key] {
        let select = try store.connection.statement("SELECT kind, class, generation FROM protection")
        var settled: [ProtectedKind: Key] = [:]
        while try select.next() {
            let (kind, protection) = (ProtectedKind(rawValue: select.text()), ProtectionClass(rawValue: select.text()))
            let generation = UInt32(exactly: select.integer())
            guard let kind, let protection, let generation else { continue }
            settled[kind] = Key(protection: protection, generation: generation)
        }
        return settled
    }
}
