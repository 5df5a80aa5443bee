import CRingwakeOpenSSL
package import RingwakeCore

/// A private key on P-256: signs provider tokens (ES256), such as the P8 file that Apple hands out, proves a device, or
/// opens what was sealed for it (``HPKE``).
///
/// It holds OpenSSL state that one thread uses at a time.
package final class P256PrivateKey {
    /// The size of a shared secret of Diffie-Hellman, in bytes: the x coordinate.
    private static let sharedSecretBytes = 32

    /// The public key as DER of SubjectPublicKeyInfo, 91 bytes.
    package let subjectPublicKeyInfo: [UInt8]
    /// The public key as an uncompressed point, 65 bytes.
    package let publicPoint: [UInt8]

    private let key: PrivateKey
    /// Set up for signing once, and used for each signature.
    private let signer: OwnedPointer

    private init(_ key: PrivateKey) throws(RingwakeError) {
        guard key.withPointer(KeySummary.groupName) == P256PublicKey.groupName else {
            throw RingwakeError(
                .badCredential,
                "The private key is \(key.summary), and ES256 needs EC P-256; use the P8 file of the push service, or "
                    + "make a key with 'ringwake certs dev-ca'.")
        }
        OpenSSLErrors.clear()
        let signer = try OwnedPointer(
            key.withPointer { EVP_PKEY_CTX_new_from_pkey(nil, $0, nil) }, freedBy: EVP_PKEY_CTX_free,
            operation: "set up ES256")
        guard EVP_PKEY_sign_init(signer.pointer) == 1,
            EVP_PKEY_CTX_set_signature_md(signer.pointer, EVP_sha256()) == 1
        else { throw .openSSL("set up ES256") }
        guard let point = key.withPointer(P256Encoding.point),
            let subjectPublicKeyInfo = P256Encoding.subjectPublicKeyInfo(ofPoint: point)
        else { throw .openSSL("read a key") }
        publicPoint = point
        self.subjectPublicKeyInfo = subjectPublicKeyInfo
        self.key = key
        self.signer = signer
    }

    /// Reads a PKCS#8 or SEC 1 key.
    ///
    /// - Throws: `badCredential` when there is none, it is encrypted, or it is not on P-256.
    package convenience init(pem: [UInt8]) throws(RingwakeError) {
        try self.init(PrivateKey(pem: pem))
    }

    /// A new key.
    package static func generate() throws(RingwakeError) -> P256PrivateKey {
        try P256PrivateKey(PrivateKey.generate(.p256))
    }

    /// The key with this scalar and its public point, as ``scalar`` and ``publicPoint`` have them.
    ///
    /// - Throws: `badCredential` when they are no such pair.
    package convenience init(scalar: SecretBytes, publicPoint: [UInt8]) throws(RingwakeError) {
        try self.init(PrivateKey(scalar: scalar, publicPoint: publicPoint))
    }

    /// The number that is the private key, 32 bytes.
    package var scalar: SecretBytes {
        get throws(RingwakeError) {
            guard let scalar = key.withPointer(P256Encoding.scalar) else { throw .openSSL("read a private key") }
            return scalar
        }
    }

    /// The key as PKCS#8 PEM without a password, the form of Apple's P8 files: keep it in a file of mode 0600.
    package var pem: [UInt8] {
        get throws(RingwakeError) { try key.pem }
    }

    /// The public key as SubjectPublicKeyInfo PEM: what the gateway's configuration names.
    package var publicKeyPEM: [UInt8] {
        get throws(RingwakeError) { try key.publicKeyPEM }
    }

    /// The public key.
    package var publicKey: P256PublicKey {
        get throws(RingwakeError) { try P256PublicKey(der: subjectPublicKeyInfo) }
    }

    /// The ES256 signature of `message`: r and s, 64 bytes.
    package func rawSignature(for message: [UInt8]) throws(RingwakeError) -> [UInt8] {
        OpenSSLErrors.clear()
        let digest = SHA256.digest(message)
        var size = 0
        guard EVP_PKEY_sign(signer.pointer, nil, &size, digest, digest.count) == 1 else {
            throw .openSSL("sign with ES256")
        }
        var signature = [UInt8](repeating: 0, count: size)
        guard EVP_PKEY_sign(signer.pointer, &signature, &size, digest, digest.count) == 1,
            let raw = ES256Signature.raw(fromDER: Array(signature.prefix(size)))
        else { throw .openSSL("sign with ES256") }
        return raw
    }

    /// The shared secret of Diffie-Hellman with `peer` (ECDH, SEC 1 section 3.3.1), 32 bytes.
    func sharedSecret(with peer: P256PublicKey) throws(RingwakeError) -> [UInt8] {
        OpenSSLErrors.clear()
        let context = try OwnedPointer(
            key.withPointer { EVP_PKEY_CTX_new_from_pkey(nil, $0, nil) }, freedBy: EVP_PKEY_CTX_free,
            operation: "set up ECDH")
        var secret = [UInt8](repeating: 0, count: Self.sharedSecretBytes)
        var size = secret.count
        guard EVP_PKEY_derive_init(context.pointer) == 1,
            peer.withPointer({ EVP_PKEY_derive_set_peer(context.pointer, $0) }) == 1,
            EVP_PKEY_derive(context.pointer, &secret, &size) == 1, size == Self.sharedSecretBytes
        else { throw .openSSL("compute a shared secret") }
        return secret
    }
}
