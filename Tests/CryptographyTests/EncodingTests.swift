import Cryptography
import RingwakeCore
import Testing

@Suite struct EncodingTests {
    @Test(
        "SHA-256 of FIPS 180-4 examples",
        arguments: [
            ("", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"),
            ("abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"),
        ])
    func digest(text: String, expected: String) {
        #expect(encodeHex(SHA256.digest(Array(text.utf8))) == expected)
    }

    @Test(
        "Base64url of RFC 4648 section 10, without padding",
        arguments: [
            ("", ""), ("f", "Zg"), ("fo", "Zm8"), ("foo", "Zm9v"), ("foob", "Zm9vYg"), ("fooba", "Zm9vYmE"),
            ("foobar", "Zm9vYmFy"),
        ])
    func vectors(plain: String, encoded: String) {
        #expect(Base64URL.encode(plain.utf8) == encoded)
        #expect(Base64URL.decode(encoded) == Array(plain.utf8))
    }

    @Test("The URL-safe characters stand for 62 and 63")
    func alphabet() {
        #expect(Base64URL.encode([0xFB, 0xFF, 0xBF]) == "-_-_")
        #expect(Base64URL.decode("-_-_") == [0xFB, 0xFF, 0xBF])
    }

    @Test(
        "Text that is not exactly what the encoder writes is refused",
        arguments: ["A", "AAAAA", "Zg==", "Zm8=", "Zh", "Zm9", "Zm 9v", "Zm9v\n", "+/+/", "Zm9ü", "Zg\0"])
    func strict(text: String) {
        #expect(Base64URL.decode(text) == nil)
    }

    @Test("Random bytes survive the way there and back")
    func roundTrip() {
        var random = SeededGenerator(seed: 1)
        for count in 0..<500 {
            let bytes = (0..<count).map { _ in UInt8.random(in: 0...255, using: &random) }
            #expect(Base64URL.decode(Base64URL.encode(bytes)) == bytes)
        }
    }

    @Test("Random bytes come in the size asked for and never twice")
    func random() throws {
        #expect(try SecureRandom.bytes(0).isEmpty)
        let many = try (0..<1000).map { _ in try SecureRandom.bytes(16) }
        #expect(many.allSatisfy { $0.count == 16 })
        #expect(Set(many).count == 1000)
        #expect(throws: RingwakeError.self) { try SecureRandom.bytes(-1) }
        #expect(throws: RingwakeError.self) { try SecureRandom.bytes(Int.max) }
    }
}
