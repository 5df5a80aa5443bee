package import RingwakeCore

/// What reading records has shown that a person has to know.
package struct RecordFindings: Hashable, Sendable {
    /// Places that are counted for each kind.
    package static let maximumPlaces = 1_000

    /// The places of records that are damaged.
    package private(set) var damaged: [ProtectedKind: Set<String>] = [:]
    /// By class, the highest generation of a record whose key the file of keys should have, and doesn't.
    package private(set) var missingKeys: [ProtectionClass: UInt32] = [:]

    package init() {}

    /// Number of damaged records, up to ``maximumPlaces`` of each kind.
    package var damagedCount: Int { damaged.values.reduce(0) { $0 + $1.count } }

    mutating func noteDamage(_ kind: ProtectedKind, at place: String) {
        guard damaged[kind, default: []].count < Self.maximumPlaces else { return }
        damaged[kind, default: []].insert(place)
    }

    mutating func noteMissingKey(of protection: ProtectionClass, _ generation: UInt32) {
        missingKeys[protection] = max(missingKeys[protection] ?? 0, generation)
    }

    mutating func merge(_ other: RecordFindings) {
        for (kind, places) in other.damaged { for place in places { noteDamage(kind, at: place) } }
        for (protection, generation) in other.missingKeys { noteMissingKey(of: protection, generation) }
    }

    /// With other keys, those that are no longer missing are forgotten.
    mutating func use(_ ring: KeyRing) {
        missingKeys = missingKeys.filter { ring.isKeyMissing(of: $0.key, $0.value) }
    }
}
