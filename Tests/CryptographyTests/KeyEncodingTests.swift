import Cryptography
import RingwakeCore
import Testing

/// Public keys as SubjectPublicKeyInfo, and names in Base32.
@Suite struct KeyEncodingTests {
    @Test("A key, its public key, its certificate and openssl agree about the 91 bytes")
    func subjectPublicKeyInfo() throws {
        let key = try P256PrivateKey.generate()
        let encoded = key.subjectPublicKeyInfo
        #expect(encoded.count == P256PublicKey.subjectPublicKeyInfoBytes)
        #expect(try key.publicKey.subjectPublicKeyInfo == encoded)
        let again = try P256PublicKey(subjectPublicKeyInfo: encoded)
        #expect(again.subjectPublicKeyInfo == encoded)
        #expect(try again.isValid(rawSignature: key.rawSignature(for: [1]), for: [1]))
        let file = try PEMFile(key.pem)
        #expect(
            try Tool.run("openssl", ["pkey", "-in", file.path, "-pubout", "-outform", "DER"]).output == encoded)
    }

    @Test("Compressed points, other curves, other keys, cut and longer bytes, and points off the curve are refused")
    func strict() throws {
        let key = try P256PrivateKey.generate()
        let encoded = key.subjectPublicKeyInfo
        let file = try PEMFile(key.pem)
        func converted(_ arguments: [String], input: [UInt8] = []) throws -> [UInt8] {
            let result = try Tool.run("openssl", arguments, input: input)
            #expect(result.status == 0, "\(result.errors)")
            return result.output
        }
        let compressed = try converted(
            ["ec", "-in", file.path, "-pubout", "-outform", "DER", "-conv_form", "compressed"])
        #expect(compressed.count == 59)
        let hybrid = try converted(["ec", "-in", file.path, "-pubout", "-outform", "DER", "-conv_form", "hybrid"])
        let other = try converted(["ecparam", "-name", "secp256k1", "-genkey", "-noout"])
        let otherCurve = try converted(["pkey", "-pubout", "-outform", "DER"], input: other)
        let rsa = try converted(
            ["pkey", "-pubout", "-outform", "DER"], input: try PrivateKey.generate(.rsa2048).pem)
        let explicit = try converted(
            ["ec", "-in", file.path, "-pubout", "-outform", "DER", "-param_enc", "explicit"])
        var offCurve = encoded
        offCurve[90] ^= 1
        let infinity = Array(encoded.dropLast(65)) + [UInt8](repeating: 0, count: 65)
        let zero = Array(encoded.dropLast(64)) + [UInt8](repeating: 0, count: 64)
        let candidates = [
            [], compressed, hybrid, otherCurve, rsa, explicit, offCurve, infinity, zero, encoded + [0],
            Array(encoded.dropLast()), Array(encoded.dropFirst()),
        ]
        for (index, candidate) in candidates.enumerated() {
            let error = #expect(throws: RingwakeError.self, "\(index)") {
                try P256PublicKey(subjectPublicKeyInfo: candidate)
            }
            #expect(error?.code == .badCredential)
        }
        // A compressed key that a file holds is read, and has the same text as ever.
        #expect(try P256PublicKey(der: compressed).subjectPublicKeyInfo == encoded)
    }

    @Test(
        "Base32 of RFC 4648 section 10, in lower case without padding",
        arguments: [
            ("", ""), ("f", "my"), ("fo", "mzxq"), ("foo", "mzxw6"), ("foob", "mzxw6yq"), ("fooba", "mzxw6ytb"),
            ("foobar", "mzxw6ytboi"),
        ])
    func base32(plain: String, encoded: String) {
        #expect(Base32.encode(plain.utf8) == encoded)
        #expect(Base32.decode(encoded) == Array(plain.utf8))
    }

    @Test(
        "Base32 that is not exactly what the encoder writes is refused",
        arguments: [
            "m", "a", "aaa", "aaaaaa", "mzx", "mzxw6y", "mz", "mzxr", "mzxw7", "MY", "my======", "m1", "m0", "m8",
            "my\n", "mü", "m\0",
        ])
    func strictBase32(text: String) {
        #expect(Base32.decode(text) == nil)
    }

    @Test("Random bytes survive Base32, and 32 bytes have 52 characters")
    func base32RoundTrip() {
        var random = SeededGenerator(seed: 2)
        for count in 0..<200 {
            let bytes = (0..<count).map { _ in UInt8.random(in: 0...255, using: &random) }
            #expect(Base32.decode(Base32.encode(bytes)) == bytes)
        }
        #expect(Base32.encode(SHA256.digest([])).count == 52)
        #expect(Base32.encode([0x00, 0x44, 0x32, 0x14, 0xC7, 0x42, 0x54, 0xB6, 0x35, 0xCF]) == "abcdefghijklmnop")
        #expect(Base32.encode([0x84, 0x65, 0x3A, 0x56, 0xD7, 0xC6, 0x75, 0xBE, 0x77, 0xDF]) == "qrstuvwxyz234567")
    }
}
