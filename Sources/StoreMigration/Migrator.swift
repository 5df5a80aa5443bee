package import Database
internal import CRingwakeSQLite

/// How far a migration is.
package struct MigrationProgress: Hashable, Sendable {
    /// The version that is being made.
    package let version: Int64
    package let rows: Int64
    package let allRows: Int64
    /// From 0 to 100.
    package var percent: Int { allRows > 0 ? Int(clamping: rows * 100 / allRows) : 100 }
}

/// Makes a store of the next version from an open one, in a new file. The old one is only read, and memory is bounded
/// whatever its size.
package struct Migrator {
    /// Rows between two reports.
    private static let reportedRows: Int64 = 1_024
    /// SQLite's page cache for the new file.
    private static let cacheKilobytes = 4_096

    private let step: MigrationStep
    private let context: MigrationContext
    private let report: (MigrationProgress) -> Void
    /// Rows of each table that are taken at most; nil: all.
    private let limit: Int64?
    package private(set) var progress: MigrationProgress

    private var connection: Connection { context.connection }

    /// - Parameters:
    ///   - connection: the old store, which nobody else has open.
    ///   - limit: how many rows of each table are taken at most, to see how long it takes; nil: all.
    ///   - report: called now and then.
    package init(
        _ step: MigrationStep, on connection: Connection, limit: Int64? = nil,
        report: @escaping (MigrationProgress) -> Void = { _ in }
    ) throws(MigrationFailure) {
        self.step = step
        self.limit = limit
        context = MigrationContext(connection: connection)
        self.report = report
        let sources = step.mappings.compactMap(\.source)
        var rows: Int64 = 0
        for source in sources { rows += try context.number("SELECT count(*) FROM main.\(source)") }
        progress = MigrationProgress(version: step.new.version, rows: 0, allRows: rows)
    }

    /// Makes the new store, in one transaction, and checks it against the old one. When this returns, it is on the disk
    /// and closed.
    /// - Parameters:
    ///   - path: an empty file.
    ///   - applicationID: `PRAGMA application_id` of the new store.
    ///   - last: the statement that changes the new store last, after the check.
    /// - Throws: what is wrong; the new file is then worthless.
    package mutating func make(
        _ path: String, applicationID: Int64, finally last: String
    ) throws(MigrationFailure) {
        try withDatabase { () throws(SQLiteFailure) in
            try connection.run("ATTACH ?1 AS \(MigrationContext.schema)", path)
        }
        do throws(MigrationFailure) {
            try fill(applicationID, last)
        } catch {
            detach()
            throw error
        }
        detach()
    }

    /// A transaction that failed keeps the file attached until it is rolled back.
    private func detach() {
        if connection.isInTransaction { try? connection.run("ROLLBACK") }
        try? connection.run("DETACH \(MigrationContext.schema)")
    }

    private mutating func fill(_ applicationID: Int64, _ last: String) throws(MigrationFailure) {
        for setting in [
            // After a crash the file is thrown away, so it needs no journal. Its commit syncs it once.
            "journal_mode = OFF", "auto_vacuum = INCREMENTAL", "synchronous = FULL",
            "cache_size = -\(Self.cacheKilobytes)",
        ] {
            try context.run("PRAGMA \(MigrationContext.schema).\(setting)")
        }
        // The keys of an index are sorted in a file: there may be a million.
        try context.run("PRAGMA temp_store = FILE")
        try context.run("BEGIN IMMEDIATE")
        for mapping in step.mappings { try make(mapping) }
        for mapping in step.mappings {
            if case .policy(let policy) = mapping.way { try policy.connect?(context) }
        }
        try context.run("PRAGMA \(MigrationContext.schema).application_id = \(applicationID)")
        try context.run("PRAGMA \(MigrationContext.schema).user_version = \(step.new.version)")
        // What was taken in part is not what was there.
        if limit == nil { try MigrationCheck(step: step, context: context).run() }
        try context.run(last)
        try context.run("COMMIT")
        try context.run("PRAGMA temp_store = MEMORY")
    }

    private mutating func make(_ mapping: EntityMapping) throws(MigrationFailure) {
        let schema = MigrationContext.schema + "."
        let entity = mapping.entity
        try context.run(entity.statement(in: schema))
        switch mapping.way {
        case .begin:
            if let seed = entity.seedStatement(in: schema) { try context.run(seed) }
        case .select(let source, let expressions):
            try copy(entity, from: source, expressions)
        case .policy(let policy):
            try make(entity, by: policy)
        }
        // After the rows: sorting is faster than inserting each where it belongs.
        for index in entity.indices {
            do throws(MigrationFailure) {
                try context.run(index.statement(in: schema))
            } catch {
                throw Migrator.explained(error, "the index '\(index.name)' of '\(entity.name)' can't be made")
            }
        }
        report(progress)
    }

    private mutating func copy(
        _ entity: Entity, from source: String, _ expressions: [String]
    ) throws(MigrationFailure) {
        let select = try old(source, expressions)
        let insert = try new(entity)
        while try withDatabase({ () throws(SQLiteFailure) in try select.next() }) {
            insert.bind(rowOf: select)
            try run(insert, entity)
            note()
        }
    }

    private mutating func make(_ entity: Entity, by policy: MigrationPolicy) throws(MigrationFailure) {
        guard let source = step.old.entity(policy.source) else {
            throw .wrongData("there is no table '\(policy.source)' in version \(step.old.version)")
        }
        let names = source.columns.map(\.name)
        let select = try old(policy.source, names)
        let insert = try new(entity)
        while try withDatabase({ () throws(SQLiteFailure) in try select.next() }) {
            var row: StoreRow = [:]
            for name in names { row[name] = select.value() }
            for made in try policy.makeRows(row) {
                for column in entity.columns { made[column.name, default: .null].bind(to: insert) }
                try run(insert, entity)
            }
            note()
        }
    }

    private func old(_ source: String, _ expressions: [String]) throws(MigrationFailure) -> Statement {
        let order = step.old.entity(source)?.order ?? []
        return try withDatabase { () throws(SQLiteFailure) in
            try connection.statement(
                "SELECT \(expressions.joined(separator: ", ")) FROM main.\(source) "
                    + "ORDER BY \(order.joined(separator: ", ")) LIMIT \(limit ?? -1)")
        }
    }

    /// A column that a row lacks gets its default: a policy leaves it out by NULL.
    private func new(_ entity: Entity) throws(MigrationFailure) -> Statement {
        let values = entity.columns.enumerated().map { place, column in
            let value = "?\(place + 1)"
            return column.defaultValue.map { "ifnull(\(value), \($0))" } ?? value
        }
        return try withDatabase { () throws(SQLiteFailure) in
            try connection.keep(
                "INSERT INTO \(MigrationContext.schema).\(entity.name) VALUES (\(values.joined(separator: ", ")))")
        }
    }

    private func run(_ insert: Statement, _ entity: Entity) throws(MigrationFailure) {
        do throws(SQLiteFailure) {
            try insert.run()
        } catch {
            throw Migrator.explained(
                .database(error), "row \(progress.rows + 1) does not fit the table '\(entity.name)'")
        }
    }

    private mutating func note() {
        progress = MigrationProgress(
            version: progress.version, rows: progress.rows + 1, allRows: max(progress.allRows, progress.rows + 1))
        if progress.rows.isMultiple(of: Self.reportedRows) { report(progress) }
    }

    /// A broken constraint is a matter of the data, and not of the disk.
    private static func explained(_ failure: MigrationFailure, _ what: String) -> MigrationFailure {
        guard case .database(let error) = failure, [SQLITE_CONSTRAINT, SQLITE_MISMATCH].contains(error.code) else {
            return failure
        }
        return .wrongData("\(what): \(error.text)")
    }
}
