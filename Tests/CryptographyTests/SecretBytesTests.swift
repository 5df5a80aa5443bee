import RingwakeCore
import Testing

@testable import Cryptography

@Suite struct SecretBytesTests {
    private func bytes(_ secret: SecretBytes) -> [UInt8] { secret.withBytes { Array($0) } }

    @Test("A secret takes the bytes, and overwrites them where they were")
    func wiping() {
        var source: [UInt8] = [1, 2, 3, 4]
        let secret = SecretBytes(wiping: &source)
        #expect(source == [0, 0, 0, 0])
        #expect(bytes(secret) == [1, 2, 3, 4] && secret.count == 4)
        #expect(bytes(secret.part(1..<3)) == [2, 3])
        #expect(bytes(secret.part(4..<4)) == [])
        #expect(bytes(SecretBytes(joining: secret, secret.part(0..<1))) == [1, 2, 3, 4, 1])
        var nothing: [UInt8] = []
        let empty = SecretBytes(wiping: &nothing)
        #expect(empty.count == 0 && bytes(SecretBytes(joining: empty, empty)) == [])
        #expect(bytes(SecretBytes(joining: empty, secret)) == [1, 2, 3, 4])
        SecretBytes.wipe(&source)
        SecretBytes.wipe(&nothing)
    }

    @Test("Random secrets have the size that was asked for, and differ")
    func random() throws {
        #expect(try SecretBytes(random: 0).count == 0)
        let (one, other) = (try SecretBytes(random: 32), try SecretBytes(random: 32))
        #expect(one.count == 32 && bytes(one) != bytes(other))
    }

    @Test("AES-GCM and HMAC give the same with a secret as with its bytes")
    func sameResults() throws {
        for count in [AESGCM.shortKeyBytes, AESGCM.longKeyBytes] {
            var source = [UInt8](repeating: 7, count: count)
            let key = source
            let secret = SecretBytes(wiping: &source)
            let nonce = [UInt8](0..<12)
            for plaintext in [[], [1], [UInt8](repeating: 3, count: 1000)] as [[UInt8]] {
                let sealed = try AESGCM.seal(plaintext, key: secret, nonce: nonce, additionalData: [9])
                #expect(try sealed == AESGCM.seal(plaintext, key: key, nonce: nonce, additionalData: [9]))
                #expect(sealed.count == plaintext.count + AESGCM.tagBytes)
                #expect(try AESGCM.open(sealed[...], key: secret, nonce: nonce, additionalData: [9]) == plaintext)
                #expect(try AESGCM.open(sealed[...], key: key, nonce: nonce, additionalData: [9]) == plaintext)
                #expect(try AESGCM.open(sealed[...], key: secret, nonce: nonce, additionalData: []) == nil)
                var changed = sealed
                changed[changed.count - 1] ^= 1
                #expect(try AESGCM.open(changed[...], key: secret, nonce: nonce, additionalData: [9]) == nil)
                #expect(
                    try AESGCM.open(sealed.prefix(15), key: secret, nonce: nonce, additionalData: [9]) == nil)
            }
            #expect(try HMACSHA256.code(of: [1, 2], key: secret) == HMACSHA256.code(of: [1, 2], key: key))
        }
    }

    @Test("HKDF makes the key of RFC 5869 A.3, and others for other purposes")
    func derivation() throws {
        // A.3: SHA-256, no salt, no info, 42 bytes, of which these are the first 32.
        var input = [UInt8](repeating: 0x0B, count: 22)
        let secret = SecretBytes(wiping: &input)
        #expect(
            try encodeHex(bytes(HKDF.key(from: secret, purpose: "")))
                == "8da4e775a563c18f715f802a063c5a31b8a11f5c5ee1879ec3454e5f3c738d2d")
        #expect(try bytes(HKDF.key(from: secret, purpose: "a")) != bytes(HKDF.key(from: secret, purpose: "b")))
    }

    @Test("A private key is the same after it was taken apart")
    func scalar() throws {
        // Among as many keys there are scalars that begin with zeros.
        for _ in 0..<600 {
            let key = try P256PrivateKey.generate()
            let scalar = try key.scalar
            #expect(scalar.count == 32)
            let again = try P256PrivateKey(scalar: scalar, publicPoint: key.publicPoint)
            #expect(again.subjectPublicKeyInfo == key.subjectPublicKeyInfo)
            #expect(try bytes(again.scalar) == bytes(scalar))
        }
        let key = try P256PrivateKey.generate()
        let again = try P256PrivateKey(scalar: key.scalar, publicPoint: key.publicPoint)
        #expect(try key.publicKey.isValid(rawSignature: again.rawSignature(for: [1]), for: [1]))
        let sealed = try HPKE.seal([5], to: key.publicKey, info: [], additionalData: [])
        #expect(try HPKE.open(sealed, with: again, info: [], additionalData: []) == [5])
    }

    @Test("A scalar and a point that are no pair are no key")
    func mismatch() throws {
        let (key, other) = (try P256PrivateKey.generate(), try P256PrivateKey.generate())
        var zero = [UInt8](repeating: 0, count: 32)
        // The order of the curve (SEC 2 section 2.4.2).
        var order = try #require(
            decodeHex(Array("ffffffff00000000ffffffffffffffffbce6faada7179e84f3b9cac2fc632551".utf8)))
        var offCurve = key.publicPoint
        offCurve[64] ^= 1
        let scalar = try key.scalar
        for (scalar, point) in [
            (scalar, other.publicPoint), (SecretBytes(wiping: &zero), key.publicPoint),
            (SecretBytes(wiping: &order), key.publicPoint), (scalar, offCurve), (scalar, []),
            (scalar, Array(key.publicPoint.dropLast())), (scalar, key.publicPoint + [0]),
            (scalar.part(0..<31), key.publicPoint), (SecretBytes(joining: scalar, scalar.part(0..<1)), key.publicPoint),
            (scalar.part(0..<0), key.publicPoint),
        ] {
            #expect {
                _ = try P256PrivateKey(scalar: scalar, publicPoint: point)
            } throws: {
                ($0 as? RingwakeError)?.code == .badCredential
            }
        }
    }
}
