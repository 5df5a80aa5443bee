import CRingwakeOpenSSL

/// The certificate of a connection's other end with the result of its verification.
package struct PeerCertificate: Sendable {
    /// The certificate that the peer sent.
    package let certificate: Certificate
    /// The result of verifying it: a client's against the provider CAs, a server's as the client trusts.
    package let verification: Verification

    package init(certificate: Certificate, verification: Verification) {
        self.certificate = certificate
        self.verification = verification
    }

    /// The public key as DER of SubjectPublicKeyInfo, as it stands in the certificate: the handshake proves that the
    /// peer has its private part, whatever ``verification`` says.
    package var subjectPublicKeyInfo: [UInt8] { certificate.publicKeyDER }

    /// The verdict on a certificate.
    package enum Verification: Equatable, Sendable {
        /// It leads to one of the provider CAs and is valid; of a server's: it has passed the client's checks.
        case trusted
        /// It doesn't, or isn't valid. `reason` is OpenSSL's, for the log. `isExpired`: the first error is that it
        /// has expired.
        case untrusted(reason: String, isExpired: Bool)
    }

    /// The same certificate judged at `now` (seconds since 1970): a connection and a resumed session may outlive
    /// the certificate that they were made with.
    package func asOf(_ now: Int64) -> PeerCertificate {
        guard verification == .trusted, now > certificate.notAfter else { return self }
        return PeerCertificate(
            certificate: certificate,
            verification: .untrusted(reason: "certificate has expired", isExpired: true))
    }
}

extension PeerCertificate.Verification {
    /// Without a configured provider CA no client is trusted.
    static let notAsked = Self.untrusted(reason: "no provider CA is configured", isExpired: false)

    /// OpenSSL's verdict, the `X509_V_` number of the first error.
    init(_ result: Int) {
        if result == Int(X509_V_OK) {
            self = .trusted
        } else {
            self = .untrusted(
                reason: String(cString: X509_verify_cert_error_string(result)),
                isExpired: result == Int(X509_V_ERR_CERT_HAS_EXPIRED))
        }
    }
}
