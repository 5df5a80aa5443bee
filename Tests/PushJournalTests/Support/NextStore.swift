import Database
import PushJournal
import StoreMigration

/// A next version of the store, as a later program may have it: the same statements still work on it.
enum NextStore {
    private static let present = StoreModels.all.current
    static var version: Int64 { present.version + 1 }

    /// - Parameters:
    ///   - steps: how many versions follow the present one.
    ///   - calls: makes the calls of the next version; nil leaves them as they are.
    static func versions(
        steps: Int = 1, calls: (@Sendable (StoreRow) throws(MigrationFailure) -> [StoreRow])? = nil
    ) -> StoreVersions {
        let later = (1...Int64(steps)).map { step in
            StoreModel(
                version: present.version + step,
                present.entities.map { entity in
                    entity.name == "push" ? more(entity, Int(step)) : entity
                } + [Entity("extra", [Column("id", .integer, isKey: true)], seed: ["5"])])
        }
        let policy = calls.map { calls in
            MigrationPolicy(
                "call", makeRows: calls,
                validate: { context throws(MigrationFailure) in
                    try context.requireEqual(
                        "SELECT sum(number) FROM main.call", "SELECT sum(number) FROM new.call", "the calls")
                })
        }
        return StoreModels.all.followed(by: later, policies: policy.map { [present.version + 1: [$0]] } ?? [:])
    }

    /// The table with a column more for each step.
    private static func more(_ entity: Entity, _ steps: Int) -> Entity {
        let added = (1...steps).map { Column("language_\($0)", .text, default: "'en'") }
        return Entity(
            entity.name, entity.columns + added, indices: entity.indices, relations: entity.relations)
    }
}
