internal import Cryptography
internal import FoundationEssentials
internal import RingwakeCore

/// What `protection.json` holds, and how it is written: one line of JSON, always with the same bytes for the same content.
/// The last member is the SHA-256 of what is before it, so damage that leaves valid JSON is found.
struct ProtectionDocument: Equatable, Sendable {
    /// The version that is written and read.
    static let schema = 1
    private static let checkMember = "sha256"

    /// The key for look-ups.
    enum Lookup: Equatable, Sendable {
        /// As it is, because it is needed before a person has entered the passphrase.
        case plain([UInt8])
        case wrapped([UInt8])
    }

    var source: RootKeySource
    /// Nothing, wrapped by the root key: another root key can't unwrap it.
    var check: [UInt8]
    var lookup: Lookup
    /// In the order of ``ProtectionClass/withKeys``.
    var classes: [WrappedClassKeys]

    // MARK: - Writing

    var encoded: [UInt8] {
        let contents = JSONWriter { writer in write(to: &writer) }.bytes
        let digest = encodeHex(SHA256.digest(contents))
        return contents.dropLast() + Array(",\"\(Self.checkMember)\":\"\(digest)\"}\n".utf8)
    }

    private func write(to writer: inout JSONWriter) {
        writer.add("schema", Self.schema)
        writer.add("source") { writer in source.write(to: &writer) }
        writer.add("check", Base64URL.encode(check))
        writer.add("lookup") { writer in
            switch lookup {
            case .plain(let key): writer.add("key", Base64URL.encode(key))
            case .wrapped(let key): writer.add("wrapped", Base64URL.encode(key))
            }
        }
        writer.add("classes", array: classes) { keys, writer in
            writer.object { writer in
                writer.add("class", keys.protection)
                writer.add("generations", array: keys.generations) { key, writer in
                    writer.object { writer in
                        writer.add("number", key.generation)
                        writer.add("public", Base64URL.encode(key.publicPoint))
                        writer.add("wrapped", Base64URL.encode(key.wrapped))
                    }
                }
            }
        }
    }

    // MARK: - Reading

    /// Why bytes are no document that this version reads.
    enum Failure: Error, Equatable {
        case schema(Int)
        /// A clause for a message.
        case damaged(String)
    }

    init(source: RootKeySource, check: [UInt8], lookup: Lookup, classes: [WrappedClassKeys]) {
        self.source = source
        self.check = check
        self.lookup = lookup
        self.classes = classes
    }

    init(_ bytes: [UInt8]) throws(Failure) {
        let data = Data(bytes)
        guard let version = try? JSONDecoder().decode(Stored.Version.self, from: data) else {
            throw .damaged(bytes.isEmpty ? "it is empty" : "it isn't JSON with a number 'schema'")
        }
        guard version.schema == Self.schema else { throw .schema(version.schema) }
        guard let stored = try? JSONDecoder().decode(Stored.self, from: data) else {
            throw .damaged("a member is missing or has another form")
        }
        guard let source = RootKeySource(stored.source) else { throw .damaged("'source' is none") }
        guard stored.check.bytes.count == RootKey.wrappedBytes(of: 0) else { throw .damaged("'check' is none") }
        guard let lookup = Lookup(stored.lookup) else { throw .damaged("'lookup' is no key") }
        guard stored.classes.map(\.class) == ProtectionClass.withKeys else { throw .damaged("'classes' are others") }
        var classes: [WrappedClassKeys] = []
        for stored in stored.classes.prefix(ProtectionClass.withKeys.count) {
            guard let keys = WrappedClassKeys(stored) else { throw .damaged("'\(stored.class.rawValue)' has no keys") }
            classes.append(keys)
        }
        self.init(source: source, check: stored.check.bytes, lookup: lookup, classes: classes)
        guard encoded == bytes else { throw .damaged("it isn't as it was written: its SHA-256 is another") }
    }
}

/// The members as JSON has them.
private struct Stored: Decodable {
    struct Version: Decodable {
        let schema: Int
    }

    struct Source: Decodable {
        let kind: String
        let name: String?
        let path: String?
        let salt: Base64Text?
        let n: Int?
        let r: Int?
        let p: Int?
        let key: String?
        let sealed: Base64Text?
    }

    struct Lookup: Decodable {
        let key: Base64Text?
        let wrapped: Base64Text?
    }

    struct Class: Decodable {
        let `class`: ProtectionClass
        let generations: [Generation]
    }

    struct Generation: Decodable {
        let number: UInt32
        let `public`: Base64Text
        let wrapped: Base64Text
    }

    let source: Source
    let check: Base64Text
    let lookup: Lookup
    let classes: [Class]
}

private struct Base64Text: Decodable {
    let bytes: [UInt8]

    init(from decoder: any Decoder) throws {
        let text = try decoder.singleValueContainer().decode(String.self)
        guard let bytes = Base64URL.decode(text) else {
            throw DecodingError.dataCorrupted(.init(codingPath: decoder.codingPath, debugDescription: "no base64"))
        }
        self.bytes = bytes
    }
}

extension RootKeySource {
    fileprivate func write(to writer: inout JSONWriter) {
        writer.add("kind", kind)
        switch self {
        case .credential(let name): writer.add("name", name)
        case .keyFile(let path): writer.add("path", path)
        case .passphrase(let salt, let parameters):
            writer.add("salt", Base64URL.encode(salt))
            writer.add("n", parameters.n)
            writer.add("r", parameters.r)
            writer.add("p", parameters.p)
        case .tpm(let sealed):
            writer.add("key", sealed.key)
            writer.add("sealed", Base64URL.encode(sealed.sealed))
        }
    }

    fileprivate init?(_ stored: Stored.Source) {
        switch Kind(rawValue: stored.kind) {
        case .credential:
            guard let name = stored.name, Self.isFileName(name) else { return nil }
            self = .credential(name)
        case .keyFile:
            guard let path = stored.path, path.hasPrefix("/") else { return nil }
            self = .keyFile(path)
        case .passphrase:
            guard let salt = stored.salt?.bytes, Self.saltBytes.contains(salt.count), let n = stored.n,
                let r = stored.r,
                let p = stored.p, let parameters = ScryptParameters(n: n, r: r, p: p)
            else { return nil }
            self = .passphrase(salt: salt, parameters)
        case .tpm:
            guard let key = stored.key, let sealed = stored.sealed?.bytes,
                let sealed = TPMSealedKey(key: key, sealed: sealed)
            else { return nil }
            self = .tpm(sealed)
        case nil: return nil
        }
    }
}

extension ProtectionDocument.Lookup {
    fileprivate init?(_ stored: Stored.Lookup) {
        if let key = stored.key?.bytes, key.count == LookupKey.byteCount {
            self = .plain(key)
        } else if let wrapped = stored.wrapped?.bytes, wrapped.count == RootKey.wrappedBytes(of: LookupKey.byteCount) {
            self = .wrapped(wrapped)
        } else {
            return nil
        }
    }
}

extension WrappedClassKeys {
    fileprivate init?(_ stored: Stored.Class) {
        guard stored.generations.count <= Self.maximumGenerations else { return nil }
        var generations: [WrappedClassKey] = []
        for stored in stored.generations {
            guard
                let key = WrappedClassKey(
                    generation: stored.number, publicPoint: stored.public.bytes, wrapped: stored.wrapped.bytes)
            else { return nil }
            generations.append(key)
        }
        self.init(protection: stored.class, generations: generations)
    }
}
