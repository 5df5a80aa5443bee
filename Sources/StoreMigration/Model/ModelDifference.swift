package import Database

/// A difference between a file and the model of its version.
package enum ModelDifference: Hashable, Sendable, CustomStringConvertible {
    case missingTable(String)
    case missingColumn(table: String, column: String)
    /// The table has a column that no version of the program made.
    case unknownColumn(table: String, column: String)
    /// Type, default, key or NOT NULL of a column.
    case otherColumn(table: String, column: String, found: String, expected: String)
    /// Order of columns, CHECK, UNIQUE, STRICT or WITHOUT ROWID.
    case otherTable(String)
    case missingIndex(String, table: String)
    case otherIndex(String, table: String)
    /// A table, an index, a view or a trigger that no version of the program made.
    case unknown(kind: String, name: String)

    /// Compares a file with a model.
    /// - Returns: the differences, the most telling first; none if the file is as it should be.
    /// - Throws: the error of reading the file.
    package static func all(
        of connection: Connection, from model: StoreModel
    ) throws(SQLiteFailure) -> [ModelDifference] {
        let found = try StoreStructure(of: connection)
        let expected = try StoreStructure(of: model)
        guard found != expected else { return [] }
        var differences: [ModelDifference] = []
        for entity in model.entities {
            guard let table = expected.objects[entity.name] else { continue }
            if let present = found.objects[entity.name], present.kind == "table" {
                differences += compare(present, with: table)
            } else {
                differences.append(.missingTable(entity.name))
            }
        }
        for index in model.entities.flatMap(\.indices) {
            guard let present = found.objects[index.name] else {
                differences.append(.missingIndex(index.name, table: index.table))
                continue
            }
            if present != expected.objects[index.name] {
                differences.append(.otherIndex(index.name, table: index.table))
            }
        }
        let unknown = found.objects.values.filter { expected.objects[$0.name] == nil }.sorted { $0.name < $1.name }
        return differences + unknown.map { .unknown(kind: $0.kind, name: $0.name) }
    }

    private static func compare(
        _ found: StoreStructure.Object, with expected: StoreStructure.Object
    ) -> [ModelDifference] {
        guard found != expected else { return [] }
        let table = expected.name
        var differences: [ModelDifference] = []
        for column in expected.columns {
            guard let present = found.columns.first(where: { $0.name == column.name }) else {
                differences.append(.missingColumn(table: table, column: column.name))
                continue
            }
            if present != column {
                differences.append(
                    .otherColumn(
                        table: table, column: column.name, found: present.description, expected: column.description))
            }
        }
        for column in found.columns where !expected.columns.contains(where: { $0.name == column.name }) {
            differences.append(.unknownColumn(table: table, column: column.name))
        }
        return differences.isEmpty ? [.otherTable(table)] : differences
    }

    package var description: String {
        switch self {
        case .missingTable(let name): "the table '\(name)' is missing"
        case .missingColumn(let table, let column): "the table '\(table)' lacks the column '\(column)'"
        case .unknownColumn(let table, let column): "the table '\(table)' has an unknown column '\(column)'"
        case .otherColumn(let table, let column, let found, let expected):
            "the column '\(column)' of the table '\(table)' is \(found), and should be \(expected)"
        case .otherTable(let name): "the constraints of the table '\(name)' were changed"
        case .missingIndex(let name, let table): "the index '\(name)' of the table '\(table)' is missing"
        case .otherIndex(let name, let table): "the index '\(name)' of the table '\(table)' was changed"
        case .unknown(let kind, let name): "there is an unknown \(kind) '\(name)'"
        }
    }
}

extension StoreStructure.Column: CustomStringConvertible {
    var description: String {
        type + (isRequired ? " NOT NULL" : "") + (defaultValue.map { " DEFAULT \($0)" } ?? "")
            + (keyPlace > 0 ? " PRIMARY KEY" : "")
    }
}
