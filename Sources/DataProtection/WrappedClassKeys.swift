internal import Cryptography
internal import RingwakeCore

/// One generation of a class's keys, wrapped by the root key.
struct WrappedClassKey: Equatable, Sendable {
    /// The private key on P-256.
    private static let scalarBytes = 32
    private static let secretBytes = AESGCM.longKeyBytes + scalarBytes
    static let wrappedBytes = RootKey.wrappedBytes(of: secretBytes)
    private static let purpose = Array("ringwake class key 1".utf8)

    let generation: UInt32
    let publicPoint: [UInt8]
    /// The symmetric key and the scalar.
    let wrapped: [UInt8]

    /// - Returns: nil for the parts of no key.
    init?(generation: UInt32, publicPoint: [UInt8], wrapped: [UInt8]) {
        guard generation > 0, wrapped.count == Self.wrappedBytes, (try? P256PublicKey(point: publicPoint)) != nil else {
            return nil
        }
        self.generation = generation
        self.publicPoint = publicPoint
        self.wrapped = wrapped
    }

    /// A new key.
    init(_ generation: UInt32, of protection: ProtectionClass, _ rootKey: RootKey) throws(RingwakeError) {
        let key = try ClassKey.generate(generation)
        guard let secret = key.secret else {
            throw RingwakeError(.failed, "a key could not be made; report this as a bug")
        }
        self.generation = generation
        publicPoint = key.publicPoint
        wrapped = try Self.wrap(secret, rootKey, Self.bound(generation, protection, key.publicPoint))
    }

    /// The key without its secret.
    var locked: ClassKey { ClassKey(generation: generation, publicPoint: publicPoint, secret: nil) }

    /// - Throws: `badCredential` if it was changed.
    func unwrapped(of protection: ProtectionClass, _ rootKey: RootKey) throws(RingwakeError) -> ClassKey {
        guard let secret = try rootKey.unwrap(wrapped, bound: Self.bound(generation, protection, publicPoint)) else {
            throw RingwakeError(
                .badCredential,
                "key \(generation) of the class \(protection.rawValue) was changed or isn't one; restore protection.json "
                    + "from a backup")
        }
        return ClassKey(
            generation: generation, publicPoint: publicPoint,
            secret: ClassKey.Secret(
                symmetric: secret.part(0..<AESGCM.longKeyBytes),
                scalar: secret.part(AESGCM.longKeyBytes..<Self.secretBytes)))
    }

    /// The same under another root key.
    func rewrapped(
        of protection: ProtectionClass, from old: RootKey, to new: RootKey
    ) throws(RingwakeError) -> WrappedClassKey {
        let bound = Self.bound(generation, protection, publicPoint)
        guard let secret = try unwrapped(of: protection, old).secret else { return self }
        return WrappedClassKey(
            unchecked: generation, publicPoint, try Self.wrap(secret, new, bound))
    }

    private init(unchecked generation: UInt32, _ publicPoint: [UInt8], _ wrapped: [UInt8]) {
        self.generation = generation
        self.publicPoint = publicPoint
        self.wrapped = wrapped
    }

    private static func wrap(
        _ secret: ClassKey.Secret, _ rootKey: RootKey, _ bound: [UInt8]
    ) throws(RingwakeError) -> [UInt8] {
        try rootKey.wrap(SecretBytes(joining: secret.symmetric, secret.scalar), bound: bound)
    }

    /// What must not change. With the public point, nobody can exchange it for his own without being found.
    private static func bound(_ generation: UInt32, _ protection: ProtectionClass, _ publicPoint: [UInt8]) -> [UInt8] {
        purpose + RecordHeader(form: .encrypted, protection: protection, generation: generation).encoded + publicPoint
    }
}

/// All keys of a class, wrapped by the root key.
struct WrappedClassKeys: Equatable, Sendable {
    /// More than one are there while records are written again with a new one, which may have been begun several times.
    static let maximumGenerations = 16

    let protection: ProtectionClass
    /// The oldest first. There is always one, and the last one has the highest number that there has ever been. So no number
    /// comes again: a record of a deleted key must not be taken for one of the present key.
    private(set) var generations: [WrappedClassKey]

    /// - Returns: nil for what no version writes.
    init?(protection: ProtectionClass, generations: [WrappedClassKey]) {
        let numbers = generations.map(\.generation)
        guard (1...Self.maximumGenerations).contains(numbers.count),
            zip(numbers, numbers.dropFirst()).allSatisfy(<)
        else { return nil }
        self.protection = protection
        self.generations = generations
    }

    /// New keys.
    init(of protection: ProtectionClass, _ rootKey: RootKey) throws(RingwakeError) {
        self.protection = protection
        generations = [try WrappedClassKey(1, of: protection, rootKey)]
    }

    mutating func add(_ rootKey: RootKey) throws(RingwakeError) {
        guard generations.count < Self.maximumGenerations else {
            throw RingwakeError(
                .limitReached,
                "the class \(protection.rawValue) has \(generations.count) keys already; let the re-keying that was begun "
                    + "end first")
        }
        generations.append(try next(rootKey))
    }

    /// Removes all keys, and makes a new one.
    ///
    /// - Parameter generation: has been used, though this file may not know it.
    mutating func replace(after generation: UInt32, _ rootKey: RootKey) throws(RingwakeError) {
        generations = [try next(rootKey, after: generation)]
    }

    /// The number of the present keys.
    var present: UInt32 { generations.last?.generation ?? 0 }

    private func next(_ rootKey: RootKey, after generation: UInt32 = 0) throws(RingwakeError) -> WrappedClassKey {
        let last = max(present, generation)
        guard last < ClassKey.temporaryGenerations.lowerBound - 1 else {
            throw RingwakeError(.limitReached, "the class \(protection.rawValue) has had as many keys as there can be")
        }
        return try WrappedClassKey(last + 1, of: protection, rootKey)
    }

    /// Removes the keys before a generation. The present one stays.
    mutating func remove(before generation: UInt32) {
        let present = present
        generations = generations.filter { $0.generation >= generation || $0.generation == present }
    }

    func rewrapped(from old: RootKey, to new: RootKey) throws(RingwakeError) -> WrappedClassKeys {
        var copy = self
        copy.generations = []
        for key in generations { copy.generations.append(try key.rewrapped(of: protection, from: old, to: new)) }
        return copy
    }
}
