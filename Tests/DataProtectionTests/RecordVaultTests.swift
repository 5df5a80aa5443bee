import Cryptography
import RingwakeCore
import Testing

@testable import DataProtection

@Suite("Record vault")
struct RecordVaultTests {
    private let key: ClassKey
    private let other: ClassKey

    init() throws {
        (key, other) = (try ClassKey.generate(1), try ClassKey.generate(2))
    }

    private func ring(_ keys: ClassKey..., as protection: ProtectionClass = .complete) -> KeyRing {
        KeyRing(keys: [protection: keys], classes: [.payloads: protection, .callers: protection])
    }

    /// One record of each form, of the content 1, 2, 3.
    private func records() throws -> [RecordHeader.Form: [UInt8]] {
        let content: [UInt8] = [1, 2, 3]
        return [
            .plain: try RecordVault().seal(content, .payloads, place: "1/0"),
            .encrypted: try RecordVault(ring(key)).seal(content, .payloads, place: "1/0"),
            .sealed: try RecordVault(ring(key.locked)).seal(content, .payloads, place: "1/0"),
        ]
    }

    @Test("A record is read with the key that wrote it, of every size")
    func roundTrip() throws {
        for protection in ProtectionClass.withKeys {
            let open = RecordVault(ring(key, as: protection))
            for content in [[], [7], [UInt8](repeating: 1, count: 70_000)] as [[UInt8]] {
                for writer in [ring(key, as: protection), ring(key.locked, as: protection)] {
                    let record = try RecordVault(writer).seal(content, .payloads, place: "1/0")
                    #expect(try open.open(record, .payloads, place: "1/0") == content)
                    #expect(record.count - content.count <= RecordVault.maximumOverhead)
                    #expect(RecordHeader(record)?.protection == protection)
                }
            }
        }
    }

    @Test("The overhead is 7 bytes as it is, 35 encrypted, 88 sealed")
    func overhead() throws {
        let records = try records()
        #expect(records[.plain]?.count == 3 + 7)
        #expect(records[.encrypted]?.count == 3 + 35)
        #expect(records[.sealed]?.count == 3 + 88)
    }

    @Test("The content shows only where nothing is protected")
    func hides() throws {
        let content = Array("a caller's name".utf8)
        func shows(_ ring: KeyRing) throws -> Bool {
            String(decoding: try RecordVault(ring).seal(content, .callers, place: "1"), as: UTF8.self)
                .contains("a caller's name")
        }
        #expect(try shows(.off))
        #expect(try !shows(ring(key)))
        #expect(try !shows(ring(key.locked)))
    }

    @Test("While a class is locked, nothing of it is read, and what is written is read later")
    func locked() throws {
        let records = try records()
        let vault = RecordVault(ring(key.locked))
        for form in [.encrypted, .sealed] as [RecordHeader.Form] {
            let record = try #require(records[form])
            #expect(throws: RecordFailure.locked(.complete)) { try vault.open(record, .payloads, place: "1/0") }
        }
        let sealed = try vault.seal([4], .payloads, place: "1/1")
        vault.use(ring(key))
        #expect(try vault.open(sealed, .payloads, place: "1/1") == [4])
        // What it has used before doesn't stay when the class is locked again.
        vault.use(ring(key.locked))
        #expect(throws: RecordFailure.locked(.complete)) { try vault.open(sealed, .payloads, place: "1/1") }
    }

    @Test("Without its key, a record can't be read any more")
    func deleted() throws {
        let records = try records()
        for ring in [ring(other), ring(other.locked)] {
            for form in [.encrypted, .sealed] as [RecordHeader.Form] {
                let record = try #require(records[form])
                #expect(throws: RecordFailure.deleted(.complete)) {
                    try RecordVault(ring).open(record, .payloads, place: "1/0")
                }
            }
        }
        // Without any key of the class nobody knows whether one was deleted.
        for ring in [.off, KeyRing(keys: [.completeUnlessOpen: [key]])] {
            for form in [.encrypted, .sealed] as [RecordHeader.Form] {
                let record = try #require(records[form])
                #expect(throws: RecordFailure.locked(.complete)) {
                    try RecordVault(ring).open(record, .payloads, place: "1/0")
                }
            }
        }
        // A file of keys that is older than the record, and keys in place of a file that can't be read: it may come back.
        let temporary = try ClassKey.generate(.random(in: ClassKey.temporaryGenerations))
        let later = try RecordVault(ring(other)).seal([1], .payloads, place: "1/0")
        for (record, ring) in [
            (later, ring(key)), (later, ring(temporary)), (try #require(records[.sealed]), ring(temporary)),
        ] {
            #expect(throws: RecordFailure.locked(.complete)) {
                try RecordVault(ring).open(record, .payloads, place: "1/0")
            }
        }
        // What those keys have written is lost with them.
        let lost = try RecordVault(ring(temporary)).seal([1], .payloads, place: "1/0")
        #expect(throws: RecordFailure.deleted(.complete)) {
            try RecordVault(ring(key)).open(lost, .payloads, place: "1/0")
        }
        // Another key of the same number.
        let impostor = try ClassKey.generate(1)
        for form in [.encrypted, .sealed] as [RecordHeader.Form] {
            try expectDamaged(RecordVault(ring(impostor)), try #require(records[form]))
        }
    }

    @Test("Another key of the same number takes the place of the former one")
    func replaced() throws {
        let impostor = try ClassKey.generate(1)
        let vault = RecordVault(ring(key.locked))
        let own = try vault.seal([1], .payloads, place: "1")
        vault.use(ring(key))
        #expect(try vault.open(own, .payloads, place: "1") == [1])
        vault.use(ring(impostor.locked))
        let other = try vault.seal([2], .payloads, place: "1")
        vault.use(ring(impostor))
        #expect(try vault.open(other, .payloads, place: "1") == [2])
        try expectDamaged(vault, own, place: "1")
    }

    @Test("A record says by which generation it was written: another number is refused, even with the same key")
    func renumbered() throws {
        let twin = ClassKey(generation: 2, publicPoint: key.publicPoint, secret: key.secret)
        for form in [.encrypted, .sealed] as [RecordHeader.Form] {
            var record = try #require(try records()[form])
            record[RecordHeader.bytes - 1] = 2
            try expectDamaged(RecordVault(ring(key, twin)), record)
        }
    }

    @Test("While records are written again, those of both keys are read")
    func generations() throws {
        let records = try records()
        let vault = RecordVault(ring(key, other))
        for record in records.values { #expect(try vault.open(record, .payloads, place: "1/0") == [1, 2, 3]) }
        let new = try vault.seal([5], .payloads, place: "1/2")
        #expect(RecordHeader(new)?.generation == 2)
        #expect(try vault.open(new, .payloads, place: "1/2") == [5])
        for (form, record) in records {
            let header = try #require(RecordHeader(record))
            #expect(vault.ring.isOutdated(header, of: .payloads))
            for ring in [ring(key), ring(key.locked)] {
                #expect(ring.isOutdated(header, of: .payloads) == (form == .plain))
            }
            #expect(KeyRing.off.isOutdated(header, of: .payloads) == (form != .plain))
        }
    }

    @Test("A record with any byte changed is refused")
    func changed() throws {
        let vault = RecordVault(ring(key, other))
        for form in [.encrypted, .sealed] as [RecordHeader.Form] {
            let record = try #require(try records()[form])
            for index in record.indices {
                for bit in 0..<8 {
                    var changed = record
                    changed[index] ^= 1 << bit
                    try expectRefused(vault, changed)
                }
            }
        }
    }

    @Test("A record that was cut off, or has bytes more, is refused")
    func cut() throws {
        let vault = RecordVault(ring(key))
        for form in [.encrypted, .sealed] as [RecordHeader.Form] {
            let record = try #require(try records()[form])
            for count in 0..<record.count { try expectRefused(vault, Array(record.prefix(count))) }
            try expectRefused(vault, record + [0])
        }
    }

    @Test("A record in another place or of another kind is refused")
    func moved() throws {
        let vault = RecordVault(ring(key))
        for form in [.encrypted, .sealed] as [RecordHeader.Form] {
            let record = try #require(try records()[form])
            try expectDamaged(vault, record, place: "1/1")
            try expectDamaged(vault, record, place: "")
            try expectDamaged(vault, record, .callers)
        }
        // Kind and place can't be exchanged for others that are the same together.
        #expect(ProtectedKind.allCases.allSatisfy { !$0.rawValue.utf8.contains(0) })
    }

    @Test("No nonce occurs twice, also when the counter is at its end")
    func nonces() throws {
        var nonces = NonceSequence()
        var seen: Set<[UInt8]> = []
        for _ in 0..<(1 << 16) { #expect(seen.insert(try nonces.next()).inserted) }
        #expect(Set(seen.map { Array($0.prefix(8)) }).count == 1)
        var end = NonceSequence(prefix: [UInt8](repeating: 9, count: 8), counter: .max - 2)
        let last = try (0..<4).map { _ in try end.next() }
        #expect(Set(last).count == 4)
        #expect(last.map { Array($0.prefix(8)) == [UInt8](repeating: 9, count: 8) } == [true, true, false, false])
        #expect(
            last.map { Array($0.suffix(4)) } == [
                [255, 255, 255, 254], [255, 255, 255, 255], [0, 0, 0, 1], [0, 0, 0, 2],
            ])
        // Another run of the program begins elsewhere.
        var other = NonceSequence()
        #expect(!seen.contains(try other.next()))
    }

    @Test("Two records of the same content differ")
    func differ() throws {
        for ring in [ring(key), ring(key.locked)] {
            let vault = RecordVault(ring)
            #expect(try vault.seal([1], .payloads, place: "1") != vault.seal([1], .payloads, place: "1"))
        }
    }

    private func expectRefused(
        _ vault: RecordVault, _ record: [UInt8], location: SourceLocation = #_sourceLocation
    ) throws {
        #expect(throws: RecordFailure.self, sourceLocation: location) {
            try vault.open(record, .payloads, place: "1/0")
        }
    }

    private func expectDamaged(
        _ vault: RecordVault, _ record: [UInt8], _ kind: ProtectedKind = .payloads, place: String = "1/0",
        location: SourceLocation = #_sourceLocation
    ) throws {
        do throws(RecordFailure) {
            _ = try vault.open(record, kind, place: place)
            Issue.record("it was read", sourceLocation: location)
        } catch {
            guard case .damaged = error else {
                Issue.record("\(error)", sourceLocation: location)
                return
            }
        }
    }

    @Test("Damage, and keys that a file should have, are found; what is locked, deleted or of one run is neither")
    func findings() throws {
        let (old, temporary) = (key, try ClassKey.generate(ClassKey.temporaryGenerations.lowerBound))
        let record = try RecordVault(ring(other)).seal([1], .payloads, place: "1/0")
        let vault = RecordVault(ring(old))
        #expect(throws: RecordFailure.locked(.complete)) { try vault.open(record, .payloads, place: "1/0") }
        #expect(vault.findings.missingKeys == [.complete: 2] && vault.findings.damagedCount == 0)
        // Also while the class is locked; and no longer with the right file.
        vault.use(ring(old.locked))
        #expect(vault.findings.missingKeys == [.complete: 2])
        vault.use(ring(old, other))
        #expect(vault.findings == RecordFindings())
        for quiet in [ring(other.locked), ring(try ClassKey.generate(3)), ring(temporary), .off] {
            let vault = RecordVault(quiet)
            _ = try? vault.open(record, .payloads, place: "1/0")
            #expect(vault.findings == RecordFindings())
        }
        // Each place counts once.
        for _ in 1...2 {
            #expect(throws: RecordFailure.self) { try vault.open(record, .payloads, place: "2/0") }
            #expect(throws: RecordFailure.self) { try vault.open([], .callers, place: "1") }
        }
        #expect(vault.findings.damaged == [.payloads: ["2/0"], .callers: ["1"]])
        let others = RecordVault(ring(other))
        others.note(vault.findings)
        #expect(others.findings.damagedCount == 2)
    }
}
