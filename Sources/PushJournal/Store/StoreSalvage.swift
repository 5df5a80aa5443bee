internal import CRingwakeSQLite

/// Copies what can be read of a damaged store into a new one, row by row: one bad page must not cost the calls on the
/// others.
nonisolated enum StoreSalvage {
    /// The tables, each with what its rows are ordered by. A table is read from its beginning up to the damage, and
    /// then from its end back to it.
    private static let tables = [
        ("boot", "id"), ("payload", "call"), ("call", "number"), ("push", "sequence"), ("state", "path"),
        ("list", "rowid"), ("list_entry", "generation"), ("list_remains", "generation"), ("list_stamp", "id"),
        ("device", "id"), ("mail", "number"),
    ]
    /// The tables that version 7 added.
    private static let added7 = ["device", "mail"]
    /// The tables whose rows are ordered by a text.
    private static let textKeys = ["state", "device"]
    /// The versions whose tables have the same columns in the same order: version 5 renamed some, version 6 added a table
    /// that is not copied, version 7 two.
    private static let alike = 4...Schema.version
    /// Rows have no higher numbers; see ``Connection/successor(_:)``.
    private static let highest: Int64 = 1 << 62

    /// Copies all rows that can be read, in one transaction. The damaged file and its log stay as they are.
    /// - Returns: what was copied, for a person.
    /// - Throws: the error of writing the copy, or that another process has the damaged file open.
    static func copy(_ path: String, vfs: String?, into connection: Connection) throws(SQLiteFailure) -> String {
        let nothing = "nothing could be read of it"
        let source: Connection
        let version: Int64
        do throws(SQLiteFailure) {
            source = try Connection(path: path, vfs: vfs)
            source.leaveLogAtClose()
            try source.run("PRAGMA locking_mode = EXCLUSIVE")
            version = try source.number("PRAGMA user_version")
            guard try source.number("PRAGMA application_id") == Schema.applicationID, alike.contains(version) else {
                return nothing
            }
        } catch {
            // A tool that has it open ends sometime.
            if error.isBusy { throw error }
            return nothing
        }
        var copied: [String: Int64] = [:]
        var isWhole = true
        try connection.run("BEGIN IMMEDIATE")
        for (table, key) in tables where version >= 7 || !added7.contains(table) {
            let before = connection.totalChanges
            if !(try copy(table, by: key, "ASC", from: source, into: connection)) {
                isWhole = false
                _ = try copy(table, by: key, "DESC", from: source, into: connection)
            }
            copied[table] = connection.totalChanges - before
        }
        try completePayloads(on: connection)
        try connection.run("COMMIT")
        let (pushes, calls) = (copied["push"] ?? 0, copied["call"] ?? 0)
        guard pushes + calls + (copied["state"] ?? 0) > 0 else { return nothing }
        return (isWhole ? "all of it" : "what can be read of it")
            + " was copied into a new store: \(pushes) pushes, \(calls) calls"
    }

    /// A start finds the calls that have not ended by their payloads, so each of them gets one. A payload without its
    /// call goes, because a later call may get that number.
    private static func completePayloads(on connection: Connection) throws(SQLiteFailure) {
        let open = "SELECT number FROM call WHERE state <> 'ended'"
        try connection.run("DELETE FROM payload WHERE call NOT IN (\(open))")
        try connection.run(
            "INSERT INTO payload (call, push, bytes) SELECT number, 0, x'' FROM (\(open)) "
                + "WHERE number NOT IN (SELECT call FROM payload)")
    }

    /// - Returns: false if the damage ended the reading.
    private static func copy(
        _ table: String, by key: String, _ direction: String, from source: Connection, into connection: Connection
    ) throws(SQLiteFailure) -> Bool {
        let select: Statement
        do throws(SQLiteFailure) {
            let bound = textKeys.contains(table) ? "" : "WHERE \(key) < \(highest) "
            select = try Statement("SELECT * FROM \(table) \(bound)ORDER BY \(key) \(direction)", on: source.database)
        } catch {
            return false
        }
        // The schema may be damaged too.
        let target = try Statement("SELECT * FROM \(table)", on: connection.database)
        guard select.columnCount == target.columnCount else { return false }
        let columns = (1...max(1, select.columnCount)).map { "?\($0)" }.joined(separator: ", ")
        // A new store has a stamp of its own.
        let conflict = table == "list_stamp" ? "REPLACE" : "IGNORE"
        let insert = try Statement(
            "INSERT OR \(conflict) INTO \(table) VALUES (\(columns))", on: connection.database)
        while true {
            do throws(SQLiteFailure) {
                guard try select.next() else { return true }
            } catch {
                return false
            }
            do throws(SQLiteFailure) {
                insert.bind(rowOf: select)
                try insert.run()
            } catch {
                // A row with values that no version writes.
                guard error.code == SQLITE_CONSTRAINT || error.code == SQLITE_MISMATCH else { throw error }
            }
        }
    }
}
