internal import Cryptography
internal import RingwakeCore

/// The CAs by which senders check the server certificate, as PEM texts. They are made from certificates alone, so that no
/// private key in a file can get into them.
nonisolated struct SenderAuthorities: Equatable {
    /// Maximum bytes of a text. About 20 certificates; an app stores it and sends it to its server.
    static let maximumBytes = 32 * 1024

    /// Those that the configuration names; nil if it names none.
    let configured: String?
    /// The one that issued the server certificate; nil if the configuration doesn't have it.
    let issuer: String?

    /// Reads a file of CAs: PEM, or one certificate in DER.
    ///
    /// - Throws: `badCredential` if there is no certificate, one that senders can't trust, or too many.
    static func pem(ofFile bytes: [UInt8]) throws(RingwakeError) -> String {
        let certificates = try Certificate.all(pem: try Certificate.pem(ofFile: bytes))
        if let other = certificates.first(where: { !$0.isCA && !$0.isSelfSigned }) {
            throw RingwakeError(.badCredential, "'\(other.title)' is no CA; name the file of the CA that issued it")
        }
        let text = try pem(of: certificates)
        guard text.utf8.count <= maximumBytes else {
            throw RingwakeError(
                .badCredential,
                "the \(certificates.count) certificates have \(text.utf8.count) bytes, and at most \(maximumBytes) are "
                    + "passed on; name the one CA that issued the server certificate")
        }
        return text
    }

    /// The CA, signed by itself, that the certificates of a server lead to.
    ///
    /// - Parameters:
    ///   - chain: the server's certificate, then those that it sends with it.
    ///   - authorities: certificates of CAs that may have issued one of them. The CA of a development set-up is also the
    ///     one of its provider certificates.
    /// - Returns: nil if none did. Then a public CA may have, which senders know anyway.
    static func issuer(of chain: [Certificate], among authorities: [Certificate]) -> String? {
        guard let own = chain.first else { return nil }
        let found = (chain + authorities).first { candidate in
            guard candidate.isSelfSigned else { return false }
            if candidate.der == own.der { return true }
            return candidate.isCA && chain.contains { isIssued($0, by: candidate) }
        }
        guard let issuer = found, let text = try? pem(of: [issuer]), text.utf8.count <= maximumBytes else { return nil }
        return text
    }

    private static func isIssued(_ certificate: Certificate, by authority: Certificate) -> Bool {
        guard certificate.der != authority.der, let isIssued = try? certificate.isIssued(by: authority) else {
            return false
        }
        return isIssued
    }

    private static func pem(of certificates: [Certificate]) throws(RingwakeError) -> String {
        var text: [UInt8] = []
        for certificate in certificates { text += try certificate.pem }
        return String(decoding: text, as: UTF8.self)
    }
}
