import Cryptography
import RingwakeCore

/// Finds what is wrong with the certificates and keys of one file.
struct CredentialProblems {
    /// The file's name, as it was given.
    let file: String
    /// Seconds since 1970.
    let now: Int64

    private typealias Problem = CredentialProblem

    /// The problems of `certificate` alone.
    func problems(of certificate: Certificate, kind: CredentialReport.Kind) -> [CredentialProblem] {
        switch kind {
        case .voIPProviderCertificate, .providerCertificate: provider(certificate) + validity(of: certificate)
        case .serverCertificate: server(certificate) + validity(of: certificate)
        default: validity(of: certificate)
        }
    }

    /// The problems with the dates of `certificate`.
    func validity(of certificate: Certificate) -> [CredentialProblem] {
        let renewal = "renew it where it was issued, with 'ringwake certs renew' for a development CA"
        let (start, end) = (CertificateReport.text(secondsSince1970: certificate.notBefore), end(of: certificate))
        guard let start, let end else {
            return [problem(.invalidDates, .error, "its dates cannot be read", renewal)]
        }
        if now > certificate.notAfter { return [problem(.expired, .error, "it expired on \(end)", renewal)] }
        if now < certificate.notBefore {
            return [
                problem(
                    .notYetValid, .error, "it is not valid before \(start)",
                    "wait until then, or set this machine's clock")
            ]
        }
        if let days = certificate.daysLeft(at: now), days < Problem.warningDays {
            return [problem(.endsSoon, .warning, "it expires in \(days) days", renewal)]
        }
        return []
    }

    /// The problems of `certificate` as a server's.
    func server(_ certificate: Certificate) -> [CredentialProblem] {
        var problems: [CredentialProblem] = []
        if certificate.subjectAlternativeNames.isEmpty {
            problems.append(
                problem(
                    .noNames, .error, "the certificate names no host (no subjectAltName)",
                    "senders check the name; issue it for the host names and addresses of the daemon"))
        }
        if !certificate.allowsServerAuthentication {
            problems.append(
                problem(
                    .noServerPurpose, .error, "its extended key usage does not allow a TLS server",
                    "senders refuse it; have it issued with the usage serverAuth"))
        }
        return problems
    }

    private func end(of certificate: Certificate) -> String? {
        CertificateReport.text(secondsSince1970: certificate.notAfter)
    }

    private func problem(
        _ kind: CredentialProblem.Kind, _ severity: CredentialProblem.Severity, _ message: String, _ hint: String
    ) -> CredentialProblem {
        CredentialProblem(file: file, kind, severity, message: message, hint: hint)
    }

    private func provider(_ certificate: Certificate) -> [CredentialProblem] {
        let apple = certificate.appleExtensions
        var problems: [CredentialProblem] = []
        func add(
            _ kind: CredentialProblem.Kind, _ severity: Problem.Severity, _ message: String, _ hint: String
        ) {
            problems.append(problem(kind, severity, message, hint))
        }
        let reissue = "issue it with 'ringwake certs dev-ca', or download a VoIP Services certificate from Apple"
        if let topic = certificate.subjectUserID {
            if !topic.hasSuffix(".voip") {
                add(
                    .wrongTopic, .warning, "its topic '\(topic)' does not end in '.voip'",
                    "VoIP pushes need the topic BUNDLE-ID.voip; \(reissue)")
            }
            if !apple.topics.isEmpty, !apple.topics.contains(where: { $0.topic == topic }) {
                add(.wrongTopic, .warning, "its topic '\(topic)' is not among the topics of its extension", reissue)
            }
        } else {
            add(.noTopic, .error, "it has no UID, so no topic", "senders take the topic from the UID; \(reissue)")
        }
        if certificate.namesAppleAsIssuer, !apple.isForPushes {
            add(.notMarked, .error, "Apple issued it for something else than pushes", reissue)
        }
        if !apple.isVoIP { add(.notMarked, .warning, "it is not marked as a VoIP Services certificate", reissue) }
        if apple.hasMalformedTopics {
            add(
                .noTopic, .error, "its topics extension (1.2.840.113635.100.6.3.6) cannot be read", reissue)
        } else if apple.topics.isEmpty {
            add(.notMarked, .warning, "it has no topics extension, so it is good for its UID alone", reissue)
        }
        if !apple.isDevelopment, !apple.isProduction {
            add(.notMarked, .warning, "it names no environment, neither development nor production", reissue)
        }
        if certificate.organizationalUnit == nil {
            add(.noTeam, .error, "it has no OU, so no team", "the daemon admits certificates by team; \(reissue)")
        }
        if !certificate.allowsClientAuthentication {
            add(.noClientPurpose, .error, "its extended key usage does not allow a TLS client", reissue)
        }
        return problems
    }

    /// The problems of the key beside the certificates, or of its absence.
    func problems(
        of key: CredentialReport.Key?, certificate: CertificateReport?
    ) -> [CredentialProblem] {
        guard let key else {
            guard let certificate, certificate.isProvider else { return [] }
            return [
                problem(
                    .noKey, .warning, "the file has no private key",
                    "that is enough to look at it; to send pushes, put certificate and key into one PEM or P12")
            ]
        }
        if key.belongsToCertificate == false {
            return [
                problem(
                    .otherKey, .error, "the key in the file is not the certificate's",
                    "put the key beside it that it was issued for")
            ]
        }
        guard certificate == nil else { return [] }
        if key.type != PrivateKey.Kind.p256.rawValue {
            return [
                problem(
                    .wrongKeyType, .warning, "provider tokens are signed with EC P-256, and this is \(key.type)",
                    "as the key of a certificate it is fine; for tokens use the P8 of the push service")
            ]
        }
        if key.keyID == nil {
            return [
                problem(
                    .noKeyID, .warning, "the file name does not say the key id",
                    "as a token key, name it AuthKey_KEYID.p8, or give the id with --key-id")
            ]
        }
        return []
    }
}
