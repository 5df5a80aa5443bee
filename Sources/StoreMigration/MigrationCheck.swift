internal import Database

/// Compares the new data with the old before it is committed.
struct MigrationCheck {
    let step: MigrationStep
    let context: MigrationContext

    func run() throws(MigrationFailure) {
        for mapping in step.mappings {
            switch mapping.way {
            case .begin: break
            case .select(let source, let expressions): try compare(mapping.entity, source, expressions)
            case .policy(let policy): try policy.validate(context)
            }
        }
        for entity in step.new.entities {
            for relation in entity.relations { try check(relation, of: entity) }
        }
    }

    /// Number of rows, and of each column the number of values, and their sum or their length.
    private func compare(_ entity: Entity, _ source: String, _ expressions: [String]) throws(MigrationFailure) {
        let old = zip(entity.columns, expressions).flatMap { measures(of: $0, $1) }
        let new = entity.columns.flatMap { measures(of: $0, $0.name) }
        let before = try numbers(old, in: "main.\(source)")
        let after = try numbers(new, in: "\(MigrationContext.schema).\(entity.name)")
        guard before.first == after.first else {
            throw .wrongData("the table '\(entity.name)' has \(after[0]) rows, and had \(before[0])")
        }
        for (place, column) in entity.columns.enumerated() {
            let range = 1 + 3 * place..<4 + 3 * place
            guard before[range] == after[range] else {
                throw .wrongData("the values of the column '\(column.name)' of '\(entity.name)' are not what they were")
            }
        }
    }

    /// Three numbers. Halves of a number, because a sum of numbers with 64 bits may overflow.
    private func measures(of column: Column, _ expression: String) -> [String] {
        let value = "(\(expression))"
        let sums =
            column.kind == .integer
            ? ["\(value) & 0xffffffff", "\(value) >> 32"] : ["length(CAST(\(value) AS BLOB))", "0"]
        return ["count(\(value))"] + sums.map { "ifnull(sum(\($0)), 0)" }
    }

    private func numbers(_ expressions: [String], in table: String) throws(MigrationFailure) -> [Int64] {
        try withDatabase { () throws(SQLiteFailure) in
            let all = ["count(*)"] + expressions
            let select = try context.connection.statement("SELECT \(all.joined(separator: ", ")) FROM \(table)")
            guard try select.next() else { return [] }
            return all.map { _ in select.integer() }
        }
    }

    /// No row may have lost what it refers to. Some may have had none before, such as the call of an old push.
    private func check(_ relation: Relation, of entity: Entity) throws(MigrationFailure) {
        let after = try context.number(
            relation.countUnresolved(from: entity.name, in: MigrationContext.schema + "."))
        var before: Int64 = 0
        for old in step.old.entities {
            for former in old.relations where former.name == relation.name {
                before = try context.number(former.countUnresolved(from: old.name, in: "main."))
            }
        }
        guard after <= before else {
            throw .wrongData(
                "\(after) rows of '\(entity.name)' refer to a missing row of '\(relation.target)', and \(before) did before"
            )
        }
    }
}
