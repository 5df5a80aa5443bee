import Cryptography
import FileSystem
import RingwakeCore
import Testing

@testable import DataProtection

@Suite struct ProtectionFileTests {
    private let rootKey: RootKey
    private let wrong: RootKey
    private let folder: TemporaryDirectory
    private static let source = RootKeySource.keyFile("/etc/ringwake/protection.key")
    private static let classes: [ProtectedKind: ProtectionClass] = [
        .payloads: .complete, .callers: .completeUnlessOpen, .appState: .completeUntilFirstUserAuthentication,
        .lists: .complete,
    ]

    init() throws {
        (rootKey, wrong, folder) = (try RootKey.random(), try RootKey.random(), try TemporaryDirectory())
    }

    private var path: String { folder.path(ProtectionFile.name) }

    private func vault(_ file: ProtectionFile, _ key: RootKey? = nil, locked: Set<ProtectionClass> = []) throws
        -> RecordVault
    {
        try RecordVault(
            file.ring(
                rootKey: key ?? rootKey, available: Set(ProtectionClass.withKeys).subtracting(locked),
                classes: Self.classes))
    }

    private func sources() throws -> [RootKeySource] {
        let sealed = try #require(
            TPMSealedKey(
                key: "-----BEGIN TSS2 PRIVATE KEY-----\nAA==\n-----END TSS2 PRIVATE KEY-----\n",
                sealed: [UInt8](repeating: 1, count: TPMSealedKey.sealedBytes)))
        return [
            Self.source, .credential("protection"), .keyFile("/with \"quotes\" and ü/\\"), .tpm(sealed),
            try RootKeySource.newPassphrase(), try RootKeySource.newPassphrase(try #require(.init(n: 2, r: 1, p: 1))),
        ]
    }

    // MARK: - The file

    @Test("A file is read as it was written, with each source, and only its owner may read it")
    func roundTrip() throws {
        for source in try sources() {
            var file = try ProtectionFile.make(source, rootKey)
            try file.addGeneration(of: .complete, rootKey: rootKey)
            try file.deleteKeys(of: .completeUnlessOpen, rootKey: rootKey)
            try file.write(path)
            let read = try #require(try ProtectionFile.read(path))
            #expect(read == file && read.source == source)
            #expect(try FileSystem.attributes(of: path).mode == 0o600)
            try read.verify(rootKey)
        }
        #expect(try ProtectionFile.read(folder.path("none")) == nil)
        try expect(.failed, "is damaged: Is a directory") { _ = try ProtectionFile.read(folder.root) }
        try expect(.system, "can't be written") {
            try ProtectionFile.make(Self.source, rootKey).write(folder.path("no/folder"))
        }
    }

    @Test("A file of another schema is refused with both numbers, and stays")
    func schema() throws {
        for schema in [0, 2, 1_000_000] {
            let bytes = Array("{\"schema\":\(schema),\"x\":1}".utf8)
            try folder.write(ProtectionFile.name, bytes)
            try expect(.failed, "has schema \(schema), and this program reads schema 1") {
                _ = try ProtectionFile.read(path)
            }
            #expect(try folder.read(ProtectionFile.name) == bytes)
        }
    }

    @Test("A file with any byte changed, or cut off, is refused and stays")
    func damage() throws {
        var file = try ProtectionFile.make(Self.source, rootKey)
        try file.addGeneration(of: .complete, rootKey: rootKey)
        let bytes = file.encoded
        #expect(try ProtectionFile(bytes, "x") == file)
        for index in bytes.indices {
            for change in [1, 0x20, 0x80] as [UInt8] {
                var changed = bytes
                changed[index] ^= change
                #expect(throws: RingwakeError.self, "byte \(index)") { try ProtectionFile(changed, "x") }
            }
            #expect(throws: RingwakeError.self, "\(index) bytes") {
                try ProtectionFile(Array(bytes.prefix(index)), "x")
            }
        }
        for more in ["\n", " ", "}", "{}"] {
            #expect(throws: RingwakeError.self) { try ProtectionFile(bytes + Array(more.utf8), "x") }
        }
        let half = Array(bytes.prefix(bytes.count / 2))
        try folder.write(ProtectionFile.name, half)
        try expect(.failed, "is damaged: it isn't JSON") { _ = try ProtectionFile.read(path) }
        try expect(.failed, "restore it from a backup") { _ = try ProtectionFile.read(path) }
        #expect(try folder.read(ProtectionFile.name) == half)
        try folder.write(ProtectionFile.name, [UInt8](repeating: 0x20, count: ProtectionFile.maximumBytes + 1))
        try expect(.failed, "is damaged: File too large") { _ = try ProtectionFile.read(path) }
    }

    @Test("Valid JSON that no version writes is refused, also with the right digest")
    func strict() throws {
        let text = String(decoding: try ProtectionFile.make(Self.source, rootKey).encoded, as: UTF8.self)
        let point = try #require(text.firstMatch(of: #/"public":"([^"]*)"/#)?.1)
        let wrapped = try #require(text.firstMatch(of: #/"number":1,"public":"[^"]*","wrapped":"([^"]*)"/#)?.1)
        let passphrase = #""kind":"passphrase","salt":"AAAAAAAAAAAAAAAAAAAAAA","n":131072,"r":8,"p":1"#
        for (old, new) in [
            (#""number":1"#, #""number":-1"#), (#""number":1"#, #""number":4294967296"#),
            (#""number":1"#, #""number":1.5"#), (#""number":1"#, #""number":1.0"#), (#""number":1"#, #""number":0"#),
            (#""number":1"#, #""number":"1""#), (#""class":"complete""#, #""class":"none""#),
            (#""class":"complete""#, #""class":"completeUnlessOpen""#), (#""class":"complete""#, #""class":"x""#),
            (#""kind":"key-file""#, #""kind":"x""#), (#""kind":"key-file""#, #""kind":"tpm""#),
            (#""kind":"key-file""#, #""kind":"credential""#), (#""kind":"key-file""#, #""kind":"passphrase""#),
            (#""path":"/"#, #""path":""#), (#""kind":"key-file","#, #""kind":"key-file","x":1,"#),
            (#""schema":1"#, #""schema":1,"schema":1"#), (#""schema":1"#, #""schema":1.0"#),
            (#""schema":1"#, #""schema": 1"#), (#""check":""#, #""check":"AAAA"#), (#""wrapped":""#, #""key":""#),
            (String(point), "BA" + point.dropFirst(2).reversed()), (String(wrapped), String(wrapped.dropLast(4))),
            (#""generations":[{"#, #""generations":[],"x":[{"#),
        ] {
            let changed = text.replacing(old, with: new, maxReplacements: 1)
            #expect(changed != text, "\(old)")
            #expect(throws: RingwakeError.self, "\(new)") { try ProtectionFile(Self.signed(changed), "x") }
        }
        #expect(try ProtectionFile(Self.signed(text), "x").source == Self.source)
        // Sources as they are, and with what would cost too much.
        let source = try #require(text.firstMatch(of: #/"kind":"key-file","path":"[^"]*"/#)?.0)
        let good = text.replacing(source, with: passphrase)
        #expect(try ProtectionFile(Self.signed(good), "x").source.needsPerson)
        for (old, new) in [
            ("131072", "131073"), ("131072", "1073741824"), (#""r":8"#, #""r":0"#),
            (#""p":1"#, #""p":9999999999999999999"#),
            ("AAAAAAAAAAAAAAAAAAAAAA", "AAAA"), ("AAAAAAAAAAAAAAAAAAAAAA", String(repeating: "A", count: 88)),
            ("AAAAAAAAAAAAAAAAAAAAAA", "AAAAAAAAAAAAAAAAAAAAA="), (#""p":1"#, #""p":1,"path":"/x""#),
        ] {
            let changed = good.replacing(old, with: new, maxReplacements: 1)
            #expect(throws: RingwakeError.self, "\(new)") { try ProtectionFile(Self.signed(changed), "x") }
        }
    }

    /// The text with the digest that it should have.
    private static func signed(_ text: String) -> [UInt8] {
        guard let end = text.firstRange(of: ",\"sha256\"") else { return Array(text.utf8) }
        let contents = text[..<end.lowerBound] + "}"
        return Array(
            "\(text[..<end.lowerBound]),\"sha256\":\"\(encodeHex(SHA256.digest(Array(contents.utf8))))\"}\n".utf8)
    }

    @Test("A file with all the keys that there can be is small enough to be read")
    func largest() throws {
        var file = try ProtectionFile.make(Self.source, rootKey)
        for protection in ProtectionClass.withKeys {
            for _ in 1..<WrappedClassKeys.maximumGenerations {
                try file.addGeneration(of: protection, rootKey: rootKey)
            }
            try expect(.limitReached, "has 16 keys") { try file.addGeneration(of: protection, rootKey: rootKey) }
        }
        #expect(file.encoded.count < 32 << 10)
        try file.write(path)
        #expect(try ProtectionFile.read(path) == file)
    }

    // MARK: - Keys

    @Test("Keys are in the ring only for classes that are available")
    func ring() throws {
        let file = try ProtectionFile.make(Self.source, rootKey)
        let all = try vault(file)
        for count in 0...3 {
            let available = Set(ProtectionClass.withKeys.prefix(count))
            let ring = try file.ring(rootKey: rootKey, available: available, classes: Self.classes)
            for protection in ProtectionClass.withKeys {
                #expect(ring.isAvailable(protection) == available.contains(protection))
                #expect(ring.keys[protection]?.map(\.publicPoint) == all.ring.keys[protection]?.map(\.publicPoint))
            }
            #expect(ring.classes == Self.classes)
        }
        // Public keys need no root key, secret ones do.
        let locked = try file.ring(rootKey: nil, available: [], classes: Self.classes)
        let sealed = try RecordVault(locked).seal([1], .payloads, place: "1")
        #expect(try all.open(sealed, .payloads, place: "1") == [1])
        try expect(.locked, "complete") {
            _ = try file.ring(rootKey: nil, available: [.complete], classes: Self.classes)
        }
    }

    @Test("The wrong root key is known as such, by every operation, and changes nothing")
    func wrongKey() throws {
        for (source, words) in zip(
            try sources(), ["key file '/etc", "credential 'protection'", "with", "TPM", "passphrase is"])
        {
            var file = try ProtectionFile.make(source, rootKey)
            let before = file
            try expect(.badCredential, words) { try file.verify(wrong) }
            try expect(.badCredential, words) {
                _ = try file.ring(rootKey: wrong, available: [.complete], classes: Self.classes)
            }
            try expect(.badCredential, words) { _ = try file.ring(rootKey: wrong, available: [], classes: [:]) }
            try expect(.badCredential, words) { try file.addGeneration(of: .complete, rootKey: wrong) }
            try expect(.badCredential, words) { try file.deleteKeys(of: .complete, rootKey: wrong) }
            try expect(.badCredential, words) { try file.rewrap(from: wrong, to: rootKey, source: Self.source) }
            if !source.needsPerson { try expect(.badCredential, words) { _ = try file.lookupKey(wrong) } }
            #expect(file == before)
        }
    }

    @Test("A public key or a wrapped key that somebody exchanged is found when the class is unlocked")
    func exchanged() throws {
        let (own, others) = (
            try ProtectionFile.make(Self.source, rootKey), try ProtectionFile.make(Self.source, rootKey)
        )
        let (text, otherText) = (
            String(decoding: own.encoded, as: UTF8.self), String(decoding: others.encoded, as: UTF8.self)
        )
        let (points, wrapped) = (Self.values("public", text), Self.values("wrapped", text))
        for (old, new) in [
            (points[0], Self.values("public", otherText)[0]), (points[0], points[1]),
            // The first wrapped one is the look-up key.
            (wrapped[1], Self.values("wrapped", otherText)[1]), (wrapped[1], wrapped[2]),
            (#""number":1"#, #""number":2"#),
        ] {
            let changed = text.replacing(old, with: new, maxReplacements: 1)
            let file = try ProtectionFile(Self.signed(changed), "x")
            try expect(.badCredential, "of the class complete was changed") { _ = try vault(file) }
        }
        let changed = text.replacing(wrapped[0], with: Self.values("wrapped", otherText)[0])
        #expect(try ProtectionFile(Self.signed(changed), "x").lookupKey(rootKey) != nil)
        var bytes = try #require(Base64URL.decode(wrapped[0]))
        bytes[20] ^= 1
        let damaged = try ProtectionFile(Self.signed(text.replacing(wrapped[0], with: Base64URL.encode(bytes))), "x")
        try expect(.badCredential, "look-up key was changed") { _ = try damaged.lookupKey(rootKey) }
    }

    private static func values(_ name: String, _ text: String) -> [String] {
        text.split(separator: "\"\(name)\":\"").dropFirst().map { String($0.prefix { $0 != "\"" }) }
    }

    // MARK: - Changes

    @Test("Re-keying: a new key writes, both read, and the old one goes with its generation")
    func rekey() throws {
        var file = try ProtectionFile.make(Self.source, rootKey)
        let old = try vault(file).seal([1], .payloads, place: "1")
        #expect(try file.addGeneration(of: .complete, rootKey: rootKey) == 2)
        #expect(file.generations(of: .complete) == [1, 2])
        #expect(file.generations(of: .completeUnlessOpen) == [1])
        let new = try vault(file).seal([2], .payloads, place: "2")
        #expect(try vault(file).open(old, .payloads, place: "1") == [1])
        #expect(try vault(file).open(new, .payloads, place: "2") == [2])
        file.removeGenerations(of: .complete, before: 2)
        #expect(file.generations(of: .complete) == [2])
        #expect(throws: RecordFailure.deleted(.complete)) { try vault(file).open(old, .payloads, place: "1") }
        #expect(try vault(file).open(new, .payloads, place: "2") == [2])
        // The present one stays in any case, and others are not touched.
        file.removeGenerations(of: .complete, before: .max)
        #expect(file.generations(of: .complete) == [2] && file.generations(of: .completeUnlessOpen) == [1])
        #expect(try file.addGeneration(of: .complete, rootKey: rootKey) == 3)
    }

    @Test("After the keys of a class were deleted, nobody reads its records, and no number comes again")
    func delete() throws {
        var file = try ProtectionFile.make(Self.source, rootKey)
        try file.addGeneration(of: .complete, rootKey: rootKey)
        let record = try vault(file).seal([1], .payloads, place: "1")
        let sealed = try vault(file, locked: [.complete]).seal([1], .payloads, place: "2")
        let others = try vault(file).seal([3], .callers, place: "3")
        let before = Self.values("wrapped", String(decoding: file.encoded, as: UTF8.self))
        #expect(try file.deleteKeys(of: .complete, rootKey: rootKey) == 3)
        #expect(file.generations(of: .complete) == [3])
        // A store that is newer than the file has had others.
        var older = file
        #expect(try older.deleteKeys(of: .complete, after: 7, rootKey: rootKey) == 8)
        #expect(try older.deleteKeys(of: .complete, after: 7, rootKey: rootKey) == 9)
        #expect(throws: RecordFailure.deleted(.complete)) { try vault(file).open(record, .payloads, place: "1") }
        #expect(throws: RecordFailure.deleted(.complete)) { try vault(file).open(sealed, .payloads, place: "2") }
        #expect(try vault(file).open(others, .callers, place: "3") == [3])
        try file.write(path)
        for name in [ProtectionFile.name, "copies/\(ProtectionFile.name)"] {
            let stored = String(decoding: try folder.read(name), as: UTF8.self)
            #expect(before[1...2].allSatisfy { !stored.contains($0) } && stored.contains(before[3]))
        }
        #expect(try file.deleteKeys(of: .complete, rootKey: rootKey) == 4)
        try expect(.invalidRequest, "the class none has no keys") { try file.deleteKeys(of: .none, rootKey: rootKey) }
        try expect(.invalidRequest, "the class none has no keys") {
            try file.addGeneration(of: .none, rootKey: rootKey)
        }
        #expect(file.generations(of: .none) == [])
    }

    @Test("After 4,294,967,295 keys there is no other one")
    func lastNumber() throws {
        let text = String(decoding: try ProtectionFile.make(Self.source, rootKey).encoded, as: UTF8.self)
        let last = text.replacing(#""number":1"#, with: #""number":4294967295"#, maxReplacements: 1)
        var file = try ProtectionFile(Self.signed(last), "x")
        let before = file
        try expect(.limitReached, "as many keys") { try file.addGeneration(of: .complete, rootKey: rootKey) }
        try expect(.limitReached, "as many keys") { try file.deleteKeys(of: .complete, rootKey: rootKey) }
        #expect(file == before)
    }

    @Test("Another root key or source changes no record and no look-up")
    func rewrap() throws {
        let new = try RootKey.random()
        for (from, to) in [
            (Self.source, try RootKeySource.newPassphrase()), (try RootKeySource.newPassphrase(), Self.source),
            (Self.source, .credential("x")),
        ] {
            var file = try ProtectionFile.make(from, rootKey)
            try file.addGeneration(of: .completeUnlessOpen, rootKey: rootKey)
            let record = try vault(file).seal([1], .callers, place: "1")
            let sealed = try vault(file, locked: [.completeUnlessOpen]).seal([2], .callers, place: "2")
            let hash = try file.lookupKey(rootKey)?.hash(of: "+49301234")
            let former = file
            try file.rewrap(from: rootKey, to: new, source: to)
            #expect(file.source == to)
            try file.write(path)
            let read = try #require(try ProtectionFile.read(path))
            #expect(try vault(read, new).open(record, .callers, place: "1") == [1])
            #expect(try vault(read, new).open(sealed, .callers, place: "2") == [2])
            #expect(try read.lookupKey(new)?.hash(of: "+49301234") == hash)
            #expect(read.generations(of: .completeUnlessOpen) == former.generations(of: .completeUnlessOpen))
            #expect(throws: RingwakeError.self) { try read.verify(rootKey) }
        }
    }

    @Test("Look-ups work before the first unlock, and tell two numbers and two devices apart")
    func lookup() throws {
        let file = try ProtectionFile.make(try RootKeySource.newPassphrase(), rootKey)
        let key = try #require(try file.lookupKey(nil))
        #expect(try key.hash(of: "+49301234").count == 16)
        #expect(try key.hash(of: "+49301234") == file.lookupKey(rootKey)?.hash(of: "+49301234"))
        #expect(try key.hash(of: "+49301234") != key.hash(of: "+49301235"))
        let other = try ProtectionFile.make(try RootKeySource.newPassphrase(), rootKey)
        #expect(try key.hash(of: "1") != other.lookupKey(nil)?.hash(of: "1"))
        // Where the daemon has the root key without a person, the file alone isn't enough.
        for source in try sources() where !source.needsPerson {
            #expect(try ProtectionFile.make(source, rootKey).lookupKey(nil) == nil)
        }
        #expect(String(decoding: file.encoded, as: UTF8.self).contains(#""lookup":{"key":"#))
    }
}
