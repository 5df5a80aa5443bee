internal import CRingwakeSQLite
internal import Database
internal import StoreMigration

/// Copies what can be read of a damaged store into a new one of its version, row by row: one bad page must not cost the
/// calls on the others. A column that is missing is filled with zero or an empty value.
nonisolated struct StoreSalvage {
    /// The tables, in the order in which they are copied: what rings first. A new store has an epoch of its own.
    private static let order = [
        "boot", "payload", "call", "push", "state", "list", "list_entry", "list_remains", "list_stamp", "device",
        "mail",
    ]
    /// Rows have no higher numbers; see ``Connection/successor(_:)``.
    private static let highest: Int64 = 1 << 62

    /// The version of the damaged store, and of the new one; the present one if nothing is known.
    let model: StoreModel
    /// Nil if nothing can be read.
    private let source: Connection?

    /// Opens the damaged store, which stays as it is, with its log.
    /// - Throws: that another process has it open.
    init(_ path: String, vfs: String?, versions: StoreVersions) throws(SQLiteFailure) {
        do throws(SQLiteFailure) {
            let source = try Connection(path: path, vfs: vfs)
            source.leaveLogAtClose()
            let version = try StoreSettings.lock(source)
            self.source = versions.model(version) == nil ? nil : source
            model = versions.model(version) ?? versions.current
        } catch {
            // A tool that has it open ends sometime.
            if error.isBusy { throw error }
            source = nil
            model = versions.current
        }
    }

    /// Copies all rows that can be read, in one transaction.
    /// - Parameter connection: a store of ``model`` without rows.
    /// - Returns: what was copied, for a person.
    /// - Throws: the error of writing the copy.
    func copy(into connection: Connection) throws(SQLiteFailure) -> String {
        let nothing = "nothing could be read of it"
        guard let source else { return nothing }
        var copied: [String: Int64] = [:]
        var isWhole = true
        try connection.run("BEGIN IMMEDIATE")
        for entity in Self.order.compactMap(model.entity) {
            let before = connection.totalChanges
            // From its beginning up to the damage, and then from its end back to it.
            if !(try copy(entity, "ASC", from: source, into: connection)) {
                isWhole = false
                _ = try copy(entity, "DESC", from: source, into: connection)
            }
            copied[entity.name] = connection.totalChanges - before
        }
        try completePayloads(on: connection)
        // What the damaged store says of the keys of its records may be missing: the next start looks at each.
        if model.entity("protection") != nil { try Rekeying.forget(connection) }
        try connection.run("COMMIT")
        let (pushes, calls) = (copied["push"] ?? 0, copied["call"] ?? 0)
        guard pushes + calls + (copied["state"] ?? 0) > 0 else { return nothing }
        return (isWhole ? "all of it" : "what can be read of it")
            + " was copied into a new store: \(pushes) pushes, \(calls) calls"
    }

    /// A start finds the calls that have not ended by their payloads, so each of them gets one. A payload without its
    /// call goes, because a later call may get that number.
    private func completePayloads(on connection: Connection) throws(SQLiteFailure) {
        let open = "SELECT number FROM call WHERE state <> 'ended'"
        try connection.run("DELETE FROM payload WHERE call NOT IN (\(open))")
        try connection.run(
            "INSERT INTO payload (call, push, bytes) SELECT number, 0, x'' FROM (\(open)) "
                + "WHERE number NOT IN (SELECT call FROM payload)")
    }

    /// - Returns: false if the damage ended the reading.
    private func copy(
        _ entity: Entity, _ direction: String, from source: Connection, into connection: Connection
    ) throws(SQLiteFailure) -> Bool {
        let select: Statement
        let isWhole: Bool
        do throws(SQLiteFailure) {
            let present = try columns(of: entity, in: source)
            let key = entity.order.first.flatMap { name in entity.columns.first { $0.name == name } }
            let order = key?.name ?? "rowid"
            let bound = key?.kind == .text || key == nil ? "" : "WHERE \(order) < \(Self.highest) "
            let values = entity.columns.map { present.contains($0.name) ? $0.name : Self.empty($0) }
            isWhole = present.count == entity.columns.count
            select = try source.statement(
                "SELECT \(values.joined(separator: ", ")) FROM \(entity.name) \(bound)ORDER BY \(order) \(direction)")
        } catch {
            // The table is missing, or the schema is damaged.
            return false
        }
        let parameters = (1...entity.columns.count).map { "?\($0)" }.joined(separator: ", ")
        // A new store has a stamp of its own.
        let conflict = entity.name == "list_stamp" ? "REPLACE" : "IGNORE"
        let insert = try connection.statement("INSERT OR \(conflict) INTO \(entity.name) VALUES (\(parameters))")
        while true {
            do throws(SQLiteFailure) {
                guard try select.next() else { return isWhole }
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

    /// The columns of a table that are there.
    private func columns(of entity: Entity, in source: Connection) throws(SQLiteFailure) -> Set<String> {
        let select = try source.statement("SELECT name FROM pragma_table_xinfo(?1)", entity.name)
        var found: Set<String> = []
        while try select.next() { found.insert(select.text()) }
        return found.intersection(entity.columns.map(\.name))
    }

    private static func empty(_ column: Column) -> String {
        if let value = column.defaultValue { return value }
        guard column.isRequired else { return "NULL" }
        return switch column.kind {
        case .integer: "0"
        case .text: "''"
        case .blob: "x''"
        }
    }
}
