/// The contents of a certificate to be issued.
package struct CertificateTemplate: Sendable {
    /// The subject, in the order of Apple's certificates.
    package struct Subject: Equatable, Sendable {
        /// UID: the topic of a provider certificate.
        package var userID: String?
        /// CN.
        package var commonName: String
        /// OU: the team id of a provider certificate.
        package var organizationalUnit: String?
        /// O.
        package var organization: String?
        /// C: two letters.
        package var country: String?

        package init(
            userID: String? = nil, commonName: String, organizationalUnit: String? = nil,
            organization: String? = nil, country: String? = nil
        ) {
            self.userID = userID
            self.commonName = commonName
            self.organizationalUnit = organizationalUnit
            self.organization = organization
            self.country = country
        }
    }

    /// What the certificate is for.
    package enum Role: Equatable, Sendable {
        /// Signs certificates, none of which may sign further ones.
        case authority
        /// A TLS server with these names.
        case server([SubjectAlternativeName])
        /// A provider: a TLS client with Apple's extensions.
        case provider(AppleExtensions)
    }

    /// Whom the certificate names.
    package var subject: Subject
    /// What it is for.
    package var role: Role
    /// First second of validity, since 1970 in UTC.
    package var notBefore: Int64
    /// Last second of validity, since 1970 in UTC.
    package var notAfter: Int64

    package init(subject: Subject, role: Role, notBefore: Int64, notAfter: Int64) {
        self.subject = subject
        self.role = role
        self.notBefore = notBefore
        self.notAfter = notAfter
    }
}
