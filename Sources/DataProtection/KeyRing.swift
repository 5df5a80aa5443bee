package import Cryptography
package import RingwakeCore

/// The keys of one generation of a class.
package struct ClassKey: Sendable {
    /// The numbers of keys that are in memory only, because the file of keys can't be read. They are chosen at random.
    package static let temporaryGenerations: ClosedRange<UInt32> = 1 << 31 ... .max

    /// Each new key of a class has a higher number, from 1.
    package let generation: UInt32
    /// What records are sealed to while ``secret`` isn't available: an uncompressed point on P-256.
    package let publicPoint: [UInt8]
    /// Nil while the class is locked.
    package let secret: Secret?

    /// What reads and writes records.
    package struct Secret: Sendable {
        /// The key of AES-256-GCM.
        package let symmetric: SecretBytes
        /// The number that is the private key on P-256.
        package let scalar: SecretBytes

        package init(symmetric: SecretBytes, scalar: SecretBytes) {
            self.symmetric = symmetric
            self.scalar = scalar
        }
    }

    package init(generation: UInt32, publicPoint: [UInt8], secret: Secret?) {
        self.generation = generation
        self.publicPoint = publicPoint
        self.secret = secret
    }

    /// The same without what is secret: for a class that is locked.
    package var locked: ClassKey { ClassKey(generation: generation, publicPoint: publicPoint, secret: nil) }

    /// A new key.
    ///
    /// - Throws: `failed` when OpenSSL cannot make one.
    package static func generate(_ generation: UInt32) throws(RingwakeError) -> ClassKey {
        let pair = try P256PrivateKey.generate()
        return try ClassKey(
            generation: generation, publicPoint: pair.publicPoint,
            secret: Secret(symmetric: SecretBytes(random: AESGCM.longKeyBytes), scalar: pair.scalar))
    }
}

/// The keys of all classes, as they are available now.
package struct KeyRing: Sendable {
    /// By class, the oldest generation first. New records are written with the last one. The others are there until all
    /// their records have been written again.
    package var keys: [ProtectionClass: [ClassKey]]
    /// The class of each kind of data. A kind that isn't named, and one whose class has no key, is stored as it is.
    package var classes: [ProtectedKind: ProtectionClass]
    /// For look-ups in lists of callers. It stays while the device is locked. Nil until the root key was there once.
    package var lookup: LookupKey?

    package init(
        keys: [ProtectionClass: [ClassKey]] = [:], classes: [ProtectedKind: ProtectionClass] = [:],
        lookup: LookupKey? = nil
    ) {
        self.keys = keys
        self.classes = classes
        self.lookup = lookup
    }

    /// Nothing is protected.
    package static let off = KeyRing()

    /// The header of new records of a kind.
    package func header(of kind: ProtectedKind) -> RecordHeader {
        guard let protection = classes[kind], let key = keys[protection]?.last else {
            return RecordHeader(form: .plain, protection: .none, generation: 0)
        }
        return RecordHeader(
            form: key.secret == nil ? .sealed : .encrypted, protection: protection, generation: key.generation)
    }

    /// Whether a record has to be written again: its key is not the present one of its kind's class.
    package func isOutdated(_ record: RecordHeader, of kind: ProtectedKind) -> Bool {
        let present = header(of: kind)
        return record.protection != present.protection || record.generation != present.generation
    }

    /// Whether nobody can read a record any more: its key is not in the ring, and is no key that is only missing. A later
    /// key of the file shows that the file once had it, and a temporary one ended with its process.
    func isKeyDeleted(of record: RecordHeader) -> Bool {
        !isOfFile(record.generation)
            || keys[record.protection, default: []].contains {
                $0.generation > record.generation && isOfFile($0.generation)
            }
    }

    /// Whether the file of keys should have this key, and doesn't: it is older than the record.
    package func isKeyMissing(of protection: ProtectionClass, _ generation: UInt32) -> Bool {
        let known = keys[protection, default: []].map(\.generation).filter(isOfFile)
        guard let last = known.last, isOfFile(generation) else { return false }
        return generation > last
    }

    /// Keeps the keys that are in memory only, until all their records have been written again with those of the file.
    package mutating func keepTemporaryKeys(of former: KeyRing) {
        for (protection, known) in former.keys {
            let temporary = known.filter { !isOfFile($0.generation) && $0.secret != nil }
            guard !temporary.isEmpty, let present = keys[protection], present.allSatisfy({ isOfFile($0.generation) })
            else { continue }
            keys[protection] = temporary + present
        }
    }

    /// Removes the keys of a class that have no records any more, but never the present one.
    ///
    /// - Returns: whether there were any.
    package mutating func removeKeys(of protection: ProtectionClass, before generation: UInt32) -> Bool {
        guard let known = keys[protection], let present = known.last else { return false }
        let left = known.dropLast().filter { $0.generation >= generation && isOfFile($0.generation) } + [present]
        keys[protection] = left
        return left.count < known.count
    }

    private func isOfFile(_ generation: UInt32) -> Bool { !ClassKey.temporaryGenerations.contains(generation) }

    /// Whether lists of callers can be read and changed now. That needs the key for look-ups as well.
    package var areListsAvailable: Bool {
        switch header(of: .lists).form {
        case .plain: true
        case .encrypted: lookup != nil
        case .sealed: false
        }
    }

    /// Whether records of a class can be read now.
    package func isAvailable(_ protection: ProtectionClass) -> Bool {
        protection == .none || keys[protection]?.last?.secret != nil
    }
}
