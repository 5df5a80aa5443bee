import Cryptography
import DataProtection
import RingwakeCore

/// Protected records and the file of their keys, which somebody may have changed while the disk was elsewhere.
enum ProtectionHarness {
    private static let key = Result { try ClassKey.generate(1) }
    private static let rootKey = Result { try RootKey.random() }
    private static let content: [UInt8] = [1, 2, 3]
    private static let place = "1/0"

    private static func vault(isLocked: Bool = false) throws -> RecordVault {
        let key = try key.get()
        return RecordVault(KeyRing(keys: [.complete: [isLocked ? key.locked : key]], classes: [.payloads: .complete]))
    }

    /// A record. Each input is also a content.
    static let record = Harness(
        "protected-record",
        made: {
            [
                try vault().seal(content, .payloads, place: place),
                try vault(isLocked: true).seal(content, .payloads, place: place),
                try RecordVault().seal(content, .payloads, place: place),
            ]
        }
    ) { input in
        for isLocked in [false, true] {
            let own = try vault(isLocked: isLocked).seal(input, .payloads, place: place)
            try requireEqual(try vault().open(own, .payloads, place: place), input, "a content changed")
            try require(own.count <= input.count + RecordVault.maximumOverhead, "a record is longer than it says")
            var changed = own
            changed[(input.first.map(Int.init) ?? 0) % own.count] ^= 1
            try require((try? vault().open(changed, .payloads, place: place)) == nil, "a changed record was read")
        }
        guard let header = RecordHeader(input) else {
            try require((try? vault().open(input, .payloads, place: place)) == nil, "a record has no header")
            return false
        }
        try requireEqual(header.encoded, Array(input.prefix(RecordHeader.bytes)), "a header has two forms")
        _ = try vault().ring.isOutdated(header, of: .payloads)
        guard let opened = try? vault().open(input, .payloads, place: place) else { return false }
        if header.form == .plain { return true }
        // Only this program has the key.
        try requireEqual(opened, content, "a record was read that nobody wrote")
        try require((try? vault().open(input, .payloads, place: "2/0")) == nil, "a moved record was read")
        return true
    }

    /// The file of keys. An input is one, or one without its digest, which a fuzzer doesn't find.
    static let file = Harness(
        "protection-file", maximumBytes: 4096,
        made: {
            let sources: [RootKeySource] = [
                .credential("protection"), .keyFile("/k"), try .newPassphrase(),
            ]
            return try sources.flatMap { source in
                let whole = try ProtectionFile.make(source, rootKey.get()).encoded
                let rest = whole.dropLast(digestBytes)
                return [whole, Array(rest)]
            }
        }
    ) { input in
        let name = ProtectionFile.name
        let digest = encodeHex(SHA256.digest(input + [UInt8(ascii: "}")]))
        let signed = input + Array(",\"sha256\":\"\(digest)\"}\n".utf8)
        guard let file = (try? ProtectionFile(input, name)) ?? (try? ProtectionFile(signed, name)) else { return false }
        try require(file.encoded == input || file.encoded == signed, "a file has two forms")
        // Public keys are there without the root key, so a locked device can write.
        let ring = try file.ring(rootKey: nil, available: [], classes: [.payloads: .complete])
        let record = try RecordVault(ring).seal(content, .payloads, place: place)
        try requireEqual(RecordHeader(record)?.form, .sealed, "a locked class is not sealed to")
        // What somebody changed without the root key is refused, or is what it was.
        let root = try rootKey.get()
        if let keys = try? file.ring(
            rootKey: root, available: Set(ProtectionClass.withKeys), classes: [.payloads: .complete])
        {
            try requireEqual(
                try RecordVault(keys).open(record, .payloads, place: place), content, "a key doesn't fit its public key"
            )
        }
        _ = try? file.lookupKey(root)
        return true
    }

    /// Bytes of `,"sha256":"…"}` and the line's end.
    private static let digestBytes = 11 + 64 + 3
}
