internal import Cryptography
package import RingwakeCore

/// Why a record can't be read.
package enum RecordFailure: Error, Hashable, Sendable {
    /// Its class is locked now, or the file of keys is older than the record, and may be replaced.
    case locked(ProtectionClass)
    /// The key of its class was deleted. Nobody can read it any more.
    case deleted(ProtectionClass)
    /// It was changed, is no record, or belongs elsewhere: why, for a person.
    case damaged(String)
}

/// Encrypts and decrypts the records of a store. It belongs to one thread.
///
///     let record = try vault.seal(payload, .payloads, place: "1/0")
///     let payload = try vault.open(record, .payloads, place: "1/0")
///
/// A record is bound to its kind and to its place in the store, so nobody can exchange two records. Records are encrypted
/// by AES-256-GCM. While a class is locked, they are sealed to its public key by ``HPKE``.
package final class RecordVault {
    /// How much longer than its content a record can be.
    package static let maximumOverhead = RecordHeader.bytes + HPKE.overheadBytes

    /// The present keys.
    package private(set) var ring: KeyRing
    /// What reading has shown.
    package private(set) var findings = RecordFindings()
    /// How often a record could not be opened because its key was deleted.
    package private(set) var deletedReads: Int64 = 0
    private var openers: [Identity: P256PrivateKey] = [:]
    private var sealers: [Identity: P256PublicKey] = [:]
    private var nonces = NonceSequence()

    private struct Identity: Hashable {
        let protection: ProtectionClass
        let generation: UInt32
    }

    package init(_ ring: KeyRing = .off) {
        self.ring = ring
    }

    /// Replaces the keys. Those that are not in the new ring are overwritten in memory.
    package func use(_ ring: KeyRing) {
        self.ring = ring
        findings.use(ring)
        openers = [:]
        sealers = [:]
    }

    /// The record of content that has no class, and so is stored as it is.
    package static func plain(_ content: [UInt8]) -> [UInt8] {
        RecordHeader(form: .plain, protection: .none, generation: 0).encoded + content
    }

    /// The record of some content.
    ///
    /// - Parameters:
    ///   - kind: nil for content that has no class.
    ///   - place: the record's place among those of its kind. It has to be named again to open the record.
    /// - Throws: `failed` when OpenSSL cannot (no memory).
    package func seal(_ content: [UInt8], _ kind: ProtectedKind?, place: String) throws(RingwakeError) -> [UInt8] {
        guard let kind else { return Self.plain(content) }
        let header = ring.header(of: kind)
        let encoded = header.encoded
        guard let key = ring.keys[header.protection]?.last, header.form != .plain else { return encoded + content }
        let bound = Self.bound(encoded, kind, place)
        if let secret = key.secret {
            let nonce = try nonces.next()
            return try encoded + nonce
                + AESGCM.seal(content, key: secret.symmetric, nonce: nonce, additionalData: bound)
        }
        return try encoded
            + HPKE.seal(content, to: sealer(of: key, header.protection), info: Self.purpose, additionalData: bound)
    }

    /// The content of a record. A failure that a person has to know of is in ``findings`` as well.
    package func open(_ record: [UInt8], _ kind: ProtectedKind?, place: String) throws(RecordFailure) -> [UInt8] {
        do throws(RecordFailure) {
            return try content(of: record, kind, place)
        } catch {
            if case .deleted = error { deletedReads += 1 }
            if case .damaged = error, let kind { findings.noteDamage(kind, at: place) }
            if let header = RecordHeader(record) { noteKey(of: header.protection, header.generation) }
            throw error
        }
    }

    /// Notes that there are records of this generation.
    package func noteKey(of protection: ProtectionClass, _ generation: UInt32) {
        if ring.isKeyMissing(of: protection, generation) { findings.noteMissingKey(of: protection, generation) }
    }

    /// Adds what another vault has shown of the same store.
    package func note(_ other: RecordFindings) {
        findings.merge(other)
        findings.use(ring)
    }

    private func content(
        of record: [UInt8], _ kind: ProtectedKind?, _ place: String
    ) throws(RecordFailure) -> [UInt8] {
        guard let header = RecordHeader(record) else { throw .damaged("it doesn't begin like a record") }
        let content = record.dropFirst(RecordHeader.bytes)
        if header.form == .plain { return Array(content) }
        guard let key = ring.keys[header.protection]?.first(where: { $0.generation == header.generation }) else {
            // The file of keys may be damaged or missing, and come back.
            throw ring.isKeyDeleted(of: header) ? .deleted(header.protection) : .locked(header.protection)
        }
        guard let secret = key.secret else { throw .locked(header.protection) }
        let bound = Self.bound(Array(record.prefix(RecordHeader.bytes)), kind, place)
        do throws(RingwakeError) {
            if header.form == .sealed {
                return try HPKE.open(
                    Array(content), with: opener(of: key, secret, header.protection), info: Self.purpose,
                    additionalData: bound)
            }
            let sealed = content.dropFirst(AESGCM.nonceBytes)
            guard content.count >= AESGCM.nonceBytes + AESGCM.tagBytes,
                let opened = try AESGCM.open(
                    sealed, key: secret.symmetric, nonce: Array(content.prefix(AESGCM.nonceBytes)),
                    additionalData: bound)
            else { throw RingwakeError(.badCredential, "it was changed, or belongs elsewhere") }
            return opened
        } catch {
            throw .damaged(error.message)
        }
    }

    private func sealer(of key: ClassKey, _ protection: ProtectionClass) throws(RingwakeError) -> P256PublicKey {
        let identity = Identity(protection: protection, generation: key.generation)
        if let known = sealers[identity] { return known }
        let sealer = try P256PublicKey(point: key.publicPoint)
        sealers[identity] = sealer
        return sealer
    }

    private func opener(
        of key: ClassKey, _ secret: ClassKey.Secret, _ protection: ProtectionClass
    ) throws(RingwakeError) -> P256PrivateKey {
        let identity = Identity(protection: protection, generation: key.generation)
        if let known = openers[identity] { return known }
        let opener = try P256PrivateKey(scalar: secret.scalar, publicPoint: key.publicPoint)
        openers[identity] = opener
        return opener
    }

    private static let purpose = Array("ringwake record 1".utf8)

    /// What must not change: the header, the kind, the place.
    private static func bound(_ header: [UInt8], _ kind: ProtectedKind?, _ place: String) -> [UInt8] {
        header + Array((kind?.rawValue ?? "").utf8) + [0] + Array(place.utf8)
    }
}

/// Nonces of AES-GCM that occur once with a key (NIST SP 800-38D section 8.2.1): 8 random bytes for each run of the
/// program, and a counter. Random nonces alone would be used up after 2^32 records of a key.
struct NonceSequence {
    private static let prefixBytes = 8

    private var prefix: [UInt8]
    private var counter: UInt32

    /// - Parameters: those of a sequence that is at its end, for tests.
    init(prefix: [UInt8] = [], counter: UInt32 = 0) {
        self.prefix = prefix
        self.counter = counter
    }

    mutating func next() throws(RingwakeError) -> [UInt8] {
        if prefix.isEmpty || counter == .max {
            prefix = try SecureRandom.bytes(Self.prefixBytes)
            counter = 0
        }
        counter += 1
        return prefix + (0..<4).reversed().map { UInt8(truncatingIfNeeded: counter >> ($0 * 8)) }
    }
}
