import CRingwakeOpenSSL
import Glibc
import RingwakeCore

/// OpenSSL with the provider `tpm2`, apart from the rest of the process.
struct TPMLibrary: ~Copyable {
    /// Prefers what the TPM can do.
    private static let preference = "?provider=tpm2"

    private let context: OwnedPointer
    /// They are unloaded with the context.
    private let standard: OpaquePointer
    private let provider: OpaquePointer

    init() throws(RingwakeError) {
        // Without it the provider would also ask a port on loopback, where anybody can be a TPM.
        guard getenv(TPM.interfaceVariable) != nil else {
            throw RingwakeError(
                .badConfiguration,
                "$\(TPM.interfaceVariable) isn't set, which says how the TPM is reached; set it to "
                    + "'\(TPM.standardInterface)'")
        }
        OpenSSLErrors.clear()
        let context = try OwnedPointer(OSSL_LIB_CTX_new(), freedBy: OSSL_LIB_CTX_free, operation: "set up the TPM")
        guard let standard = OSSL_PROVIDER_load(context.pointer, "default") else { throw .openSSL("set up the TPM") }
        guard let provider = OSSL_PROVIDER_load(context.pointer, "tpm2") else {
            OSSL_PROVIDER_unload(standard)
            throw TPMFailure.drain().whenLoading
        }
        self.context = context
        self.standard = standard
        self.provider = provider
    }

    deinit {
        OSSL_PROVIDER_unload(provider)
        OSSL_PROVIDER_unload(standard)
    }

    /// A new key on P-256 in the TPM.
    func generate() throws(RingwakeError) -> TPMKey {
        OpenSSLErrors.clear()
        let new = try OwnedPointer(
            EVP_PKEY_CTX_new_from_name(context.pointer, "EC", Self.preference), freedBy: EVP_PKEY_CTX_free,
            operation: "set up the TPM")
        var key: OpaquePointer?
        guard EVP_PKEY_keygen_init(new.pointer) == 1,
            EVP_PKEY_CTX_set_group_name(new.pointer, "P-256") == 1, EVP_PKEY_generate(new.pointer, &key) == 1,
            let key = OwnedPointer(key, freedBy: EVP_PKEY_free)
        else { throw TPMFailure.drain().error(when: "make a key") }
        return TPMKey(key, context.pointer, Self.preference)
    }

    /// Loads a key into the TPM.
    func read(_ pem: String) throws(RingwakeError) -> TPMKey {
        // With another label it would be a key outside of the TPM.
        guard pem.hasPrefix("-----BEGIN TSS2 PRIVATE KEY-----") else {
            throw TPMFailure(reasons: ["it isn't a TSS2 PRIVATE KEY"]).whenReading
        }
        let source = try PEM.memory(holding: Array(pem.utf8), name: "TPM key")
        OpenSSLErrors.clear()
        guard
            let key = OwnedPointer(
                PEM_read_bio_PrivateKey_ex(source.pointer, nil, noPassword, nil, context.pointer, Self.preference),
                freedBy: EVP_PKEY_free)
        else { throw TPMFailure.drain().whenReading }
        return TPMKey(key, context.pointer, Self.preference)
    }
}

/// A key in a TPM. It must not outlive its ``TPMLibrary``.
struct TPMKey: ~Copyable {
    private let key: OwnedPointer
    private let library: OpaquePointer
    private let preference: String

    init(_ key: consuming OwnedPointer, _ library: OpaquePointer, _ preference: String) {
        self.key = key
        self.library = library
        self.preference = preference
    }

    /// The public key as DER of SubjectPublicKeyInfo.
    var subjectPublicKeyInfo: [UInt8] {
        get throws(RingwakeError) {
            OpenSSLErrors.clear()
            guard let der = PEM.der({ i2d_PUBKEY(key.pointer, $0) }) else {
                throw TPMFailure.drain().error(when: "read its public key")
            }
            return der
        }
    }

    /// The key as the TPM encrypted it.
    var pem: [UInt8] {
        get throws(RingwakeError) {
            try PEM.text(operation: "write a TPM's key") { output in
                PEM_write_bio_PrivateKey(output, key.pointer, nil, nil, 0, nil, nil)
            }
        }
    }

    /// The shared secret of Diffie-Hellman with `peer`, 32 bytes.
    func sharedSecret(with peer: P256PublicKey) throws(RingwakeError) -> [UInt8] {
        OpenSSLErrors.clear()
        let derivation = try OwnedPointer(
            EVP_PKEY_CTX_new_from_pkey(library, key.pointer, preference), freedBy: EVP_PKEY_CTX_free,
            operation: "set up ECDH in a TPM")
        var secret = [UInt8](repeating: 0, count: P256Encoding.coordinateBytes)
        var size = secret.count
        guard EVP_PKEY_derive_init(derivation.pointer) == 1,
            peer.withPointer({ EVP_PKEY_derive_set_peer(derivation.pointer, $0) }) == 1,
            EVP_PKEY_derive(derivation.pointer, &secret, &size) == 1, size == P256Encoding.coordinateBytes
        else { throw TPMFailure.drain().error(when: "use its key") }
        return secret
    }
}

/// What OpenSSL, its provider and the TPM say about a failure.
struct TPMFailure {
    /// Reasons with their details, the first failure first.
    let reasons: [String]

    /// Empties OpenSSL's queue. The provider has its words in the details, not in the reasons.
    static func drain() -> TPMFailure {
        var reasons: [String] = []
        var data: UnsafePointer<CChar>?
        var flags: Int32 = 0
        while case let code = ERR_get_error_all(nil, nil, nil, &data, &flags), code != 0 {
            var words = ERR_reason_error_string(code).map { String(cString: $0) } ?? ""
            if flags & ERR_TXT_STRING != 0, let data {
                let details = String(cString: data)
                if !details.isEmpty { words += words.isEmpty ? details : " (\(details))" }
            }
            if !words.isEmpty, !reasons.contains(words) { reasons.append(words) }
        }
        return TPMFailure(reasons: reasons)
    }

    private var text: String { reasons.isEmpty ? "no reason is given" : reasons.prefix(3).joined(separator: ", ") }

    var whenLoading: RingwakeError {
        let interface = getenv(TPM.interfaceVariable).map { String(cString: $0) } ?? ""
        if mentions("could not load the shared library") {
            return RingwakeError(
                .notFound, "OpenSSL has no provider for a TPM (\(text)); install the package tpm2-openssl")
        }
        return RingwakeError(
            .unreachable,
            "the TPM can't be reached by '\(interface)' (\(text)); check that there is one, and that this user may use it "
                + "(group tss)")
    }

    /// The key could not be loaded.
    var whenReading: RingwakeError {
        if mentions("integrity check failed") {
            return RingwakeError(
                .badCredential,
                "the root key was sealed to another TPM, or somebody has cleared this one (\(text)); restore a backup of the "
                    + "data, or use the machine that they were written on")
        }
        // The TPM and the way to it have such beginnings. OpenSSL alone only says that it can't read it.
        guard mentions("tpm:") || mentions("tcti:") || mentions("esapi:") else {
            return RingwakeError(
                .badCredential, "the TPM's key is damaged (\(text)); restore protection.json from a backup")
        }
        return error(when: "load its key")
    }

    func error(when operation: String) -> RingwakeError {
        if mentions("lockout") {
            return RingwakeError(
                .unreachable,
                "the TPM is locked after wrong passwords (\(text)); wait until that ends, or end it with "
                    + "'tpm2_dictionarylockout --clear-lockout'")
        }
        return RingwakeError(.unreachable, "the TPM can't \(operation): \(text); check it with 'tpm2_selftest'")
    }

    private func mentions(_ words: String) -> Bool { reasons.contains { $0.contains(words) } }
}
