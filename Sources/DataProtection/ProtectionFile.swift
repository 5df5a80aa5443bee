internal import Cryptography
internal import FileSystem
package import RingwakeCore

/// The keys of the classes, wrapped by the root key: `protection.json` in the state directory.
///
///     var file = try ProtectionFile.make(.keyFile(path), rootKey)
///     try file.write("\(state)/\(ProtectionFile.name)")
///     vault.use(try file.ring(rootKey: rootKey, available: [.complete], classes: classes))
///
/// It is a value: ``write(_:)`` stores it. An operation that throws has changed nothing.
package struct ProtectionFile: Equatable, Sendable {
    package static let name = StateDirectory.protection
    /// What isn't there without the file.
    private static let loss = "Without it nobody can read the protected data; restore it from a backup"
    /// Maximum size of the file, in bytes. With all keys that there can be it has less than 32 KiB.
    package static let maximumBytes = 256 << 10
    private static let checkPurpose = Array("ringwake root key check 1".utf8)
    private static let lookupPurpose = Array("ringwake look-up key 1".utf8)

    private var document: ProtectionDocument

    private init(_ document: ProtectionDocument) {
        self.document = document
    }

    /// Where the root key comes from.
    package var source: RootKeySource { document.source }

    /// New keys for all classes.
    ///
    /// - Throws: `failed` when OpenSSL cannot make them.
    package static func make(_ source: RootKeySource, _ rootKey: RootKey) throws(RingwakeError) -> ProtectionFile {
        var classes: [WrappedClassKeys] = []
        for protection in ProtectionClass.withKeys { classes.append(try WrappedClassKeys(of: protection, rootKey)) }
        return ProtectionFile(
            ProtectionDocument(
                source: source, check: try check(rootKey),
                lookup: try lookup(SecretBytes(random: LookupKey.byteCount), source, rootKey), classes: classes))
    }

    // MARK: - The file

    /// Reads a file, or its second copy.
    ///
    /// - Parameters:
    ///   - repairs: whether this process owns the directory, and may replace a damaged one of the two.
    ///   - onDamage: gets what was wrong with one of the two, if the other one is good.
    /// - Returns: nil if there is none.
    /// - Throws: `failed` if both are damaged, and for a file of another version; `system`. They stay as they are.
    package static func read(
        _ path: String, repairs: Bool = true, onDamage: (String) -> Void = { _ in }
    ) throws(RingwakeError) -> ProtectionFile? {
        let reading = files(at: path).read(repairs: repairs) { (bytes) throws(DoubleFile.Fault) in
            do throws(ProtectionDocument.Failure) {
                return ProtectionFile(try ProtectionDocument(bytes))
            } catch {
                switch error {
                case .schema: throw .refused(description(of: error, path))
                case .damaged(let reason): throw .damaged(reason)
                }
            }
        }
        switch reading {
        case .absent: return nil
        case .found(let file, let damage):
            if let damage { onDamage(damage) }
            return file
        case .refused(let why): throw RingwakeError(.failed, why)
        case .lost(let reason): throw RingwakeError(.failed, description(of: .damaged(reason), path))
        case .unreadable(let error):
            throw RingwakeError(.system, "'\(error.path)' can't be read: \(error.reason). \(loss)")
        }
    }

    private static func files(at path: String) -> DoubleFile {
        let (directory, name) = FileSystem.split(path)
        return DoubleFile(name: String(name), directory: directory, maximumSize: maximumBytes)
    }

    private static func description(of failure: ProtectionDocument.Failure, _ path: String) -> String {
        switch failure {
        case .schema(let schema):
            "'\(path)' has schema \(schema), and this program reads schema \(ProtectionDocument.schema); start the version "
                + "of Ringwake that wrote it"
        case .damaged(let reason): "'\(path)' is damaged: \(reason). \(loss)"
        }
    }

    /// Reads the content of a file.
    ///
    /// - Parameter path: for messages.
    package init(_ bytes: [UInt8], _ path: String) throws(RingwakeError) {
        do throws(ProtectionDocument.Failure) {
            document = try ProtectionDocument(bytes)
        } catch {
            throw RingwakeError(.failed, Self.description(of: error, path))
        }
    }

    /// The content of the file.
    package var encoded: [UInt8] { document.encoded }

    /// Replaces the file and its second copy, durably and each at once.
    ///
    /// - Throws: `system`.
    package func write(_ path: String) throws(RingwakeError) {
        do throws(FileSystemError) {
            try Self.files(at: path).write(encoded)
        } catch {
            throw RingwakeError(
                .system,
                "'\(path)' can't be written: \(error.reason); check the folder's owner and the space on its disk")
        }
    }

    // MARK: - Keys

    /// - Throws: `badCredential` for another root key than that of the file.
    package func verify(_ rootKey: RootKey) throws(RingwakeError) {
        guard try rootKey.unwrap(document.check, bound: Self.checkPurpose) != nil else {
            throw RingwakeError(.badCredential, source.whenWrong)
        }
    }

    /// The keys as they are available now.
    ///
    /// - Parameters:
    ///   - rootKey: needed if a class is available. Without it there may be no key for look-ups; see ``lookupKey(_:)``.
    ///   - available: the classes whose records can be read. Of the others, only public keys are in the ring.
    ///   - classes: the class of each kind of data.
    /// - Throws: `badCredential` for a wrong root key, and for a key that was changed; `locked` without a root key.
    package func ring(
        rootKey: RootKey?, available: Set<ProtectionClass>, classes: [ProtectedKind: ProtectionClass]
    ) throws(RingwakeError) -> KeyRing {
        if let rootKey { try verify(rootKey) }
        var ring = KeyRing(classes: classes, lookup: try lookupKey(rootKey))
        for keys in document.classes {
            guard available.contains(keys.protection) else {
                ring.keys[keys.protection] = keys.generations.map(\.locked)
                continue
            }
            guard let rootKey else {
                throw RingwakeError(
                    .locked, "the class \(keys.protection.rawValue) needs the root key; unlock the device")
            }
            for key in keys.generations {
                ring.keys[keys.protection, default: []].append(try key.unwrapped(of: keys.protection, rootKey))
            }
        }
        return ring
    }

    /// The key for look-ups.
    ///
    /// - Returns: nil if it needs the root key, and there is none.
    /// - Throws: `badCredential` for a wrong root key, and for a key that was changed.
    package func lookupKey(_ rootKey: RootKey?) throws(RingwakeError) -> LookupKey? {
        try lookupBytes(rootKey).map(LookupKey.init)
    }

    private func lookupBytes(_ rootKey: RootKey?) throws(RingwakeError) -> SecretBytes? {
        switch document.lookup {
        case .plain(var bytes): return SecretBytes(wiping: &bytes)
        case .wrapped(let wrapped):
            guard let rootKey else { return nil }
            try verify(rootKey)
            guard let bytes = try rootKey.unwrap(wrapped, bound: Self.lookupPurpose) else {
                throw RingwakeError(
                    .badCredential, "the look-up key was changed or isn't one; restore protection.json from a backup")
            }
            return bytes
        }
    }

    /// The generations of a class that there are, the oldest first. The last one writes new records.
    package func generations(of protection: ProtectionClass) -> [UInt32] {
        document.classes.first { $0.protection == protection }?.generations.map(\.generation) ?? []
    }

    // MARK: - Changes

    /// Begins re-keying: new records get a new key.
    ///
    /// - Returns: the number of the new generation.
    /// - Throws: `badCredential` for a wrong root key; `limitReached`; `invalidRequest` for a class that has no keys.
    @discardableResult
    package mutating func addGeneration(
        of protection: ProtectionClass, rootKey: RootKey
    ) throws(RingwakeError) -> UInt32 {
        try change(protection, rootKey) { (keys) throws(RingwakeError) in try keys.add(rootKey) }
    }

    /// Ends re-keying: no record of these generations is left. The present generation always stays.
    package mutating func removeGenerations(of protection: ProtectionClass, before generation: UInt32) {
        for index in document.classes.indices where document.classes[index].protection == protection {
            document.classes[index].remove(before: generation)
        }
    }

    /// Deletes all keys of a class: when this file is written, nobody can read its records any more. New records get a new
    /// key.
    ///
    /// - Parameter generation: the highest one that the store has; the file may be older than the store.
    /// - Returns: the number of the new generation.
    /// - Throws: as ``addGeneration(of:rootKey:)``.
    @discardableResult
    package mutating func deleteKeys(
        of protection: ProtectionClass, after generation: UInt32 = 0, rootKey: RootKey
    ) throws(RingwakeError) -> UInt32 {
        try change(protection, rootKey) { (keys) throws(RingwakeError) in
            try keys.replace(after: generation, rootKey)
        }
    }

    private mutating func change(
        _ protection: ProtectionClass, _ rootKey: RootKey,
        _ body: (inout WrappedClassKeys) throws(RingwakeError) -> Void
    ) throws(RingwakeError) -> UInt32 {
        try verify(rootKey)
        guard let index = document.classes.firstIndex(where: { $0.protection == protection }) else {
            throw RingwakeError(
                .invalidRequest, "the class \(protection.rawValue) has no keys; name another class")
        }
        var keys = document.classes[index]
        try body(&keys)
        document.classes[index] = keys
        return keys.present
    }

    /// Changes the root key, or where it comes from. Records stay as they are.
    ///
    /// - Throws: `badCredential` for a wrong root key, and for keys that were changed.
    package mutating func rewrap(
        from old: RootKey, to new: RootKey, source: RootKeySource
    ) throws(RingwakeError) {
        try verify(old)
        guard let lookup = try lookupBytes(old) else { return }
        var classes: [WrappedClassKeys] = []
        for keys in document.classes { classes.append(try keys.rewrapped(from: old, to: new)) }
        document = ProtectionDocument(
            source: source, check: try Self.check(new), lookup: try Self.lookup(lookup, source, new), classes: classes)
    }

    private static func check(_ rootKey: RootKey) throws(RingwakeError) -> [UInt8] {
        var nothing: [UInt8] = []
        return try rootKey.wrap(SecretBytes(wiping: &nothing), bound: checkPurpose)
    }

    private static func lookup(
        _ key: SecretBytes, _ source: RootKeySource, _ rootKey: RootKey
    ) throws(RingwakeError) -> ProtectionDocument.Lookup {
        if source.needsPerson { return .plain(key.withBytes { Array($0) }) }
        return .wrapped(try rootKey.wrap(key, bound: lookupPurpose))
    }
}
