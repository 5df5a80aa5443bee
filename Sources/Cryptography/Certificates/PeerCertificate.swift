import CRingwakeOpenSSL

/// A client's certificate together with what its verification came to.
package struct PeerCertificate: Sendable {
    /// What the client sent.
    package let certificate: Certificate
    /// What came of verifying it against the provider CAs.
    package let verification: Verification

    package init(certificate: Certificate, verification: Verification) {
        self.certificate = certificate
        self.verification = verification
    }

    /// The verdict on a client certificate.
    package enum Verification: Equatable, Sendable {
        /// It leads to one of the provider CAs and is valid.
        case trusted
        /// It does not; `reason` is OpenSSL's, for the log. `isExpired`: it would be good but for its dates.
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
    /// Nobody can be trusted where no provider CA was named.
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
