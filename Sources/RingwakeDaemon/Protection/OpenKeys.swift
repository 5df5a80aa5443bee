internal import DataProtection
internal import RingwakeCore

/// The file of keys, and what opens it while the device is unlocked. Each change is written before it is in force.
nonisolated struct OpenKeys {
    /// Path of the file.
    let path: String
    var file: ProtectionFile?
    /// Nil while the device is locked.
    var rootKey: RootKey?

    init(path: String) {
        self.path = path
    }

    /// The public keys of the file. Without a file, keys that nobody stores: what they protect can be read while this
    /// process lives, and never afterwards. So only what arrives is protected by them, and nothing that is stored already.
    func closedRing(_ classes: [ProtectedKind: ProtectionClass]) throws(RingwakeError) -> KeyRing {
        if let file { return try file.ring(rootKey: rootKey, available: [], classes: classes) }
        var ring = KeyRing(classes: classes)
        for protection in ProtectionClass.withKeys {
            ring.keys[protection] = [try ClassKey.generate(.random(in: ClassKey.temporaryGenerations))]
        }
        return ring
    }

    /// The first keys.
    mutating func make(_ source: RootKeySource, _ rootKey: RootKey) throws(RingwakeError) {
        let made = try ProtectionFile.make(source, rootKey)
        try made.write(path)
        (file, self.rootKey) = (made, rootKey)
    }

    /// Puts the keys under another root key.
    mutating func rewrap(_ source: RootKeySource, _ new: RootKey) throws(RingwakeError) {
        try change { file, rootKey throws(RingwakeError) in try file.rewrap(from: rootKey, to: new, source: source) }
        rootKey = new
    }

    /// Makes new keys of these classes.
    mutating func rekey(_ classes: [ProtectionClass]) throws(RingwakeError) {
        try change { file, rootKey throws(RingwakeError) in
            for protection in classes { try file.addGeneration(of: protection, rootKey: rootKey) }
        }
    }

    /// Deletes the keys of a class.
    ///
    /// - Parameter generation: the highest one that the store has, if it is later than the file.
    mutating func delete(_ protection: ProtectionClass, after generation: UInt32?) throws(RingwakeError) {
        try change { file, rootKey throws(RingwakeError) in
            try file.deleteKeys(of: protection, after: generation ?? 0, rootKey: rootKey)
        }
    }

    /// Removes the keys of a class before this generation.
    ///
    /// - Returns: whether there were any.
    mutating func removeKeys(of protection: ProtectionClass, before generation: UInt32) throws(RingwakeError) -> Bool {
        guard var changed = file else { return false }
        changed.removeGenerations(of: protection, before: generation)
        guard changed != file else { return false }
        try changed.write(path)
        file = changed
        return true
    }

    private mutating func change(
        _ body: (inout ProtectionFile, RootKey) throws(RingwakeError) -> Void
    ) throws(RingwakeError) {
        guard var changed = file, let rootKey else {
            throw RingwakeError(.locked, "the keys are locked; run 'ringwake protection unlock' first")
        }
        try body(&changed, rootKey)
        try changed.write(path)
        file = changed
    }
}

/// A source with its root key.
nonisolated struct OpenedSource: Sendable {
    let source: RootKeySource
    let rootKey: RootKey

    /// Asks the TPM that a file of keys names, or lets it make a new key. It takes up to a second.
    init(ofTPM former: ProtectionFile?) throws(RingwakeError) {
        guard let former else {
            (source, rootKey) = try RootKeySource.newTPM()
            return
        }
        source = former.source
        rootKey = try source.rootKey(credentialsDirectory: nil)
        try former.verify(rootKey)
    }
}
