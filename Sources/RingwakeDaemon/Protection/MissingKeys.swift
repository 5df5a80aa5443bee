internal import RingwakeCore

/// Keys that records were written with, and that `protection.json` doesn't have: somebody put an older one back. By class,
/// the highest generation.
nonisolated struct MissingKeys {
    let generations: [ProtectionClass: UInt32]

    /// What is wrong, and what to do; nil: no key is missing.
    var why: String? {
        let classes = generations.keys.map(\.rawValue).sorted()
        guard !classes.isEmpty else { return nil }
        let names = classes.joined(separator: ", ")
        return "protection.json is older than the store, and lacks keys of \(names): stop the daemon, put the newest "
            + "protection.json back, and start it; or, if that is lost, give up what is stored under these keys by "
            + classes.map { "'ringwake protection delete \($0)'" }.joined(separator: " and ")
    }

    /// The number of a new key could be that of a missing one, whose records would then look damaged.
    func requireNone(of classes: [ProtectionClass]) throws(RingwakeError) {
        guard classes.contains(where: { generations[$0] != nil }), let why else { return }
        throw RingwakeError(.conflict, why)
    }
}
