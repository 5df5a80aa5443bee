import Cryptography
import RingwakeCore
import Testing

@Suite struct ES256Tests {
    /// RFC 7515 appendix A.3: the key as SubjectPublicKeyInfo PEM, built from its x and y.
    static func rfcKey() throws -> P256PublicKey {
        let x = try #require(Base64URL.decode("f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU"))
        let y = try #require(Base64URL.decode("x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0"))
        let prefix: [UInt8] = [
            0x30, 0x59, 0x30, 0x13, 0x06, 0x07, 0x2A, 0x86, 0x48, 0xCE, 0x3D, 0x02, 0x01, 0x06, 0x08, 0x2A, 0x86, 0x48,
            0xCE, 0x3D, 0x03, 0x01, 0x07, 0x03, 0x42, 0x00, 0x04,
        ]
        return try P256PublicKey(der: prefix + x + y)
    }

    static let rfcMessage = Array(
        ("eyJhbGciOiJFUzI1NiJ9.eyJpc3MiOiJqb2UiLA0KICJleHAiOjEzMDA4MTkzODAsDQogImh0dHA6Ly9leGFtcGxlLmNvbS9p"
            + "c19yb290Ijp0cnVlfQ").utf8)
    static let rfcSignature =
        "DtEhU3ljbEg8L38VWAfUAqOyKAM6-Xx-F4GawxaepmXFCgfTjDxw5djxLa8ISlSApmWQxfKTUJqPP3-Kg6NU1Q"

    @Test("The signature of RFC 7515 A.3 is valid, again and again, and any other byte makes it invalid")
    func vector() throws {
        let key = try Self.rfcKey()
        let signature = try #require(Base64URL.decode(Self.rfcSignature))
        for _ in 0..<3 { #expect(key.isValid(rawSignature: signature, for: Self.rfcMessage)) }
        for index in signature.indices {
            var changed = signature
            changed[index] ^= 1
            #expect(!key.isValid(rawSignature: changed, for: Self.rfcMessage))
        }
        #expect(!key.isValid(rawSignature: signature, for: Self.rfcMessage + [0]))
        #expect(key.isValid(rawSignature: signature, for: Self.rfcMessage))
    }

    @Test("Zero, too large, too short, too long and DER signatures are invalid")
    func malformed() throws {
        let key = try Self.rfcKey()
        let signature = try #require(Base64URL.decode(Self.rfcSignature))
        let zero = [UInt8](repeating: 0, count: 32)
        let maximum = [UInt8](repeating: 255, count: 32)
        let candidates: [[UInt8]] = [
            [], zero + zero, zero + signature[32...], signature[..<32] + zero, maximum + maximum,
            signature.dropLast(), signature + [0], [0x30, 0x44, 0x02, 0x20] + signature,
        ].map { Array($0) }
        for candidate in candidates {
            #expect(!key.isValid(rawSignature: candidate, for: Self.rfcMessage))
        }
    }

    @Test("What the private key signs, its public key accepts, from each form of PEM")
    func signAndVerify() throws {
        let key = try P256PrivateKey.generate()
        let message = Array("hello".utf8)
        let publicForms = [
            try P256PublicKey(pem: key.publicKeyPEM), try P256PublicKey(pem: key.pem),
            try P256PublicKey(pem: P256PublicKey(pem: key.pem).pem),
        ]
        let stranger = try P256PublicKey(pem: P256PrivateKey.generate().pem)
        let again = try P256PrivateKey(pem: key.pem)
        for signer in [key, again] {
            for _ in 0..<50 {
                let signature = try signer.rawSignature(for: message)
                #expect(signature.count == 64)
                for form in publicForms { #expect(form.isValid(rawSignature: signature, for: message)) }
                #expect(!stranger.isValid(rawSignature: signature, for: message))
            }
        }
    }

    @Test("The public key of a certificate verifies too")
    func certificateKey() throws {
        let fixtures = try CertificateFixtures()
        let signer = try P256PrivateKey(pem: fixtures.serverKey.pem)
        let key = try P256PublicKey(pem: fixtures.server.pem)
        #expect(try key.isValid(rawSignature: signer.rawSignature(for: [1]), for: [1]))
    }

    @Test("Keys of another kind, damaged keys and no keys are refused with words")
    func refusals() throws {
        let rsa = try PrivateKey.generate(.rsa2048)
        #expect(throws: RingwakeError.self) { try P256PrivateKey(pem: rsa.pem) }
        #expect(throws: RingwakeError.self) { try P256PublicKey(pem: rsa.publicKeyPEM) }
        let p384 = try Tool.run("openssl", ["ecparam", "-name", "secp384r1", "-genkey", "-noout"]).output
        #expect(throws: RingwakeError.self) { try P256PrivateKey(pem: p384) }
        #expect(throws: RingwakeError.self) { try P256PublicKey(pem: p384) }
        let encrypted = try Tool.run(
            "openssl", ["pkcs8", "-topk8", "-passout", "pass:x"], input: P256PrivateKey.generate().pem
        ).output
        let error = #expect(throws: RingwakeError.self) { try P256PrivateKey(pem: encrypted) }
        #expect(error?.message.contains("password") == true)
        let damaged = "-----BEGIN PUBLIC KEY-----\nAAAA\n-----END PUBLIC KEY-----\n"
        for pem in [[], Array("hello".utf8), Array(damaged.utf8)] {
            #expect(throws: RingwakeError.self) { try P256PublicKey(pem: pem) }
            #expect(throws: RingwakeError.self) { try P256PrivateKey(pem: pem) }
        }
        #expect(throws: RingwakeError.self) { try P256PublicKey(pem: [UInt8](repeating: 65, count: 2_000_000)) }
    }

    @Test("OpenSSL's own SEC 1 key is read")
    func sec1() throws {
        let pem = try Tool.run("openssl", ["ecparam", "-name", "prime256v1", "-genkey", "-noout"]).output
        #expect(try P256PrivateKey(pem: pem).rawSignature(for: []).count == 64)
    }
}
