/// The versions of a store that this program reads, and how each becomes the next.
package struct StoreVersions: Sendable {
    /// From the oldest version that can be opened to the present one; numbered without a gap.
    package let models: [StoreModel]
    /// By the version that they lead to.
    private let policies: [Int64: [MigrationPolicy]]

    package init(_ oldest: StoreModel, _ later: [StoreModel] = [], policies: [Int64: [MigrationPolicy]] = [:]) {
        current = later.last ?? oldest
        models = [oldest] + later
        self.policies = policies
    }

    /// These versions with later ones.
    package func followed(by later: [StoreModel], policies more: [Int64: [MigrationPolicy]] = [:]) -> StoreVersions {
        StoreVersions(models[0], models.dropFirst() + later, policies: policies.merging(more) { $1 })
    }

    /// The version that is written.
    package let current: StoreModel
    package var oldest: Int64 { models[0].version }

    /// The model of a version that can be opened.
    package func model(_ version: Int64) -> StoreModel? { models.first { $0.version == version } }

    /// How a store of `version` becomes a present one, step by step; no steps if it is one.
    /// - Throws: `tooOld` or `tooNew`.
    package func steps(from version: Int64) throws(MigrationFailure) -> [MigrationStep] {
        guard version >= oldest else { throw .tooOld(version: version, oldest: oldest) }
        guard version <= current.version else { throw .tooNew(version: version, current: current.version) }
        let passed = models.drop { $0.version < version }
        return zip(passed, passed.dropFirst()).map { old, new in
            MigrationStep(from: old, to: new, policies[new.version] ?? [])
        }
    }
}

/// One version to the next.
package struct MigrationStep: Sendable {
    package let old: StoreModel
    package let new: StoreModel
    package let mappings: [EntityMapping]
    /// Tables that the new version doesn't have.
    package let dropped: [String]

    /// A change that can't be inferred and has no policy is a mistake of the program, which its tests find.
    init(from old: StoreModel, to new: StoreModel, _ policies: [MigrationPolicy]) {
        self.old = old
        self.new = new
        mappings = new.entities.map { entity in
            if let policy = policies.first(where: { $0.entity == entity.name }) {
                return EntityMapping(entity, by: policy)
            }
            guard let inferred = EntityMapping(inferredFor: entity, from: old) else {
                preconditionFailure("version \(new.version) needs a policy for '\(entity.name)'")
            }
            return inferred
        }
        let used = Set(mappings.compactMap(\.source))
        dropped = old.entities.map(\.name).filter { !used.contains($0) }
    }
}
