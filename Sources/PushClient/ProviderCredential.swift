package import Cryptography
package import RingwakeCore

/// What a sender shows to be let in: a provider certificate, or the key that signs its provider tokens.
package enum ProviderCredential {
    /// Nothing: the push service answers MissingProviderToken. For tests of a push service.
    case none
    /// A certificate with its chain, the leaf first, and its key; `password` opens the key where it is encrypted.
    case certificate(chainPEM: [UInt8], keyPEM: [UInt8], password: String?)
    /// A key that signs provider tokens (ES256), as Apple issues them in `AuthKey_KEYID.p8`.
    case token(key: P256PrivateKey, keyID: String, teamID: String)
}

extension ProviderCredential {
    /// Reads a provider certificate with its key.
    ///
    /// - Parameters:
    ///   - file: what a file holds: PEM (certificates, and the key unless `keyFile` has it) or PKCS#12.
    ///   - keyFile: what a file with the key in PEM holds.
    ///   - password: opens the PKCS#12 file or the key.
    /// - Throws: `badCredential` when certificate or key is missing, damaged, or of another pair; `notPermitted` for
    ///   a wrong password.
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
            // Libcurl opens the key and says when it is another certificate's.
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

/// Keeps a signed provider token while it may be used again.
struct ProviderTokenCache {
    /// A token is renewed when it is this old, in seconds: APNs wants no more than one each 20 minutes and refuses
    /// one older than 60.
    static let renewalSeconds: Int64 = 40 * 60

    private var token: (text: String, issuedAt: Int64)?

    /// The token to send at `now`, in seconds since 1970; signed when there is none or it has grown old.
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
