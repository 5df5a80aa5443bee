package import Cryptography
package import RingwakeCore

/// A sender's credential: a provider certificate, or the key that signs its provider tokens.
package enum ProviderCredential {
    /// No credential: the push service answers MissingProviderToken. For tests of a push service.
    case none
    /// A certificate with its chain, the leaf first, and its key. `password` decrypts an encrypted key.
    case certificate(chainPEM: [UInt8], keyPEM: [UInt8], password: String?)
    /// A key that signs provider tokens (ES256), as Apple issues them in `AuthKey_KEYID.p8`.
    case token(key: P256PrivateKey, keyID: String, teamID: String)
}

extension ProviderCredential {
    /// Reads a provider certificate with its key.
    ///
    /// - Parameters:
    ///   - file: the contents of a file: PEM (certificates, and the key unless `keyFile` has it) or PKCS#12.
    ///   - keyFile: the contents of a PEM file with the key.
    ///   - password: decrypts the PKCS#12 file or the key.
    /// - Throws: `badCredential`: certificate or key is missing or damaged, or they don't match; `notPermitted`: a
    ///   wrong password.
    package static func certificate(
        file: [UInt8], keyFile: [UInt8]?, password: String?
    ) throws(RingwakeError) -> ProviderCredential {
        if PKCS12.looksLikePKCS12(file) {
            let contents = try PKCS12.read(file, password: password ?? "")
            let chain = [contents.certificate] + contents.chain
            return .certificate(chainPEM: try pem(of: chain), keyPEM: try contents.key.pem, password: nil)
        }
        let certificates = try Certificate.all(pem: file)
        let keyPEM = keyFile ?? file
        if let password {
            // libcurl decrypts the key, and reports if it doesn't match the certificate.
            return .certificate(chainPEM: try pem(of: certificates), keyPEM: keyPEM, password: password)
        }
        let key = try PrivateKey(pem: keyPEM)
        guard let leaf = certificates.firstIndex(where: key.isKey(of:)) else {
            throw RingwakeError(
                .badCredential,
                "the private key does not belong to the certificate '\(certificates[0].title)'; "
                    + "name the key that it was issued for with --cert-key")
        }
        var chain = certificates
        chain.swapAt(0, leaf)
        return .certificate(chainPEM: try pem(of: chain), keyPEM: keyPEM, password: nil)
    }
}

private func pem(of certificates: [Certificate]) throws(RingwakeError) -> [UInt8] {
    var bytes: [UInt8] = []
    for certificate in certificates {
        bytes += try certificate.pem
    }
    return bytes
}

/// Caches a signed provider token.
struct ProviderTokenCache {
    /// Age in seconds at which a token is renewed: APNs accepts a new token at most every 20 minutes, and refuses
    /// tokens older than 60 minutes.
    static let renewalSeconds: Int64 = 40 * 60

    private var token: (text: String, issuedAt: Int64)?

    /// The token to send at `now`, in seconds since 1970. Signs a new one if there is none or it is too old.
    mutating func token(
        key: P256PrivateKey, keyID: String, teamID: String, at now: Int64
    ) throws(RingwakeError) -> String {
        if let token, (0..<ProviderTokenCache.renewalSeconds).contains(now.saturatingDifference(token.issuedAt)) {
            return token.text
        }
        let text = try ProviderToken.sign(keyID: keyID, teamID: teamID, issuedAt: now, key: key)
        token = (text, now)
        return text
    }
}

extension Int64 {
    fileprivate func saturatingDifference(_ other: Int64) -> Int64 {
        let (difference, overflow) = subtractingReportingOverflow(other)
        return overflow ? .max : difference
    }
}
