import RingwakeCore
import Testing

@testable import Cryptography

@Suite struct PassphraseTests {
    @Test("The vectors of RFC 7914 section 12")
    func vectors() throws {
        let first = try #require(ScryptParameters(n: 1024, r: 8, p: 16))
        #expect(
            try key("password", salt: "NaCl", first)
                == bytes(
                    "fdbabe1c9d3472007856e7190d01e9fe7c6ad7cbc8237830e77376634b3731622eaf30d92e22a3886ff109279d9830dac727"
                        + "afb94a83ee6d8360cbdfa2cc0640"))
        let second = try #require(ScryptParameters(n: 16384, r: 8, p: 1))
        #expect(
            try key("pleaseletmein", salt: "SodiumChloride", second)
                == bytes(
                    "7023bdcb3afd7348461c06cd81fd38ebfda8fbba904f8e3ea9b543f6545da1f2d5432955613f0fcf62d49705242a9af9e61e"
                        + "85dc0d651e40dfcf017b45575887"))
    }

    @Test("The standard's memory is allowed, and OpenSSL takes it")
    func standard() throws {
        let standard = ScryptParameters.standard
        #expect(ScryptParameters(n: standard.n, r: standard.r, p: standard.p) == standard)
        #expect(try key("a", salt: "b", standard).count == 64)
    }

    private static let outOfBounds: [[Int]] = [
        [0, 8, 1], [1, 8, 1], [3, 8, 1], [-2, 8, 1], [Int.min, 8, 1], [Int.max, 8, 1], [0x4000_0000_0000_0000, 8, 1],
        [524_288, 8, 1], [131_072, 0, 1], [131_072, -1, 1], [2, Int.max, 1], [131_072, 8, 0], [131_072, 8, 9],
        [2, 1, Int.max],
    ]

    @Test("Parameters out of bounds don't exist", arguments: outOfBounds)
    func bounds(values: [Int]) {
        #expect(ScryptParameters(n: values[0], r: values[1], p: values[2]) == nil)
    }

    @Test("The largest parameters are what 256 MB hold, and OpenSSL takes them")
    func largest() throws {
        let largest = try #require(ScryptParameters(n: 1 << 18, r: 8, p: 1))
        #expect(try key("a", salt: "b", largest).count == 64)
        #expect(ScryptParameters(n: 1 << 15, r: 64, p: 1) != nil)
    }

    @Test("The caller's bytes are wiped, also when the passphrase is refused")
    func wiped() throws {
        var good = Array("secret".utf8)
        _ = try Passphrase(wiping: &good)
        #expect(good == [0, 0, 0, 0, 0, 0])
        var long = [UInt8](repeating: 1, count: Passphrase.maximumBytes + 1)
        let refusal = #expect(throws: RingwakeError.self) { try Passphrase(wiping: &long) }
        #expect(refusal?.code == .invalidRequest)
        #expect(long.allSatisfy { $0 == 0 })
        var empty: [UInt8] = []
        #expect(throws: RingwakeError.self) { try Passphrase(wiping: &empty) }
    }

    private func key(_ passphrase: String, salt: String, _ parameters: ScryptParameters) throws -> [UInt8] {
        var secret = Array(passphrase.utf8)
        return try Passphrase(wiping: &secret).key(salt: Array(salt.utf8), parameters, count: 64)
    }

    private func bytes(_ hex: String) -> [UInt8] {
        let digits = hex.compactMap { $0.hexDigitValue }
        return stride(from: 0, to: digits.count, by: 2).map { UInt8(digits[$0] << 4 | digits[$0 + 1]) }
    }
}

@Suite struct AESGCMTests {
    /// McGrew and Viega, The Galois/Counter Mode of Operation, appendix B.
    @Test("Test case 16 of the GCM specification, AES-256")
    func vector() throws {
        let key = bytes("feffe9928665731c6d6a8f9467308308feffe9928665731c6d6a8f9467308308")
        let nonce = bytes("cafebabefacedbaddecaf888")
        let plaintext = bytes(
            "d9313225f88406e5a55909c5aff5269a86a7a9531534f7da2e4c303d8a318a721c3c0c95956809532fcf0e2449a6b525b16aedf5"
                + "aa0de657ba637b39")
        let additionalData = bytes("feedfacedeadbeeffeedfacedeadbeefabaddad2")
        let sealed = bytes(
            "522dc1f099567d07f47f37a32a84427d643a8cdcbfe5c0c97598a2bd2555d1aa8cb08e48590dbb3da7b08b1056828838c5f61e63"
                + "93ba7a0abcc9f662" + "76fc6ece0f4e1768cddf8853bb2d551b")
        #expect(try AESGCM.seal(plaintext, key: key, nonce: nonce, additionalData: additionalData) == sealed)
        #expect(try AESGCM.open(sealed[...], key: key, nonce: nonce, additionalData: additionalData) == plaintext)
        var changed = sealed
        changed[3] ^= 1
        #expect(try AESGCM.open(changed[...], key: key, nonce: nonce, additionalData: additionalData) == nil)
        #expect(try AESGCM.open(sealed[...], key: key, nonce: nonce, additionalData: []) == nil)
    }

    @Test("A digest of pieces is that of the whole")
    func running() throws {
        let whole = (0..<1000).map { UInt8(truncatingIfNeeded: $0) }
        let running = try SHA256.Running()
        for start in stride(from: 0, to: whole.count, by: 300) {
            whole[start..<min(start + 300, whole.count)].withUnsafeBytes { running.add($0) }
        }
        #expect(running.finish() == SHA256.digest(whole))
        #expect(try SHA256.Running().finish() == SHA256.digest([]))
    }

    private func bytes(_ hex: String) -> [UInt8] {
        let digits = hex.compactMap { $0.hexDigitValue }
        return stride(from: 0, to: digits.count, by: 2).map { UInt8(digits[$0] << 4 | digits[$0 + 1]) }
    }
}
