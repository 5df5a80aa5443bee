package import Database

/// How the rows of one table are made in the next version, where that can't be inferred from the two models.
///
///     MigrationPolicy("call", makeRows: { old in
///         var new = old
///         new["snapshot"] = .text(try upgraded(old["snapshot"]))
///         return [new]
///     })
package struct MigrationPolicy: Sendable {
    /// The table of the new version.
    package let entity: String
    /// The table of the old version whose rows it gets.
    package let source: String
    /// Makes the new rows for an old one; none leaves it out. Columns that a row lacks get their default, or NULL.
    package let makeRows: @Sendable (StoreRow) throws(MigrationFailure) -> [StoreRow]
    /// Connects the new rows with those of other tables, when all tables have their rows.
    package let connect: (@Sendable (MigrationContext) throws(MigrationFailure) -> Void)?
    /// Compares the new data with the old: counts, sums, what refers to what. SQLite's own check sees pages only.
    package let validate: @Sendable (MigrationContext) throws(MigrationFailure) -> Void

    /// - Parameter source: nil if the table has the same name.
    package init(
        _ entity: String, source: String? = nil,
        makeRows: @escaping @Sendable (StoreRow) throws(MigrationFailure) -> [StoreRow],
        connect: (@Sendable (MigrationContext) throws(MigrationFailure) -> Void)? = nil,
        validate: @escaping @Sendable (MigrationContext) throws(MigrationFailure) -> Void
    ) {
        self.entity = entity
        self.source = source ?? entity
        self.makeRows = makeRows
        self.connect = connect
        self.validate = validate
    }
}

/// Both stores while one is made of the other: the old tables are in `main`, which is not written to, and the new ones
/// in `new`.
package struct MigrationContext {
    /// The name of the new file in SQL.
    package static let schema = "new"

    package let connection: Connection

    /// The number that a statement selects; 0 if it selects none. It names the tables as `main.call` and `new.call`.
    package func number(_ sql: String) throws(MigrationFailure) -> Int64 {
        try withDatabase { () throws(SQLiteFailure) in try connection.number(sql) }
    }

    /// Changes the new tables.
    package func run(_ sql: String) throws(MigrationFailure) {
        try withDatabase { () throws(SQLiteFailure) in try connection.run(sql) }
    }

    /// Throws if two numbers differ that have to be the same.
    package func requireEqual(_ old: String, _ new: String, _ what: String) throws(MigrationFailure) {
        let (before, after) = (try number(old), try number(new))
        guard before == after else { throw .wrongData("\(what): \(before) before, \(after) after") }
    }
}
