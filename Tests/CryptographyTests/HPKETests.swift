import RingwakeCore
import Testing

@testable import Cryptography

@Suite struct HPKETests {
    /// RFC 9180 appendix A.3.1: DHKEM(P-256, HKDF-SHA256), HKDF-SHA256, AES-128-GCM, base mode, sequence number 0.
    enum Vector {
        static let info = bytes("4f6465206f6e2061204772656369616e2055726e")
        static let ephemeralKey = bytes("4995788ef4b9d6132b249ce59a77281493eb39af373d236a1fe415cb0c2d7beb")
        static let recipientKey = bytes("f3ce7fdae57e1a310d87f1ebbde6f328be0a99cdbcadf4d6589cf29de4b8ffd2")
        static let recipientPoint = bytes(
            "04fe8c19ce0905191ebc298a9245792531f26f0cece2460639e8bc39cb7f706a826a779b4cf969b8a0e539c7f62fb3d30ad6"
                + "aa8f80e30f1d128aafd68a2ce72ea0")
        static let encapsulated = bytes(
            "04a92719c6195d5085104f469a8b9814d5838ff72b60501e2c4466e5e67b325ac98536d7b61a1af4b78e5b7f951c0900be86"
                + "3c403ce65c9bfcb9382657222d18c4")
        static let sharedSecret = bytes("c0d26aeab536609a572b07695d933b589dcf363ff9d93c93adea537aeabb8cb8")
        static let key = bytes("868c066ef58aae6dc589b6cfdd18f97e")
        static let baseNonce = bytes("4e0bc5018beba4bf004cca59")
        static let plaintext = bytes("4265617574792069732074727574682c20747275746820626561757479")
        static let additionalData = bytes("436f756e742d30")
        static let ciphertext = bytes(
            "5ad590bb8baa577f8619db35a36311226a896e7342a6d836d8b7bcd2f20b6c7f9076ac232e3ab2523f39513434")

        private static func bytes(_ hex: String) -> [UInt8] {
            let digits = hex.compactMap { $0.hexDigitValue }
            return stride(from: 0, to: digits.count, by: 2).map { UInt8(digits[$0] << 4 | digits[$0 + 1]) }
        }

        /// The key with this scalar, by its SEC 1 DER.
        static func privateKey(_ scalar: [UInt8]) throws -> P256PrivateKey {
            let curve: [UInt8] = [0xA0, 0x0A, 0x06, 0x08, 0x2A, 0x86, 0x48, 0xCE, 0x3D, 0x03, 0x01, 0x07]
            let der: [UInt8] = [0x30, 0x31, 0x02, 0x01, 0x01, 0x04, 0x20] + scalar + curve
            return try P256PrivateKey(pem: PrivateKey(der: der).pem)
        }
    }

    @Test("The key schedule of RFC 9180 A.3.1, from both ends")
    func schedule() throws {
        let (ephemeral, recipient) = (
            try Vector.privateKey(Vector.ephemeralKey), try Vector.privateKey(Vector.recipientKey)
        )
        #expect(ephemeral.publicPoint == Vector.encapsulated)
        #expect(recipient.publicPoint == Vector.recipientPoint)
        let secrets = [
            try ephemeral.sharedSecret(with: P256PublicKey(point: Vector.recipientPoint)),
            try recipient.sharedSecret(with: P256PublicKey(point: Vector.encapsulated)),
        ]
        for secret in secrets {
            let schedule = try HPKE.KeySchedule(
                secret: secret, encapsulated: Vector.encapsulated, recipient: Vector.recipientPoint,
                info: Vector.info)
            #expect(schedule.sharedSecret == Vector.sharedSecret)
            #expect(schedule.key == Vector.key)
            #expect(schedule.baseNonce == Vector.baseNonce)
        }
    }

    @Test("Sealing and opening of RFC 9180 A.3.1")
    func vector() throws {
        let recipient = try Vector.privateKey(Vector.recipientKey)
        let sealed = try HPKE.seal(
            Vector.plaintext, to: recipient.publicKey, info: Vector.info, additionalData: Vector.additionalData,
            ephemeral: Vector.privateKey(Vector.ephemeralKey))
        #expect(sealed == Vector.encapsulated + Vector.ciphertext)
        #expect(
            try HPKE.open(sealed, with: recipient, info: Vector.info, additionalData: Vector.additionalData)
                == Vector.plaintext)
    }

    @Test("HKDF of RFC 5869 A.1 and A.3, which has no salt and no info; the first 32 bytes")
    func hkdf() throws {
        let input = [UInt8](repeating: 0x0B, count: 22)
        let first = try HKDF.expand(
            HKDF.extract(salt: Array(0...0x0C), inputKey: input), info: Array(0xF0...0xF9), count: 32)
        #expect(encodeHex(first) == "3cb25f25faacd57a90434f64d0362f2a2d2d0a90cf1a5a4c5db02d56ecc4c5bf")
        let third = try HKDF.expand(HKDF.extract(salt: [], inputKey: input), info: [], count: 32)
        #expect(encodeHex(third) == "8da4e775a563c18f715f802a063c5a31b8a11f5c5ee1879ec3454e5f3c738d2d")
        #expect(try HKDF.expand(third, info: [], count: 0).isEmpty)
    }

    @Test("Messages of each size survive, are 81 bytes longer, and are never sealed alike")
    func roundTrip() throws {
        let key = try P256PrivateKey.generate()
        var random = SeededGenerator(seed: 5)
        for count in [0, 1, 15, 16, 17, 4096, 100_000] {
            let message = (0..<count).map { _ in UInt8.random(in: 0...255, using: &random) }
            for data in [[], [1, 2, 3]] as [[UInt8]] {
                let sealed = try HPKE.seal(message, to: key.publicKey, info: [], additionalData: data)
                #expect(sealed.count == count + HPKE.overheadBytes)
                #expect(HPKE.overheadBytes == 81)
                #expect(try HPKE.open(sealed, with: key, info: [], additionalData: data) == message)
                #expect(try HPKE.seal(message, to: key.publicKey, info: [], additionalData: data) != sealed)
            }
        }
    }

    @Test("Another key, purpose or outside data, and any change or cut, opens nothing")
    func refused() throws {
        let key = try P256PrivateKey.generate()
        let sealed = try HPKE.seal([1, 2, 3, 4], to: key.publicKey, info: [1], additionalData: [2])
        func code(
            _ sealed: [UInt8], _ key: P256PrivateKey, info: [UInt8] = [1], data: [UInt8] = [2]
        ) -> RingwakeError.Code? {
            do {
                _ = try HPKE.open(sealed, with: key, info: info, additionalData: data)
                return nil
            } catch {
                return error.code
            }
        }
        #expect(code(sealed, key) == nil)
        #expect(try code(sealed, P256PrivateKey.generate()) == .badCredential)
        for other in [[], [2], [1, 0]] as [[UInt8]] {
            #expect(code(sealed, key, info: other) == .badCredential)
        }
        for other in [[], [1], [2, 0]] as [[UInt8]] {
            #expect(code(sealed, key, data: other) == .badCredential)
        }
        for index in sealed.indices {
            var changed = sealed
            changed[index] ^= 1
            #expect(code(changed, key) == .badCredential)
        }
        for count in sealed.indices {
            #expect(code(Array(sealed.prefix(count)), key) == .badCredential)
        }
        #expect(code(sealed + [0], key) == .badCredential)
        #expect(code([UInt8](repeating: 0, count: 100), key) == .badCredential)
    }
}
