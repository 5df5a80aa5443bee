internal import Database
internal import RingwakeCore

/// A list, and the generation of its entries.
nonisolated struct StoredList: Sendable {
    let record: CallerListRecord
    let generation: Int64
}

/// Lists of callers. A list has the entries of its generation. All other generations belong to imports, or are removed
/// in steps. Each function is part of a transaction, or a read.
nonisolated extension Store {
    // MARK: - Lists

    /// All lists, by name. Rows that no version writes are skipped.
    func lists() throws(SQLiteFailure) -> [StoredList] {
        let select = try connection.statement(Self.selectList + "ORDER BY name LIMIT ?1", limits.maximumLists)
        var lists: [StoredList] = []
        while try select.next() {
            if let list = Self.list(of: select) { lists.append(list) }
        }
        return lists
    }

    func list(named name: String) throws(SQLiteFailure) -> StoredList? {
        let select = try connection.statement(Self.selectList + "WHERE name = ?1", name)
        guard try select.next() else { return nil }
        defer { select.reset() }
        return Self.list(of: select)
    }

    /// The maximum number of entries that is counted per list: sums must not overflow, even if the store holds invalid
    /// numbers.
    private static let mostCountable: Int64 = 1 << 40

    private static let selectList = "SELECT name, kind, source, etag, updated_wall, entries, generation FROM list "

    private static func list(of row: Statement) -> StoredList? {
        let name = row.text()
        guard let kind = CallerListKind(rawValue: row.text()) else { return nil }
        let record = CallerListRecord(
            name: name, kind: kind, source: row.optionalText(), etag: row.optionalText(),
            updatedWallClock: row.integer(), entries: Int(clamping: max(0, min(row.integer(), Self.mostCountable))))
        return StoredList(record: record, generation: row.integer())
    }

    /// Writes a list; it replaces one with the same name.
    func write(_ list: StoredList) throws(SQLiteFailure) {
        let record = list.record
        try connection.run(
            "INSERT OR REPLACE INTO list (name, kind, source, etag, updated_wall, entries, generation) "
                + "VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
            record.name, record.kind.rawValue, record.source, record.etag, record.updatedWallClock, record.entries,
            list.generation)
    }

    /// Removes a list. ``removeRemains(_:)`` removes its entries later.
    func removeList(_ list: StoredList) throws(SQLiteFailure) {
        try connection.run("DELETE FROM list WHERE name = ?1", list.record.name)
        try addRemains(list.generation)
    }

    /// The number of entries of all lists but one.
    func entryCount(except name: String) throws(SQLiteFailure) -> Int {
        let sum = "SELECT sum(max(0, min(entries, \(Self.mostCountable)))) FROM list WHERE name <> ?1"
        return Int(clamping: try connection.number(sum, name))
    }

    /// An unused generation.
    func nextGeneration() throws(SQLiteFailure) -> Int64 {
        try connection.number(
            "SELECT max(ifnull((SELECT max(generation) FROM list), 0), "
                + "ifnull((SELECT max(generation) FROM list_remains), 0)) + 1")
    }

    /// Identifies this version of all lists; 0 before the first change.
    func listStamp() throws(SQLiteFailure) -> UInt64 {
        UInt64(bitPattern: try connection.number("SELECT stamp FROM list_stamp WHERE id = 1"))
    }

    /// Notes that the lists have changed.
    func changeListStamp() throws(SQLiteFailure) {
        // A random stamp, so that a store that was restored from a backup has its own.
        try connection.run("INSERT OR REPLACE INTO list_stamp (id, stamp) VALUES (1, random())")
    }

    // MARK: - Entries

    /// The stored form of an entry; see ``ListRecords``.
    struct EntryRow: Sendable {
        let key: [UInt8]
        let record: [UInt8]
    }

    /// Adds entries. One with the same key is replaced.
    /// - Returns: the number of new entries.
    func insert(_ entries: [EntryRow], into generation: Int64) throws(SQLiteFailure) -> Int {
        let insert = try Statement(
            "INSERT INTO list_entry (generation, key, entry) VALUES (?1, ?2, ?3) ON CONFLICT DO NOTHING",
            on: connection.database)
        let update = try Statement(
            "UPDATE list_entry SET entry = ?3 WHERE generation = ?1 AND key = ?2", on: connection.database)
        var added = 0
        for entry in entries {
            try insert.run(generation, entry.key, entry.record)
            added += connection.changes
            if connection.changes == 0 { try update.run(generation, entry.key, entry.record) }
        }
        return added
    }

    /// Removes entries.
    /// - Returns: the number of removed entries.
    func remove(_ keys: [[UInt8]], from generation: Int64) throws(SQLiteFailure) -> Int {
        let delete = try Statement("DELETE FROM list_entry WHERE generation = ?1 AND key = ?2", on: connection.database)
        var removed = 0
        for key in keys {
            try delete.run(generation, key)
            removed += connection.changes
        }
        return removed
    }

    /// Entries sorted by key. No key is empty.
    func entries(of generation: Int64, after key: [UInt8]?, limit: Int) throws(SQLiteFailure) -> [EntryRow] {
        let select = try connection.statement(
            "SELECT key, entry FROM list_entry WHERE generation = ?1 AND key > ?2 ORDER BY key LIMIT ?3", generation,
            key ?? [], limit)
        var rows: [EntryRow] = []
        while try select.next() { rows.append(EntryRow(key: select.bytes(), record: select.bytes())) }
        return rows
    }

    // MARK: - Remains

    /// Notes that no list has this generation any more, so that its entries are removed.
    func addRemains(_ generation: Int64) throws(SQLiteFailure) {
        try connection.run("INSERT OR IGNORE INTO list_remains (generation) VALUES (?1)", generation)
        hasRemains = true
    }

    /// Notes that a list now has this generation.
    func takeFromRemains(_ generation: Int64) throws(SQLiteFailure) {
        try connection.run("DELETE FROM list_remains WHERE generation = ?1", generation)
    }

    /// Removes up to `count` entries that belong to no list and no import in progress, in its own transaction.
    /// - Returns: false if there are none.
    func removeRemains(_ count: Int) throws(SQLiteFailure) -> Bool {
        guard hasRemains else { return false }
        let live = liveImports.map(String.init).joined(separator: ", ")
        let select = try Statement(
            "SELECT generation FROM list_remains WHERE generation NOT IN (\(live)) LIMIT 1", on: connection.database)
        guard let generation = try select.number() else {
            hasRemains = false
            return false
        }
        // In the order of the keys, so that the rows of one step are adjacent.
        let delete =
            "DELETE FROM list_entry WHERE generation = ?1 AND key IN (SELECT key FROM list_entry WHERE generation = ?1 "
            + "ORDER BY key LIMIT ?2)"
        try transaction { () throws(SQLiteFailure) in
            try connection.run(delete, generation, count)
            if connection.changes < count { try takeFromRemains(generation) }
        }
        return true
    }
}
