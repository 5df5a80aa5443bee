import Cryptography
import RingwakeCore

/// The contents of one certificate, in plain values.
package struct CertificateReport: Codable, Equatable, Sendable {
    /// A topic with its purposes.
    package struct CertifiedTopic: Codable, Equatable, Sendable {
        package let topic: String
        package let purposes: [String]
    }

    /// What it is for.
    package let kind: CredentialReport.Kind
    /// CN of the subject.
    package let commonName: String?
    /// UID of the subject: the topic that counts when a push names none.
    package let userID: String?
    /// OU of the subject.
    package let teamID: String?
    /// O of the subject.
    package let organization: String?
    /// CN of the issuer.
    package let issuer: String?
    /// Whether it signed itself.
    package let isSelfSigned: Bool
    /// In hex digits.
    package let serialNumber: String
    /// The topics of Apple's extension.
    package let topics: [CertifiedTopic]
    /// `development`, `production`; empty for certificates without Apple's extensions.
    package let environments: [String]
    /// Host names and addresses of a server certificate.
    package let names: [String]
    /// First second of validity, RFC 3339; `nil` when the date cannot be read.
    package let notBefore: String?
    /// Last second of validity, RFC 3339; `nil` when the date cannot be read.
    package let notAfter: String?
    /// Whole days until it expires, negative once it has.
    package let daysLeft: Int64?
    /// Type and size of its key.
    package let keyType: String
    /// SHA-256 of the DER, as `openssl x509 -fingerprint -sha256` writes it.
    package let sha256Fingerprint: String

    /// - Parameter now: seconds since 1970.
    init(_ certificate: Certificate, now: Int64) {
        let apple = certificate.appleExtensions
        kind = Self.kind(of: certificate)
        commonName = certificate.subjectCommonName
        userID = certificate.subjectUserID
        teamID = certificate.organizationalUnit
        organization = certificate.organization
        issuer = certificate.issuerCommonName
        isSelfSigned = certificate.isSelfSigned
        serialNumber = certificate.serialNumber
        topics = apple.topics.map { CertifiedTopic(topic: $0.topic, purposes: $0.purposes) }
        environments = (apple.isDevelopment ? ["development"] : []) + (apple.isProduction ? ["production"] : [])
        names = certificate.subjectAlternativeNames.map(\.description)
        notBefore = Self.text(secondsSince1970: certificate.notBefore)
        notAfter = Self.text(secondsSince1970: certificate.notAfter)
        daysLeft = certificate.daysLeft(at: now)
        keyType = certificate.keySummary
        sha256Fingerprint = certificate.sha256Fingerprint
            .map { encodeHex([$0]).uppercased() }.joined(separator: ":")
    }

    /// As in `2026-11-21T07:29:00Z` (RFC 3339); nil outside the years 1 to 9999.
    static func text(secondsSince1970 seconds: Int64) -> String? {
        guard (-62_135_596_800...253_402_300_799).contains(seconds) else { return nil }
        return GregorianDate.text(secondsSince1970: seconds) + "Z"
    }

    /// The purpose of a certificate, by its contents.
    private static func kind(of certificate: Certificate) -> CredentialReport.Kind {
        let apple = certificate.appleExtensions
        if certificate.isCA { return .authorityCertificate }
        if apple.isVoIP { return .voIPProviderCertificate }
        let isApple = apple.isDevelopment || apple.isProduction || !apple.topics.isEmpty || apple.hasMalformedTopics
        if isApple || certificate.subjectUserID != nil { return .providerCertificate }
        let isServer = !certificate.allowsClientAuthentication || !certificate.subjectAlternativeNames.isEmpty
        return isServer ? .serverCertificate : .providerCertificate
    }

    var isProvider: Bool {
        kind == .voIPProviderCertificate || kind == .providerCertificate
    }

    /// The certificate for people, line by line.
    package var lines: [String] {
        var lines: [String] = []
        func add(_ label: String, _ value: String?) {
            if let value, !value.isEmpty { lines.append(CredentialReport.line(label, Self.printable(value))) }
        }
        add("subject", commonName)
        if isProvider { add("topic (UID)", userID ?? "none") }
        if isProvider { add("team (OU)", teamID ?? "none") }
        add("organization", organization)
        add(
            "topics",
            topics.map { "\($0.topic) (\($0.purposes.joined(separator: ", ")))" }.joined(separator: ", "))
        if isProvider { add("environments", environments.isEmpty ? "none" : environments.joined(separator: ", ")) }
        add("names", names.joined(separator: ", "))
        add("issuer", isSelfSigned ? "itself" : issuer)
        add("valid", "\(notBefore ?? "unreadable") to \(notAfter ?? "unreadable")\(remaining)")
        add("key", keyType)
        add("serial number", serialNumber)
        add("SHA-256", sha256Fingerprint)
        return lines
    }

    private var remaining: String {
        guard let daysLeft else { return "" }
        return daysLeft < 0 ? " (expired)" : daysLeft == 1 ? " (1 day left)" : " (\(daysLeft) days left)"
    }

    /// Names are untrusted text: control characters could control the terminal.
    private static func printable(_ text: String) -> String {
        String(
            String.UnicodeScalarView(
                text.unicodeScalars.map { scalar in
                    switch scalar.properties.generalCategory {
                    case .control, .format, .lineSeparator, .paragraphSeparator: "\u{FFFD}"
                    default: scalar
                    }
                }))
    }
}
