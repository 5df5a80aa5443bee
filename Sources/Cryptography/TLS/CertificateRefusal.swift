import CRingwakeOpenSSL
import FoundationEssentials
import Glibc

/// Says why a server's certificate is refused, for people. Each text is the end of "the server's certificate is refused: ".
struct CertificateRefusal {
    /// The name or address that the server was asked by.
    let name: SubjectAlternativeName
    /// The time that certificates were judged at, in seconds since 1970.
    let judgedAt: Int64

    /// Maximum alternative names in a reason.
    private static let maximumNames = 4
    /// The seconds since 1970 that have a date of four digits.
    private static let datedSeconds = ProviderToken.issuedAtRange

    /// Why OpenSSL has refused the chain in `store`.
    func reason(_ store: OpaquePointer, leaf: OpaquePointer) -> String {
        let error = X509_STORE_CTX_get_error(store)
        // The one that the check failed at, perhaps an intermediate.
        let failed = X509_STORE_CTX_get_current_cert(store) ?? leaf
        switch error {
        case X509_V_ERR_CERT_HAS_EXPIRED:
            let end = Certificate(x509: failed).map { Self.date($0.notAfter) } ?? "an unknown date"
            return "\(Self.describe(failed)) has expired on \(end), and it is \(Self.date(judgedAt)) here; "
                + "renew it at the server, or set the clock of this device"
        case X509_V_ERR_CERT_NOT_YET_VALID:
            let start = Certificate(x509: failed).map { Self.date($0.notBefore) } ?? "an unknown date"
            return "\(Self.describe(failed)) is not yet valid: it begins on \(start), and it is "
                + "\(Self.date(judgedAt)) here; set the clock of this device"
        case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT, X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT_LOCALLY,
            X509_V_ERR_SELF_SIGNED_CERT_IN_CHAIN, X509_V_ERR_DEPTH_ZERO_SELF_SIGNED_CERT,
            X509_V_ERR_UNABLE_TO_VERIFY_LEAF_SIGNATURE, X509_V_ERR_CERT_UNTRUSTED:
            return "its issuer is unknown: \(Self.describe(failed)) is issued by \(Self.issuer(of: failed)), which "
                + "isn't a trusted CA here; trust that CA, or pair with a pin"
        default:
            return commonReason(error, leaf: leaf) ?? "\(Self.describe(failed)): \(Self.text(error))"
        }
    }

    /// Why the leaf doesn't lead to `anchor`, which has the pinned key.
    func reason(pinnedTo anchor: OpaquePointer, leaf: OpaquePointer, _ error: Int32) -> String {
        commonReason(error, leaf: leaf)
            ?? ("it shows the CA with the pinned key (\(Self.describe(anchor))), but its own certificate "
                + "(\(Self.describe(leaf))) isn't issued by that CA: \(Self.text(error)); this is another server")
    }

    /// The name or address of a certificate doesn't fit, with any trust.
    private func commonReason(_ error: Int32, leaf: OpaquePointer) -> String? {
        guard error == X509_V_ERR_HOSTNAME_MISMATCH || error == X509_V_ERR_IP_ADDRESS_MISMATCH else { return nil }
        let names = Certificate(x509: leaf)?.subjectAlternativeNames ?? []
        let shown = names.prefix(Self.maximumNames).map { "'\($0)'" }.joined(separator: ", ")
        let others = names.count > Self.maximumNames ? " and \(names.count - Self.maximumNames) more" : ""
        return "it is for \(names.isEmpty ? "no name" : shown + others), not for the name '\(name)'"
    }

    /// A certificate by its name.
    static func describe(_ certificate: OpaquePointer) -> String {
        Certificate(x509: certificate).map { "'\($0.title)'" } ?? "a certificate"
    }

    private static func issuer(of certificate: OpaquePointer) -> String {
        guard let parsed = Certificate(x509: certificate) else { return "somebody" }
        if parsed.isSelfSigned { return "itself" }
        return (parsed.issuerCommonName ?? parsed.issuerOrganization).map { "'\($0)'" } ?? "a CA without a name"
    }

    private static func text(_ error: Int32) -> String {
        String(cString: X509_verify_cert_error_string(Int(error)))
    }

    private static func date(_ seconds: Int64) -> String {
        guard datedSeconds.contains(seconds) else { return "an unknown date" }
        return Date(timeIntervalSince1970: Double(seconds)).formatted(.iso8601)
    }
}
