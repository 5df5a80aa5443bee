/// The tables of a store at one version. The statements that create them, the check of a file and each migration are
/// derived from it, so nothing else says what a table looks like.
///
/// Names are written into SQL as they are: they are constants of the program.
package struct StoreModel: Hashable, Sendable {
    /// `PRAGMA user_version` of such a store.
    package let version: Int64
    /// The tables, in the order in which they are created and copied.
    package let entities: [Entity]

    package init(version: Int64, _ entities: [Entity]) {
        self.version = version
        self.entities = entities
    }

    /// The table with this name.
    package func entity(_ name: String) -> Entity? { entities.first { $0.name == name } }

    /// Creates the tables, their indices and the rows that they begin with.
    package var statements: [String] {
        entities.flatMap {
            [$0.statement(), $0.seedStatement()].compactMap(\.self) + $0.indices.map { $0.statement() }
        }
    }
}

/// One kind of row: a table.
package struct Entity: Hashable, Sendable {
    package let name: String
    /// Its name in the version before; nil if that is the same, or if there was none.
    package let formerName: String?
    package let columns: [Column]
    /// The columns of its key, if these are several. A key of one column is part of that ``Column``.
    package let key: [String]
    /// Whether SQLite numbers its rows. Without it, the key is the table (`WITHOUT ROWID`).
    package let hasRowID: Bool
    package let indices: [Index]
    package let relations: [Relation]
    /// The row that a new table begins with: an SQL expression for each column.
    package let seed: [String]

    package init(
        _ name: String, formerName: String? = nil, _ columns: [Column], key: [String] = [], hasRowID: Bool = true,
        indices: [Index] = [], relations: [Relation] = [], seed: [String] = []
    ) {
        self.name = name
        self.formerName = formerName
        self.columns = columns
        self.key = key
        self.hasRowID = hasRowID
        self.indices = indices
        self.relations = relations
        self.seed = seed
    }

    /// The columns by which rows are ordered when they are copied: the order of the table's pages.
    package var order: [String] {
        guard !hasRowID else { return [columns.first { $0.isRowNumber }?.name ?? "rowid"] }
        return key.isEmpty ? columns.filter(\.isKey).map(\.name) : key
    }

    /// Creates the table.
    /// - Parameter schema: the attached file to create it in, with a dot; empty for the main one.
    package func statement(in schema: String = "") -> String {
        var parts = columns.map(\.definition)
        if !key.isEmpty { parts.append("PRIMARY KEY (\(key.joined(separator: ", ")))") }
        return "CREATE TABLE \(schema)\(name) (\(parts.joined(separator: ", "))) STRICT"
            + (hasRowID ? "" : ", WITHOUT ROWID")
    }

    func seedStatement(in schema: String = "") -> String? {
        seed.isEmpty ? nil : "INSERT INTO \(schema)\(name) VALUES (\(seed.joined(separator: ", ")))"
    }
}

/// One column of a table.
package struct Column: Hashable, Sendable {
    /// The types of a `STRICT` table that stores use.
    package enum Kind: String, Sendable {
        case integer = "INTEGER"
        case text = "TEXT"
        case blob = "BLOB"
    }

    package let name: String
    package let kind: Kind
    package let isRequired: Bool
    /// An SQL literal. A migration gives it to rows that lack a value.
    package let defaultValue: String?
    /// Whether the column alone is the key.
    package let isKey: Bool
    package let isUnique: Bool
    /// An SQL condition.
    package let check: String?
    /// Its name in the version before; nil if that is the same, or if there was none.
    package let formerName: String?

    package init(
        _ name: String, _ kind: Kind, isRequired: Bool = true, default defaultValue: String? = nil, isKey: Bool = false,
        isUnique: Bool = false, check: String? = nil, formerName: String? = nil
    ) {
        self.name = name
        self.kind = kind
        self.isRequired = isRequired
        self.defaultValue = defaultValue
        self.isKey = isKey
        self.isUnique = isUnique
        self.check = check
        self.formerName = formerName
    }

    /// Whether this is SQLite's own number of the row, which is never NULL.
    var isRowNumber: Bool { isKey && kind == .integer }

    var definition: String {
        var words = [name, kind.rawValue]
        if isRequired, !isRowNumber { words.append("NOT NULL") }
        if let defaultValue { words.append("DEFAULT \(defaultValue)") }
        if isKey { words.append("PRIMARY KEY") }
        if isUnique { words.append("UNIQUE") }
        if let check { words.append("CHECK (\(check))") }
        return words.joined(separator: " ")
    }
}

/// An index of a table.
package struct Index: Hashable, Sendable {
    package let name: String
    package let table: String
    /// Columns or expressions.
    package let columns: [String]
    package let isUnique: Bool
    /// An SQL condition for the rows that it has.
    package let condition: String?

    package init(
        _ name: String, on table: String, _ columns: [String], isUnique: Bool = false, where condition: String? = nil
    ) {
        self.name = name
        self.table = table
        self.columns = columns
        self.isUnique = isUnique
        self.condition = condition
    }

    func statement(in schema: String = "") -> String {
        "CREATE \(isUnique ? "UNIQUE " : "")INDEX \(schema)\(name) ON \(table) (\(columns.joined(separator: ", ")))"
            + (condition.map { " WHERE \($0)" } ?? "")
    }
}

/// Rows of one table that name a row of another one. The file doesn't enforce it; a migration checks that it breaks
/// none.
package struct Relation: Hashable, Sendable {
    /// The name, which stays the same over versions.
    package let name: String
    /// The columns here, and what they are compared with, in the same order. NULL refers to nothing.
    package let columns: [String]
    package let target: String
    package let targetColumns: [String]

    package init(_ name: String, _ columns: [String], to target: String, _ targetColumns: [String]) {
        self.name = name
        self.columns = columns
        self.target = target
        self.targetColumns = targetColumns
    }

    /// Counts the rows whose target is missing.
    /// - Parameter schema: the file with both tables, with a dot.
    func countUnresolved(from table: String, in schema: String) -> String {
        let joined = zip(columns, targetColumns).map { "target.\($1) = source.\($0)" }.joined(separator: " AND ")
        let isSet = columns.map { "source.\($0) IS NOT NULL" }.joined(separator: " AND ")
        return "SELECT count(*) FROM \(schema)\(table) AS source WHERE \(isSet) "
            + "AND NOT EXISTS (SELECT 1 FROM \(schema)\(target) AS target WHERE \(joined))"
    }
}
