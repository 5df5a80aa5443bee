import Cryptography
import LinkTransport
import RingwakeCore
import Testing

@Suite("A device's key")
struct DeviceKeyTests {
    @Test("The id is the base32 of the key's SHA-256, 52 characters")
    func id() throws {
        let key = try P256PrivateKey.generate()
        let id = try #require(DeviceKey.id(of: key.subjectPublicKeyInfo))
        #expect(id.rawValue == Base32.encode(SHA256.digest(key.subjectPublicKeyInfo)))
        #expect(id.rawValue.utf8.count == 52)
    }

    @Test("A signature is checked against its key and its message")
    func signatures() throws {
        let (key, other) = (try P256PrivateKey.generate(), try P256PrivateKey.generate())
        let signature = try key.rawSignature(for: [1, 2, 3])
        #expect(DeviceKey.isSigned([1, 2, 3], signature, by: key.subjectPublicKeyInfo))
        #expect(!DeviceKey.isSigned([1, 2], signature, by: key.subjectPublicKeyInfo))
        #expect(!DeviceKey.isSigned([1, 2, 3], signature, by: other.subjectPublicKeyInfo))
        #expect(!DeviceKey.isSigned([1, 2, 3], signature, by: [0]))
    }
}
