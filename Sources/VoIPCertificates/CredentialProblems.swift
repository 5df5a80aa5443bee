import Cryptography

/// Finds what is wrong with certificates and keys.
enum CredentialProblems {
    /// A certificate that expires in fewer days causes a warning.
    static let warningDays: Int64 = 30

    private typealias Problem = CredentialReport.Problem

    /// The problems of `certificate` alone.
    static func problems(
        of certificate: Certificate, report: CertificateReport, now: Int64
    ) -> [CredentialReport.Problem] {
        let dates = validity(of: certificate, report: report, now: now)
        if report.isProvider { return provider(certificate) + dates }
        if report.kind == .serverCertificate, report.names.isEmpty {
            return [
                Problem(
                    severity: .error, message: "the certificate names no host (no subjectAltName)",
                    hint: "senders check the name; issue it for the host names and addresses of the daemon")
            ] + dates
        }
        return dates
    }

    private static func validity(
        of certificate: Certificate, report: CertificateReport, now: Int64
    ) -> [CredentialReport.Problem] {
        let renewal = "issue or download a new one"
        if report.notBefore == nil || report.notAfter == nil {
            return [Problem(severity: .error, message: "its dates cannot be read", hint: renewal)]
        }
        if now > certificate.notAfter {
            let end = report.notAfter ?? "an unreadable date"
            return [Problem(severity: .error, message: "it expired on \(end)", hint: renewal)]
        }
        if now < certificate.notBefore {
            return [
                Problem(
                    severity: .error, message: "it is not valid before \(report.notBefore ?? "an unreadable date")",
                    hint: "wait until then, or set this machine's clock")
            ]
        }
        if let days = report.daysLeft, days < warningDays {
            return [Problem(severity: .warning, message: "it expires in \(days) days", hint: renewal)]
        }
        return []
    }

    private static func provider(_ certificate: Certificate) -> [CredentialReport.Problem] {
        let apple = certificate.appleExtensions
        var problems: [CredentialReport.Problem] = []
        func add(_ severity: Problem.Severity, _ message: String, _ hint: String) {
            problems.append(Problem(severity: severity, message: message, hint: hint))
        }
        let reissue = "issue it with 'ringwake certs dev-ca', or download a VoIP Services certificate from Apple"
        if let topic = certificate.subjectUserID {
            if !topic.hasSuffix(".voip") {
                add(
                    .warning, "its topic '\(topic)' does not end in '.voip'",
                    "VoIP pushes need the topic BUNDLE-ID.voip; \(reissue)")
            }
            if !apple.topics.isEmpty, !apple.topics.contains(where: { $0.topic == topic }) {
                add(.warning, "its topic '\(topic)' is not among the topics of its extension", reissue)
            }
        } else {
            add(.error, "it has no UID, so no topic", "senders take the topic from the UID; \(reissue)")
        }
        if !apple.isVoIP { add(.warning, "it is not marked as a VoIP Services certificate", reissue) }
        if apple.hasMalformedTopics {
            add(.error, "its topics extension (1.2.840.113635.100.6.3.6) cannot be read", reissue)
        } else if apple.topics.isEmpty {
            add(.warning, "it has no topics extension, so it is good for its UID alone", reissue)
        }
        if !apple.isDevelopment, !apple.isProduction {
            add(.warning, "it names no environment, neither development nor production", reissue)
        }
        if certificate.organizationalUnit == nil {
            add(.error, "it has no OU, so no team", "the daemon admits certificates by team; \(reissue)")
        }
        if !certificate.allowsClientAuthentication {
            add(.error, "its extended key usage does not allow a TLS client", reissue)
        }
        return problems
    }

    /// The problems of the key beside the certificates, or of its absence.
    static func problems(
        of key: CredentialReport.Key?, certificate: CertificateReport?
    ) -> [CredentialReport.Problem] {
        guard let key else {
            guard let certificate, certificate.isProvider else { return [] }
            return [
                Problem(
                    severity: .warning, message: "the file has no private key",
                    hint: "that is enough to look at it; to send pushes, put certificate and key into one PEM or P12")
            ]
        }
        if key.belongsToCertificate == false {
            return [
                Problem(
                    severity: .error, message: "the key in the file is not the certificate's",
                    hint: "put the key beside it that it was issued for")
            ]
        }
        guard certificate == nil else { return [] }
        var problems: [CredentialReport.Problem] = []
        if key.type != PrivateKey.Kind.p256.rawValue {
            problems.append(
                Problem(
                    severity: .warning, message: "provider tokens are signed with EC P-256, and this is \(key.type)",
                    hint: "as the key of a certificate it is fine; for tokens use the P8 of the push service"))
        } else if key.keyID == nil {
            problems.append(
                Problem(
                    severity: .warning, message: "the file name does not say the key id",
                    hint: "as a token key, name it AuthKey_KEYID.p8, or give the id with --key-id"))
        }
        return problems
    }
}
