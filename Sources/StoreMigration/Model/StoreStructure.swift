package import Database

/// What a file really contains: its tables, columns, indices and constraints, as SQLite describes them.
package struct StoreStructure: Hashable, Sendable {
    /// A column as `PRAGMA table_xinfo` describes it.
    struct Column: Hashable {
        let name: String
        let type: String
        let isRequired: Bool
        let defaultValue: String?
        /// The place in the key; 0: it is no part of it.
        let keyPlace: Int64
    }

    /// A table, index, view or trigger.
    struct Object: Hashable {
        let kind: String
        let name: String
        let table: String
        /// The statement that created it, without its spaces and quotation marks around names.
        let statement: String
        /// Of a table.
        var columns: [Column] = []
    }

    let objects: [String: Object]

    /// More objects are not read: they are not ours.
    private static let maximumObjects = 256

    /// Reads the structure of an open file.
    /// - Throws: the error of reading it.
    package init(of connection: Connection) throws(SQLiteFailure) {
        let select = try connection.statement(
            "SELECT type, name, tbl_name, sql FROM sqlite_schema WHERE sql IS NOT NULL AND name NOT LIKE 'sqlite\\_%' "
                + "ESCAPE '\\' ORDER BY rowid LIMIT \(Self.maximumObjects)")
        var objects: [String: Object] = [:]
        while try select.next() {
            let object = Object(
                kind: select.text(), name: select.text(), table: select.text(),
                statement: Self.withoutSpaces(select.text()))
            objects[object.name] = object
        }
        for (name, object) in objects where object.kind == "table" {
            objects[name]?.columns = try Self.columns(of: name, connection)
        }
        self.objects = objects
    }

    /// The structure of the files that a model describes.
    init(of model: StoreModel) throws(SQLiteFailure) {
        let empty = try Connection(path: ":memory:")
        for statement in model.statements { try empty.run(statement) }
        try self.init(of: empty)
    }

    private static func columns(of table: String, _ connection: Connection) throws(SQLiteFailure) -> [Column] {
        let select = try connection.statement(
            "SELECT name, type, \"notnull\", dflt_value, pk FROM pragma_table_xinfo(?1)", table)
        var columns: [Column] = []
        while try select.next() {
            columns.append(
                Column(
                    name: select.text(), type: select.text(), isRequired: select.integer() != 0,
                    defaultValue: select.optionalText(), keyPlace: select.integer()))
        }
        return columns
    }

    private static func withoutSpaces(_ sql: String) -> String {
        var isQuoted = false
        return String(
            sql.filter { character in
                if character == "'" { isQuoted.toggle() }
                return isQuoted || !(character.isWhitespace || character == "\"")
            })
    }
}
