package import Cryptography
package import RingwakeCore

/// The key that wraps the keys of the classes. What it comes from is a ``RootKeySource``.
package struct RootKey: Sendable {
    /// The size of a root key, in bytes.
    package static let byteCount = 32
    /// The size of the content that a root key is made from, in bytes. Fewer bytes can be guessed; more are a file that
    /// somebody named by mistake.
    package static let contentBytes = 32...4096
    private static let contentPurpose = "ringwake root key 1"

    package let bytes: SecretBytes

    /// - Throws: `invalidRequest` for another size than ``byteCount``.
    package init(bytes: SecretBytes) throws(RingwakeError) {
        guard bytes.count == Self.byteCount else {
            throw RingwakeError(
                .invalidRequest, "a root key has \(Self.byteCount) bytes, and these are \(bytes.count); send all of it")
        }
        self.bytes = bytes
    }

    /// A random key.
    ///
    /// - Throws: `failed` when OpenSSL cannot make one.
    package static func random() throws(RingwakeError) -> RootKey {
        try RootKey(bytes: SecretBytes(random: byteCount))
    }

    /// The key of a passphrase, by scrypt. This takes as long as the parameters say, so nothing that must answer does it.
    ///
    /// - Throws: `failed` when OpenSSL cannot (no memory).
    package init(passphrase: Passphrase, salt: [UInt8], _ parameters: ScryptParameters) throws(RingwakeError) {
        var key = try passphrase.key(salt: salt, parameters, count: Self.byteCount)
        bytes = SecretBytes(wiping: &key)
    }

    /// The key of a credential or a key file. The same content is the same key, so a key file can become a credential.
    ///
    /// - Parameter name: what it is, for the message.
    /// - Throws: `badCredential` for a content of another size than ``contentBytes``.
    package init(content: SecretBytes, of name: String) throws(RingwakeError) {
        guard Self.contentBytes.contains(content.count) else {
            throw RingwakeError(
                .badCredential,
                "\(name) has \(content.count) bytes, and a key has \(Self.contentBytes.lowerBound) to "
                    + "\(Self.contentBytes.upperBound); make one with 'head -c 32 /dev/urandom'")
        }
        bytes = try HKDF.key(from: content, purpose: Self.contentPurpose)
    }

    /// Encrypts a secret by AES-256-GCM: nonce, ciphertext, tag. Few secrets are wrapped by a key, so the nonce is random.
    ///
    /// - Parameter bound: what the secret is. It has to be the same to unwrap it.
    func wrap(_ secret: SecretBytes, bound: [UInt8]) throws(RingwakeError) -> [UInt8] {
        var plaintext = secret.withBytes { Array($0) }
        defer { SecretBytes.wipe(&plaintext) }
        let nonce = try SecureRandom.bytes(AESGCM.nonceBytes)
        return try nonce + AESGCM.seal(plaintext, key: bytes, nonce: nonce, additionalData: bound)
    }

    /// - Returns: nil if another key wrapped it, as something else, or it was changed.
    func unwrap(_ wrapped: [UInt8], bound: [UInt8]) throws(RingwakeError) -> SecretBytes? {
        guard wrapped.count >= Self.wrappedBytes(of: 0),
            var plaintext = try AESGCM.open(
                wrapped.dropFirst(AESGCM.nonceBytes), key: bytes, nonce: Array(wrapped.prefix(AESGCM.nonceBytes)),
                additionalData: bound)
        else { return nil }
        return SecretBytes(wiping: &plaintext)
    }

    /// The size of a wrapped secret of `count` bytes.
    static func wrappedBytes(of count: Int) -> Int { AESGCM.nonceBytes + count + AESGCM.tagBytes }
}
