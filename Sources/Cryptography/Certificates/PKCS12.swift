import CRingwakeOpenSSL
package import RingwakeCore

/// PKCS#12 files (RFC 7292): a certificate, its key and its chain behind a password, such as Keychain exports.
package enum PKCS12 {
    /// The contents of a file.
    package struct Contents {
        /// The private key.
        package let key: PrivateKey
        /// The certificate of the key.
        package let certificate: Certificate
        /// The other certificates, such as intermediates.
        package let chain: [Certificate]
    }

    /// Maximum bytes of a file.
    package static let maximumBytes = 1024 * 1024
    /// Rounds of password hashing when a file is written; OpenSSL's own number.
    private static let iterations: Int32 = 2048
    /// Tells OpenSSL to leave the MAC out; it is added with the digest that was asked for.
    private static let withoutMAC: Int32 = -1

    /// Makes a file.
    ///
    /// - Parameters:
    ///   - friendlyName: the name that key chains show.
    ///   - legacy: 3DES and SHA-1 instead of AES-256 and SHA-256, and no chain, for old readers (Go's x/crypto/pkcs12,
    ///     which refuses a second certificate; macOS before 15, Java 8).
    /// - Throws: `badCredential` when the key is not the certificate's.
    package static func write(
        key: PrivateKey, certificate: Certificate, chain: [Certificate], friendlyName: String, password: String,
        legacy: Bool
    ) throws(RingwakeError) -> [UInt8] {
        guard key.isKey(of: certificate) else {
            throw RingwakeError(
                .badCredential,
                "The key does not belong to '\(certificate.title)'; name the key that it was issued for.")
        }
        OpenSSLErrors.clear()
        let leaf = try certificate.parsed()
        let parsedChain = try (legacy ? [] : chain).map { certificate throws(RingwakeError) in try certificate.parsed()
        }
        let stack = try OwnedPointer(
            ringwake_sk_X509_new_null(), freedBy: ringwake_sk_X509_pop_free, operation: "make a PKCS#12 file")
        for link in parsedChain {
            // The stack owns a reference to each.
            let isPushed = link.withPointer { certificate in
                guard X509_up_ref(certificate) == 1 else { return false }
                if ringwake_sk_X509_push(stack.pointer, certificate) > 0 { return true }
                X509_free(certificate)
                return false
            }
            guard isPushed else { throw .openSSL("make a PKCS#12 file") }
        }
        let cipher = legacy ? NID_pbe_WithSHA1And3_Key_TripleDES_CBC : NID_aes_256_cbc
        let file = try OwnedPointer(
            key.withPointer { key in
                leaf.withPointer { leaf in
                    PKCS12_create(
                        password, friendlyName, key, leaf, stack.pointer, cipher, cipher, iterations, withoutMAC, 0)
                }
            },
            freedBy: PKCS12_free, operation: "make a PKCS#12 file")
        let digest = legacy ? EVP_sha1() : EVP_sha256()
        guard PKCS12_set_mac(file.pointer, password, -1, nil, 0, iterations, digest) == 1,
            let der = PEM.der({ i2d_PKCS12(file.pointer, $0) })
        else { throw .openSSL("make a PKCS#12 file") }
        return der
    }

    /// Whether `bytes` has the outer form of a PKCS#12 file, whatever its password.
    package static func looksLikePKCS12(_ bytes: [UInt8]) -> Bool {
        parse(bytes) != nil
    }

    /// Whether the file is encrypted for old readers, with 3DES. The algorithm's name is not encrypted.
    package static func isLegacy(_ bytes: [UInt8]) -> Bool {
        uses(tripleDES, in: bytes)
    }

    /// pbeWithSHAAnd3-KeyTripleDES-CBC, below 1.2.840.113549.1.12.1 (RFC 7292 appendix C).
    private static let tripleDES: UInt8 = 3
    /// pbeWithSHAAnd40BitRC2-CBC.
    private static let rc2: UInt8 = 6

    private static func uses(_ algorithm: UInt8, in bytes: [UInt8]) -> Bool {
        let name: [UInt8] = [0x06, 0x0A, 0x2A, 0x86, 0x48, 0x86, 0xF7, 0x0D, 0x01, 0x0C, 0x01, algorithm]
        return bytes.indices.contains { bytes[$0...].starts(with: name) }
    }

    /// Reads a file. OpenSSL reads AES and 3DES itself; for the RC2 of old key chains it needs its legacy provider.
    ///
    /// - Throws: `notPermitted` for a wrong password; `badCredential` for a damaged file, or one without a key or
    ///   a certificate.
    package static func read(_ bytes: [UInt8], password: String) throws(RingwakeError) -> Contents {
        OpenSSLErrors.clear()
        guard let file = parse(bytes) else {
            throw RingwakeError(
                .badCredential,
                "The bytes are no PKCS#12 file: \(OpenSSLErrors.drainText(fallback: "bytes follow it")); "
                    + "name a .p12 or .pfx file.")
        }
        try PKCS12Rounds.checkMAC(of: file.pointer)
        // An empty password is written as an empty string by some and as none at all by others.
        let isRight =
            PKCS12_verify_mac(file.pointer, password, -1) == 1
            || (password.isEmpty && PKCS12_verify_mac(file.pointer, nil, 0) == 1)
        guard isRight else {
            let reasons = OpenSSLErrors.drain()
            guard reasons.contains(where: { $0.library == ERR_LIB_PKCS12 && $0.number == PKCS12_R_MAC_ABSENT }) else {
                throw RingwakeError(
                    .notPermitted,
                    password.isEmpty
                        ? "The PKCS#12 file needs a password and none was given; give the one it was exported with."
                        : "The password of the PKCS#12 file is wrong; give the one it was exported with.")
            }
            throw RingwakeError(
                .badCredential,
                "The PKCS#12 file has no MAC, so its password cannot be checked; export it again with a password.")
        }
        return try unpack(file.pointer, password: password, usesRC2: uses(rc2, in: bytes))
    }

    private static func parse(_ bytes: [UInt8]) -> OwnedPointer? {
        guard bytes.count <= maximumBytes else { return nil }
        let decoded = decodeDER(bytes) { d2i_PKCS12(nil, $0, $1) }
        guard let file = OwnedPointer(decoded?.pointer, freedBy: PKCS12_free), decoded?.isWhole == true else {
            return nil
        }
        return file
    }

    private static func unpack(
        _ file: OpaquePointer, password: String, usesRC2: Bool
    ) throws(RingwakeError) -> Contents {
        var key: OpaquePointer?
        var certificate: OpaquePointer?
        var others: OpaquePointer?
        try PKCS12Rounds.check(file, password: password)
        if PKCS12_parse(file, password, &key, &certificate, &others) != 1 {
            // The likely cause is RC2 of an old key chain, which OpenSSL 3 keeps in a provider of its own.
            let reasons = OpenSSLErrors.drain()
            let legacy = OSSL_PROVIDER_try_load(nil, "legacy", 1)
            defer { if let legacy { OSSL_PROVIDER_unload(legacy) } }
            // What only that provider decrypts has not been counted yet.
            if legacy != nil { try PKCS12Rounds.check(file, password: password) }
            guard legacy != nil, PKCS12_parse(file, password, &key, &certificate, &others) == 1 else {
                OpenSSLErrors.clear()
                let cause =
                    usesRC2 && legacy == nil
                    ? "it is encrypted with RC2-40, and OpenSSL 3 reads that only with its legacy provider, which is not "
                        + "installed here (Debian 13 has it in openssl-provider-legacy)"
                    : OpenSSLErrors.text(of: reasons)
                throw RingwakeError(
                    .badCredential,
                    "The PKCS#12 file cannot be decrypted: \(cause); convert it where it can be read, with "
                        + "'openssl pkcs12 -legacy -in OLD -nodes -out NEW.pem'.")
            }
        }
        defer { ringwake_sk_X509_pop_free(others) }
        let ownedKey = OwnedPointer(key, freedBy: EVP_PKEY_free)
        let ownedCertificate = X509Reference(certificate)
        OpenSSLErrors.clear()
        guard let ownedKey, let ownedCertificate, let leaf = Certificate(ownedCertificate) else {
            throw RingwakeError(
                .badCredential,
                "The PKCS#12 file holds no private key with its certificate; export both together "
                    + "(in Keychain Access: select the certificate with its key below it).")
        }
        let count = others == nil ? 0 : ringwake_sk_X509_num(others)
        let chain = (0..<max(0, count)).compactMap { index in
            ringwake_sk_X509_value(others, index).flatMap { Certificate(x509: $0) }
        }
        return Contents(key: PrivateKey(ownedKey), certificate: leaf, chain: chain)
    }
}
