import CRingwakeOpenSSL

/// A client's certificate with the result of its verification.
package struct PeerCertificate: Sendable {
    /// The certificate that the client sent.
    package let certificate: Certificate
    /// The result of verifying it against the provider CAs.
    package let verification: Verification

    package init(certificate: Certificate, verification: Verification) {
        self.certificate = certificate
        self.verification = verification
    }

    /// The verdict on a client certificate.
    package enum Verification: Equatable, Sendable {
        /// It leads to one of the provider CAs and is valid.
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
