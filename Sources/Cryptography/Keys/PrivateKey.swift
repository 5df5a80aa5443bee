import CRingwakeOpenSSL
package import RingwakeCore

/// The private key of a certificate: EC P-256 or RSA.
///
/// For signing provider tokens there is ``P256PrivateKey``.
package final class PrivateKey {
    /// What to generate.
    package enum Kind: String, Sendable, CaseIterable {
        /// ECDSA over P-256: small and fast; all current software supports it.
        case p256 = "EC P-256"
        /// RSA of 2048 bits: what Apple's own certificates have, and what the oldest providers need.
        case rsa2048 = "RSA 2048"
    }

    private static let rsaBits: Int32 = 2048

    private let key: OwnedPointer

    /// Lends the `EVP_PKEY` to `body`, and keeps the key alive during the call: otherwise the optimizer may release
    /// the object after its pointer was read.
    func withPointer<Result>(_ body: (OpaquePointer) -> Result) -> Result {
        withExtendedLifetime(self) { body(key.pointer) }
    }

    /// Takes ownership of a key.
    init(_ key: consuming OwnedPointer) {
        self.key = key
    }

    /// Reads a PKCS#8, SEC 1 or PKCS#1 key; other blocks (a certificate before the key) are skipped.
    ///
    /// - Throws: `badCredential` when there is none, or it is encrypted or damaged.
    package init(pem: [UInt8]) throws(RingwakeError) {
        key = try PEM.privateKey(in: pem)
    }

    /// Reads a PKCS#8, SEC 1 or PKCS#1 key in DER.
    ///
    /// - Throws: `badCredential` when the bytes are no such key.
    package init(der: [UInt8]) throws(RingwakeError) {
        let decoded = decodeDER(der) { d2i_AutoPrivateKey(nil, $0, $1) }
        guard let key = OwnedPointer(decoded?.pointer, freedBy: EVP_PKEY_free) else {
            throw RingwakeError(
                .badCredential,
                "The bytes are no DER private key: \(OpenSSLErrors.drainText()); name a file with one private key.")
        }
        self.key = key
    }

    /// The key on P-256 with this scalar and public point.
    ///
    /// - Throws: `badCredential` when they are no pair.
    init(scalar: SecretBytes, publicPoint: [UInt8]) throws(RingwakeError) {
        var der = scalar.withBytes { P256Encoding.privateKey(scalar: $0, point: publicPoint) }
        defer { SecretBytes.wipe(&der) }
        let decoded = decodeDER(der) { d2i_AutoPrivateKey(nil, $0, $1) }
        guard let key = OwnedPointer(decoded?.pointer, freedBy: EVP_PKEY_free),
            scalar.count == P256Encoding.coordinateBytes,
            publicPoint.count == P256Encoding.pointBytes, Self.isPair(key.pointer)
        else {
            OpenSSLErrors.clear()
            throw RingwakeError(.badCredential, "the bytes are no private key with its public key; they are damaged.")
        }
        self.key = key
    }

    private static func isPair(_ key: OpaquePointer) -> Bool {
        guard let check = OwnedPointer(EVP_PKEY_CTX_new_from_pkey(nil, key, nil), freedBy: EVP_PKEY_CTX_free) else {
            return false
        }
        return EVP_PKEY_pairwise_check(check.pointer) == 1
    }

    /// A new key.
    package static func generate(_ kind: Kind) throws(RingwakeError) -> PrivateKey {
        OpenSSLErrors.clear()
        let name = kind == .p256 ? "EC" : "RSA"
        let context = try OwnedPointer(
            EVP_PKEY_CTX_new_from_name(nil, name, nil), freedBy: EVP_PKEY_CTX_free, operation: "generate a key")
        guard EVP_PKEY_keygen_init(context.pointer) == 1 else { throw .openSSL("generate a key") }
        let isConfigured =
            switch kind {
            case .p256: EVP_PKEY_CTX_set_group_name(context.pointer, P256PublicKey.groupName)
            case .rsa2048: EVP_PKEY_CTX_set_rsa_keygen_bits(context.pointer, rsaBits)
            }
        var generated: OpaquePointer?
        guard isConfigured == 1, EVP_PKEY_generate(context.pointer, &generated) == 1 else {
            throw .openSSL("generate a key")
        }
        return PrivateKey(try OwnedPointer(generated, freedBy: EVP_PKEY_free, operation: "generate a key"))
    }

    /// The key as PKCS#8 PEM, without a password: keep it in a file of mode 0600.
    package var pem: [UInt8] {
        get throws(RingwakeError) {
            try PEM.text(operation: "write a private key") { output in
                withPointer { PEM_write_bio_PKCS8PrivateKey(output, $0, nil, nil, 0, nil, nil) }
            }
        }
    }

    /// The public key as SubjectPublicKeyInfo PEM.
    package var publicKeyPEM: [UInt8] {
        get throws(RingwakeError) {
            try PEM.text(operation: "write a public key") { output in
                withPointer { PEM_write_bio_PUBKEY(output, $0) }
            }
        }
    }

    /// The public key as DER of SubjectPublicKeyInfo; `nil` when it cannot be encoded (no memory).
    var publicKeyDER: [UInt8]? {
        withPointer { key in PEM.der { i2d_PUBKEY(key, $0) } }
    }

    /// Type and size for people, such as `EC P-256`.
    package var summary: String {
        withPointer(KeySummary.describe)
    }

    /// Whether `certificate` was issued for this key.
    package func isKey(of certificate: Certificate) -> Bool {
        publicKeyDER == certificate.publicKeyDER
    }
}

/// Words for the type and size of a key.
enum KeySummary {
    private static let groupNameCapacity = 64

    static func describe(_ key: OpaquePointer) -> String {
        let bits = EVP_PKEY_get_bits(key)
        switch EVP_PKEY_get_base_id(key) {
        case EVP_PKEY_EC:
            return switch groupName(of: key) {
            case P256PublicKey.groupName: "EC P-256"
            case .some(let name): "EC \(name)"
            case .none: "EC of \(bits) bits"
            }
        case EVP_PKEY_RSA:
            return "RSA \(bits)"
        default:
            guard let name = EVP_PKEY_get0_type_name(key) else { return "unknown type, \(bits) bits" }
            return String(cString: name)
        }
    }

    /// OpenSSL's name of the curve, such as `prime256v1`; `nil` for other keys.
    static func groupName(of key: OpaquePointer) -> String? {
        OpenSSLErrors.clear()
        var name = [CChar](repeating: 0, count: groupNameCapacity)
        var count = 0
        guard EVP_PKEY_get_group_name(key, &name, name.count, &count) == 1 else {
            OpenSSLErrors.clear()
            return nil
        }
        return String(decoding: name.prefix(count).map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }
}
