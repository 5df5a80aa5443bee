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
        /// Runs before ``update``, with the same parameters.
        var before: String?
        /// The number of keys.
        let keys: Int
        /// The keys before the first row.
        let start: [StoreValue]
        /// Nil: the record of the same content. For a row that no version writes, nothing.
        var seal: (@Sendable ([StoreValue], _ content: [UInt8], RecordVault) throws(SQLiteFailure) -> [StoreValue])?
        /// Removes the row with these keys, whose record nobody can read any more; empty: it stays until it is too old.
        var remove: [String] = []
        let place: @Sendable ([StoreValue]) -> String?
    }

    private static let passes: [Pass] = [
        // First, because changes of lists wait for it: else the same pattern could have two keys.
        Pass(
            kind: .lists, table: "list_entry",
            select: "SELECT generation, key, entry FROM list_entry WHERE (generation, key) > (?1, ?2) "
                + "ORDER BY generation, key LIMIT ?3",
            update: "UPDATE OR REPLACE list_entry SET key = ?1, entry = ?2 WHERE generation = ?3 AND key = ?4",
            // An import may have added what was there already, under another key: then one of the two is left.
            before: "UPDATE list SET entries = max(0, entries - 1) WHERE generation = ?3 AND ?1 <> ?4 AND EXISTS "
                + "(SELECT 1 FROM list_entry WHERE generation = ?3 AND key = ?1 AND ?2 IS NOT NULL)",
            keys: 2,
            start: [.integer(.min), .blob([])],
            seal: { (keys, content, vault) throws(SQLiteFailure) in
                guard case .integer(let generation) = keys[0], case .blob(let key) = keys[1],
                    let entry = ListRecords.entry(key: key, content: content)
                else { return [] }
                let row = try ListRecords(vault: vault).row(of: entry, in: generation)
                return [.blob(row.key), .blob(row.record)]
            },
            remove: [
                "UPDATE list SET entries = max(0, entries - 1) WHERE generation = ?1 AND EXISTS "
                    + "(SELECT 1 FROM list_entry WHERE generation = ?1 AND key = ?2)",
                "DELETE FROM list_entry WHERE generation = ?1 AND key = ?2",
            ]
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
    /// Kinds with a row that could not be opened, and the class that keeps from it: nothing is known of them until there are
    /// other keys.
    private var blocked: [ProtectedKind: ProtectionClass] = [:]
    /// Kinds of which something may be, or may have been, stored as it is.
    private var unhidden: Set<ProtectedKind> = []
    /// Rows that were looked at since the keys changed.
    private(set) var looked: Int64 = 0
    /// Rows that were written since all had their present keys, whatever keys came meanwhile.
    private var written = 0
    /// Rows that were removed because nobody can read them any more.
    private var removed = 0
    /// Rows to look at.
    private(set) var total: Int64 = 0

    /// The keys have changed, or the store was opened.
    mutating func begin(_ store: Store) throws(SQLiteFailure) {
        // If this fails, nothing is settled, and nothing of the former keys goes on.
        (waiting, position, looked, total) = ([], [], 0, 0)
        blocked = Dictionary(uniqueKeysWithValues: ProtectedKind.allCases.map { ($0, .none) })
        let ring = store.vault.ring
        let present = try Self.settled(store)
        for case .key(let key) in present.values { store.vault.noteKey(of: key.protection, key.generation) }
        let due = Self.passes.filter { pass in
            let key = Key(ring.header(of: pass.kind))
            // What is stored must not be lost with keys that end with this process.
            return present[pass.kind, default: .key(.unprotected)] != .key(key)
                && !ClassKey.temporaryGenerations.contains(key.generation)
        }
        unhidden = []
        for pass in due {
            switch present[pass.kind] {
            case .mixed(isHidden: true): break
            case .key(let key) where key.protection != .none: break
            case nil, .key, .mixed(isHidden: false): unhidden.insert(pass.kind)
            }
        }
        // A freed page that is used again would keep, behind a row, what was on it.
        if !unhidden.isEmpty { try store.giveBackPages(Int(Int32.max)) }
        try store.keepNothingOfFreedPages(!unhidden.isEmpty)
        try mark(due.map(\.kind), present, store)
        for pass in due { total += try store.connection.number("SELECT count(*) FROM \(pass.table)") }
        (waiting, blocked) = (due[...], [:])
        if isDueForLists, !ListRecords(vault: store.vault).canMakeKeys {
            blocked[.lists] = ring.header(of: .lists).protection
            waiting.removeFirst()
        }
    }

    /// Notes that records of these kinds have several keys from now on, until the pass is finished: with the former keys
    /// again, or after a kill, it has to be made anew.
    private func mark(
        _ kinds: [ProtectedKind], _ present: [ProtectedKind: Settled], _ store: Store
    ) throws(SQLiteFailure) {
        let marks = kinds.map { kind in
            let isHidden = !unhidden.contains(kind) && store.vault.ring.header(of: kind).form != .plain
            return (kind: kind, mark: Settled.mixed(isHidden: isHidden))
        }.filter { present[$0.kind] != $0.mark }
        guard !marks.isEmpty else { return }
        try store.transaction { () throws(SQLiteFailure) in
            for (kind, mark) in marks { try Self.write(mark, kind, store.connection) }
        }
    }

    /// Notes, in a transaction, that nothing is known of the keys of all records.
    static func forget(_ connection: Connection) throws(SQLiteFailure) {
        for kind in ProtectedKind.allCases { try write(.mixed(isHidden: false), kind, connection) }
    }

    /// Whether there is something to do.
    var isDue: Bool { !waiting.isEmpty }

    /// Whether there is something to do in lists of callers.
    var isDueForLists: Bool { waiting.first?.kind == .lists }

    /// The class that keeps from writing entries of lists again; nil if nothing does.
    var lockOfLists: ProtectionClass? { blocked[.lists] }

    /// Whether all records have the present key of their class.
    var isComplete: Bool { waiting.isEmpty && blocked.isEmpty }

    /// How many rows were written and removed for it; once.
    mutating func takeCounts() -> (written: Int, removed: Int) {
        defer { (written, removed) = (0, 0) }
        return (written, removed)
    }

    /// Takes one step, in its own transaction.
    mutating func step(_ store: Store) throws(SQLiteFailure) {
        guard let pass = waiting.first else { return }
        let rows = try rows(of: pass, in: store)
        looked += Int64(rows.count)
        let changes = try changes(of: rows, pass, store)
        if !changes.isEmpty {
            try store.transaction { () throws(SQLiteFailure) in
                for change in changes {
                    let statement = try store.connection.statement(change.sql)
                    statement.bind(change.values)
                    try statement.run()
                }
            }
            written += changes.count { $0.sql == pass.update }
            removed += changes.count { $0.sql == pass.remove.last }
        }
        if let last = rows.last, rows.count == Self.step, blocked[pass.kind] == nil {
            position = last.keys
            return
        }
        // If that fails, this step is taken again.
        if blocked[pass.kind] == nil { try finish(pass.kind, store) }
        position = []
        waiting = waiting.dropFirst()
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

    /// A statement that changes a row.
    private struct Change {
        let sql: String
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
            } catch {
                switch error {
                case .locked(let protection): blocked[pass.kind] = protection
                case .deleted: changes += pass.remove.map { Change(sql: $0, values: row.keys) }
                // It stays as it is, until it is too old.
                case .damaged: break
                }
            }
        }
        for (keys, place, content) in contents {
            let values: [StoreValue] =
                if let seal = pass.seal {
                    try seal(keys, content, store.vault)
                } else {
                    [.blob(try store.vault.record(content, pass.kind, place: place))]
                }
            guard !values.isEmpty else { continue }
            changes += [pass.before, pass.update].compactMap(\.self).map { Change(sql: $0, values: values + keys) }
        }
        return changes
    }

    /// Notes that all records of a kind have its present key. What was stored as it is must not stay in free pages or the
    /// log, also after a kill: so that goes first.
    private mutating func finish(_ kind: ProtectedKind, _ store: Store) throws(SQLiteFailure) {
        let key = Key(store.vault.ring.header(of: kind))
        if key.protection != .none, unhidden.contains(kind) {
            try store.clearRemains()
            unhidden.remove(kind)
            try store.keepNothingOfFreedPages(!unhidden.isEmpty)
        }
        try store.transaction { () throws(SQLiteFailure) in try Self.write(.key(key), kind, store.connection) }
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

        static let unprotected = Key(protection: .none, generation: 0)
    }

    /// What is known of the keys of a kind's records.
    private enum Settled: Equatable {
        /// All have this one at least.
        case key(Key)
        /// They have several. Unless that is hidden, some may be stored as they are.
        case mixed(isHidden: Bool)
    }

    private static let (mixed, open) = ("mixed", "open")

    private static func write(
        _ settled: Settled, _ kind: ProtectedKind, _ connection: Connection
    ) throws(SQLiteFailure) {
        let (text, generation) =
            switch settled {
            case .key(let key): (key.protection.rawValue, key.generation)
            case .mixed(let isHidden): (isHidden ? mixed : open, 0 as UInt32)
            }
        try connection.run(
            "INSERT INTO protection (kind, class, generation) VALUES (?1, ?2, ?3) "
                + "ON CONFLICT (kind) DO UPDATE SET class = ?2, generation = ?3", kind.rawValue, text, Int64(generation)
        )
    }

    private static func settled(_ store: Store) throws(SQLiteFailure) -> [ProtectedKind: Settled] {
        let select = try store.connection.statement("SELECT kind, class, generation FROM protection")
        var settled: [ProtectedKind: Settled] = [:]
        while try select.next() {
            guard let kind = ProtectedKind(rawValue: select.text()) else { continue }
            let (text, generation) = (select.text(), UInt32(exactly: select.integer()))
            settled[kind] =
                if let protection = ProtectionClass(rawValue: text), let generation {
                    .key(Key(protection: protection, generation: generation))
                } else {
                    .mixed(isHidden: text == mixed)
                }
        }
        return settled
    }
}
