import CRingwakeOpenSSL
package import RingwakeCore

/// A public key on P-256, for verifying ES256 signatures (RFC 7518 section 3.4) and for sealing (``HPKE``).
///
/// The key is prepared once, so that a verification costs the curve arithmetic and little more. It holds
/// OpenSSL state that one thread uses at a time.
package final class P256PublicKey {
    /// OpenSSL's name of the curve.
    static let groupName = "prime256v1"

    /// The size of SubjectPublicKeyInfo in DER with an uncompressed point, in bytes.
    package static let subjectPublicKeyInfoBytes = 91

    /// The key as DER of SubjectPublicKeyInfo, 91 bytes: always with the uncompressed point, so that each key has one
    /// text and one digest.
    package let subjectPublicKeyInfo: [UInt8]
    /// The uncompressed point, 65 bytes.
    let point: [UInt8]

    private let key: OwnedPointer
    /// Set up for verification once, and used for each signature.
    private let verifier: OwnedPointer

    /// Reads the public key of a PEM text: a public key, a certificate, or a private key (such as Apple's P8),
    /// whose private part is dropped at once.
    ///
    /// - Throws: `badCredential` when there is none, or it is not on P-256.
    package convenience init(pem: [UInt8]) throws(RingwakeError) {
        let der: [UInt8]
        if PEM.contains(text: "PRIVATE KEY-----", in: pem) {
            let key = try PEM.privateKey(in: pem)
            guard let encoded = PEM.der({ i2d_PUBKEY(key.pointer, $0) }) else { throw .openSSL("read a key") }
            der = encoded
        } else if PEM.contains(label: "PUBLIC KEY", in: pem) {
            let source = try PEM.memory(holding: pem, name: "public key")
            OpenSSLErrors.clear()
            guard
                let key = OwnedPointer(
                    PEM_read_bio_PUBKEY(source.pointer, nil, noPassword, nil), freedBy: EVP_PKEY_free)
            else {
                throw RingwakeError(
                    .badCredential,
                    "The public key cannot be read: \(OpenSSLErrors.drainText()); "
                        + "check that the file was copied whole.")
            }
            guard let encoded = PEM.der({ i2d_PUBKEY(key.pointer, $0) }) else { throw .openSSL("read a key") }
            der = encoded
        } else if PEM.contains(label: "CERTIFICATE", in: pem) {
            der = try Certificate(pem: pem).publicKeyDER
        } else {
            throw RingwakeError(
                .badCredential,
                "The PEM holds no key; it must have a block '-----BEGIN PUBLIC KEY-----', or be a P8 file or a "
                    + "certificate.")
        }
        try self.init(der: der)
    }

    /// Reads SubjectPublicKeyInfo in DER.
    ///
    /// - Throws: `badCredential` when it is no key on P-256.
    package init(der: [UInt8]) throws(RingwakeError) {
        let decoded = decodeDER(der) { d2i_PUBKEY(nil, $0, $1) }
        guard let key = OwnedPointer(decoded?.pointer, freedBy: EVP_PKEY_free) else {
            throw RingwakeError(
                .badCredential, "The public key cannot be read: \(OpenSSLErrors.drainText()); check the file.")
        }
        guard KeySummary.groupName(of: key.pointer) == Self.groupName else {
            throw RingwakeError(
                .badCredential,
                "The key is \(KeySummary.describe(key.pointer)), and ES256 needs EC P-256; "
                    + "make one with 'openssl ecparam -name prime256v1 -genkey -noout'.")
        }
        guard let point = P256Encoding.point(of: key.pointer),
            let subjectPublicKeyInfo = P256Encoding.subjectPublicKeyInfo(ofPoint: point)
        else { throw .openSSL("read a key") }
        self.point = point
        self.subjectPublicKeyInfo = subjectPublicKeyInfo
        let verifier = try OwnedPointer(
            EVP_PKEY_CTX_new_from_pkey(nil, key.pointer, nil), freedBy: EVP_PKEY_CTX_free,
            operation: "set up ES256")
        guard EVP_PKEY_verify_init(verifier.pointer) == 1,
            EVP_PKEY_CTX_set_signature_md(verifier.pointer, EVP_sha256()) == 1
        else { throw .openSSL("set up ES256") }
        self.key = key
        self.verifier = verifier
    }

    /// Reads SubjectPublicKeyInfo in exactly the form of ``subjectPublicKeyInfo``: what a peer sends has one text only.
    ///
    /// - Throws: `badCredential` for another curve, a compressed point, a point that isn't on the curve, or bytes that
    ///   follow.
    package convenience init(subjectPublicKeyInfo: [UInt8]) throws(RingwakeError) {
        guard P256Encoding.point(of: subjectPublicKeyInfo) != nil else {
            throw RingwakeError(
                .badCredential,
                "The public key isn't the SubjectPublicKeyInfo of an EC P-256 key with an uncompressed point "
                    + "(\(Self.subjectPublicKeyInfoBytes) bytes of DER); send it in that form.")
        }
        try self.init(der: subjectPublicKeyInfo)
    }

    /// Reads an uncompressed point, 65 bytes.
    ///
    /// - Throws: `badCredential` when it is none, or not on the curve.
    package convenience init(point: [UInt8]) throws(RingwakeError) {
        guard let subjectPublicKeyInfo = P256Encoding.subjectPublicKeyInfo(ofPoint: point) else {
            throw RingwakeError(.badCredential, "The bytes aren't an uncompressed point of P-256; send 65 bytes.")
        }
        try self.init(der: subjectPublicKeyInfo)
    }

    /// Lends the `EVP_PKEY` to `body`, and keeps the key alive during the call.
    func withPointer<Result>(_ body: (OpaquePointer) -> Result) -> Result {
        withExtendedLifetime(self) { body(key.pointer) }
    }

    /// Whether `rawSignature` is this key's ES256 signature of `message`.
    ///
    /// - Parameter rawSignature: r and s of 32 bytes each, as in a JWT; any other length, and DER, is invalid.
    package func isValid(rawSignature: [UInt8], for message: [UInt8]) -> Bool {
        guard let signature = ES256Signature.der(fromRaw: rawSignature) else { return false }
        OpenSSLErrors.clear()
        let digest = SHA256.digest(message)
        let outcome = EVP_PKEY_verify(verifier.pointer, signature, signature.count, digest, digest.count)
        OpenSSLErrors.clear()
        return outcome == 1
    }

    /// Whether `certificate` was issued for this key.
    package func isKey(of certificate: Certificate) -> Bool {
        PEM.der { i2d_PUBKEY(key.pointer, $0) } == certificate.publicKeyDER
    }

    /// The key as SubjectPublicKeyInfo PEM.
    package var pem: [UInt8] {
        get throws(RingwakeError) {
            try PEM.text(operation: "write a public key") { output in PEM_write_bio_PUBKEY(output, key.pointer) }
        }
    }
}
