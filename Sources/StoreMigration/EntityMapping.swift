/// How one table of the new version gets its rows.
package struct EntityMapping: Sendable {
    enum Way: Sendable {
        /// The table is new.
        case begin
        /// From the rows of an old table: an SQL expression for each column.
        case select(source: String, expressions: [String])
        case policy(MigrationPolicy)
    }

    let entity: Entity
    let way: Way
    /// What changes, for a person; empty if nothing does.
    package let changes: [String]

    package var name: String { entity.name }

    /// The old table; nil if the table is new.
    var source: String? {
        switch way {
        case .begin: nil
        case .select(let source, _): source
        case .policy(let policy): policy.source
        }
    }

    init(_ entity: Entity, by policy: MigrationPolicy) {
        self.entity = entity
        way = .policy(policy)
        changes = ["its rows are made anew" + (policy.source == entity.name ? "" : " from those of '\(policy.source)'")]
    }

    /// Infers the mapping from the two models: columns that are added with a default or may be empty, that become
    /// required and have a default, that are renamed, or dropped; and the same of tables.
    /// - Returns: nil if it can't be inferred, so that a policy is needed.
    package init?(inferredFor entity: Entity, from model: StoreModel) {
        self.entity = entity
        guard let old = model.entity(entity.formerName ?? entity.name) else {
            // A declared former name that isn't there is a mistake in the model.
            guard entity.formerName == nil else { return nil }
            way = .begin
            changes = ["is new"]
            return
        }
        var (expressions, changes): ([String], [String]) = ([], [])
        if old.name != entity.name { changes.append("is renamed; it was '\(old.name)'") }
        for column in entity.columns {
            guard let (expression, change) = EntityMapping.infer(column, from: old) else { return nil }
            expressions.append(expression)
            if let change { changes.append(change) }
        }
        let kept = Set(entity.columns.map { $0.formerName ?? $0.name })
        changes += old.columns.filter { !kept.contains($0.name) }.map { "the column '\($0.name)' is dropped" }
        guard EntityMapping.keepsConstraints(entity, of: old) else { return nil }
        let known = Set(old.indices.map(\.name))
        changes += entity.indices.filter { !known.contains($0.name) }.map { "the index '\($0.name)' is added" }
        way = .select(source: old.name, expressions: expressions)
        self.changes = changes
    }

    private static func infer(_ column: Column, from old: Entity) -> (expression: String, change: String?)? {
        guard let former = old.columns.first(where: { $0.name == column.formerName ?? column.name }) else {
            guard column.formerName == nil, !column.isKey, column.defaultValue != nil || !column.isRequired else {
                return nil
            }
            let value = column.defaultValue
            return (value ?? "NULL", "the column '\(column.name)' is added" + (value.map { ", with \($0)" } ?? ""))
        }
        guard former.kind == column.kind, former.isKey == column.isKey else { return nil }
        if column.check != nil, column.check != former.check { return nil }
        if column.isUnique, !former.isUnique { return nil }
        let renamed = former.name == column.name ? nil : "the column '\(column.name)' was '\(former.name)'"
        guard column.isRequired, !former.isRequired else { return (former.name, renamed) }
        guard let value = column.defaultValue else { return nil }
        let filled = "the column '\(column.name)' becomes required; rows without a value get \(value)"
        return ("ifnull(\(former.name), \(value))", renamed.map { "\($0); \(filled)" } ?? filled)
    }

    /// Whether rows that fit the old table fit the new one: a key or an index that becomes stricter may not.
    private static func keepsConstraints(_ entity: Entity, of old: Entity) -> Bool {
        let present = { (name: String) in
            entity.columns.first { $0.name == name }.map { $0.formerName ?? $0.name } ?? name
        }
        guard entity.key.map(present) == old.key, entity.hasRowID == old.hasRowID else { return false }
        // An expression may name renamed columns, so only indices that are the same word for word are known to hold.
        return entity.indices.allSatisfy { index in
            !index.isUnique
                || old.indices.contains {
                    $0.isUnique && $0.condition == index.condition && $0.columns == index.columns.map(present)
                }
        }
    }
}
