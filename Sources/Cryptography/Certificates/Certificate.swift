import CRingwakeOpenSSL
package import RingwakeCore

/// An X.509 certificate, read once into plain values.
///
/// Names are the subject's. If a field occurs several times, the first one counts.
package struct Certificate: Sendable {
    /// The certificate in DER.
    package let der: [UInt8]
    /// The public key as DER of SubjectPublicKeyInfo.
    package let publicKeyDER: [UInt8]
    /// Type and size of the key, such as `EC P-256` or `RSA 2048`.
    package let keySummary: String
    /// CN, such as `VoIP Services: com.example.phone`.
    package let subjectCommonName: String?
    /// UID (0.9.2342.19200300.100.1.1): the topic of a provider certificate.
    package let subjectUserID: String?
    /// OU: the team id of a provider certificate.
    package let organizationalUnit: String?
    /// O.
    package let organization: String?
    /// CN of the issuer.
    package let issuerCommonName: String?
    /// O of the issuer.
    package let issuerOrganization: String?
    /// The serial number in upper-case hex digits; negative ones, which are forbidden but occur, with a sign.
    package let serialNumber: String
    /// First second of validity, since 1970 in UTC; `Int64.max` for a date that cannot be read (never valid).
    package let notBefore: Int64
    /// Last second of validity, since 1970 in UTC; `Int64.min` for a date that cannot be read (never valid).
    package let notAfter: Int64
    /// Host names and addresses that a server certificate is for.
    package let subjectAlternativeNames: [SubjectAlternativeName]
    /// Whether it may sign certificates (basicConstraints).
    package let isCA: Bool
    /// Whether TLS takes it from a client: extended key usage clientAuth, or none at all.
    package let allowsClientAuthentication: Bool
    /// Whether TLS takes it from a server: extended key usage serverAuth, or none at all.
    package let allowsServerAuthentication: Bool
    /// Whether it is signed with its own key.
    package let isSelfSigned: Bool
    /// Apple's extensions.
    package let appleExtensions: AppleExtensions

    /// Reads the first certificate of a PEM text.
    ///
    /// - Throws: `badCredential` when there is none, or one that cannot be read.
    package init(pem: [UInt8]) throws(RingwakeError) {
        guard let first = try Self.all(pem: pem).first else { throw .openSSL("read a certificate") }
        self = first
    }

    /// Reads a certificate in DER.
    ///
    /// - Throws: `badCredential` when the bytes are no certificate, or more than one.
    package init(der: [UInt8]) throws(RingwakeError) {
        let decoded = decodeDER(der) { d2i_X509(nil, $0, $1) }
        guard let parsed = X509Reference(decoded?.pointer), decoded?.isWhole == true,
            let certificate = Certificate(parsed)
        else {
            throw RingwakeError(
                .badCredential,
                "The bytes are no DER certificate: \(OpenSSLErrors.drainText(fallback: "bytes follow it")); "
                    + "name a file with one X.509 certificate.")
        }
        self = certificate
    }

    /// Every certificate of a PEM text, in order; keys and other blocks are skipped.
    ///
    /// - Throws: `badCredential` when there is none, or one that cannot be read.
    package static func all(pem: [UInt8]) throws(RingwakeError) -> [Certificate] {
        var certificates: [Certificate] = []
        for reference in try PEM.certificates(in: pem, name: "certificate") {
            guard let certificate = Certificate(reference) else { throw .openSSL("read a certificate") }
            certificates.append(certificate)
        }
        return certificates
    }

    /// Reads OpenSSL's certificate; `nil` when it cannot be encoded (no memory).
    init?(_ reference: X509Reference) {
        guard let certificate = reference.withPointer({ Certificate(x509: $0) }) else { return nil }
        self = certificate
    }

    /// Reads OpenSSL's certificate, which the caller keeps; `nil` when it cannot be encoded (no memory).
    init?(x509: OpaquePointer) {
        OpenSSLErrors.clear()
        defer { OpenSSLErrors.clear() }
        guard let der = PEM.der({ i2d_X509(x509, $0) }), let key = X509_get_X509_PUBKEY(x509),
            let publicKeyDER = PEM.der({ i2d_X509_PUBKEY(key, $0) })
        else { return nil }
        self.der = der
        self.publicKeyDER = publicKeyDER
        keySummary = X509_get0_pubkey(x509).map(KeySummary.describe) ?? "unknown"
        let fields = X509Fields(x509)
        subjectCommonName = fields.subject(NID_commonName)
        subjectUserID = fields.subject(NID_userId)
        organizationalUnit = fields.subject(NID_organizationalUnitName)
        organization = fields.subject(NID_organizationName)
        issuerCommonName = fields.issuer(NID_commonName)
        issuerOrganization = fields.issuer(NID_organizationName)
        serialNumber = fields.serialNumber
        notBefore = fields.seconds(X509_get0_notBefore(x509)) ?? .max
        notAfter = fields.seconds(X509_get0_notAfter(x509)) ?? .min
        subjectAlternativeNames = fields.subjectAlternativeNames
        isCA = X509_check_ca(x509) == 1
        allowsClientAuthentication = X509_get_extended_key_usage(x509) & UInt32(XKU_SSL_CLIENT) != 0
        allowsServerAuthentication = X509_get_extended_key_usage(x509) & UInt32(XKU_SSL_SERVER) != 0
        isSelfSigned = X509_self_signed(x509, 1) == 1
        appleExtensions = fields.appleExtensions
    }

    /// The PEM of a file of CAs. Apple offers its CAs in DER, one in a file; everything else stays as it is.
    ///
    /// - Throws: `badCredential` for DER that is no certificate.
    package static func pem(ofFile bytes: [UInt8]) throws(RingwakeError) -> [UInt8] {
        // A certificate is longer than 127 bytes, so its second byte is no character of a PEM text.
        let isDER = bytes.count > 1 && bytes[0] == DERReader.Tag.sequence && bytes[1] >= 0x80
        return isDER ? try Certificate(der: bytes).pem : bytes
    }

    /// The certificate as PEM.
    package var pem: [UInt8] {
        get throws(RingwakeError) {
            let certificate = try parsed()
            return try PEM.text(operation: "write a certificate") { output in
                certificate.withPointer { PEM_write_bio_X509(output, $0) }
            }
        }
    }

    /// SHA-256 of the DER, 32 bytes: the fingerprint that `openssl x509 -fingerprint -sha256` shows.
    package var sha256Fingerprint: [UInt8] {
        SHA256.digest(der)
    }

    /// Whole days from `now` (seconds since 1970) to the last second of validity, rounded down: 0 on the last day, -1 a
    /// second after it. Nil for a date that cannot be read.
    package func daysLeft(at now: Int64) -> Int64? {
        let secondsPerDay: Int64 = 86_400
        let (seconds, isOverflow) = notAfter.subtractingReportingOverflow(now)
        guard !isOverflow else { return nil }
        let (days, rest) = seconds.quotientAndRemainder(dividingBy: secondsPerDay)
        return rest < 0 ? days - 1 : days
    }

    /// Whether `authority` issued it: names, key identifiers and signature fit. Dates don't matter.
    package func isIssued(by authority: Certificate) throws(RingwakeError) -> Bool {
        let (own, issuer) = (try parsed(), try authority.parsed())
        defer { OpenSSLErrors.clear() }
        return own.withPointer { own in
            issuer.withPointer { issuer in
                X509_check_issued(issuer, own) == X509_V_OK && X509_verify(own, X509_get0_pubkey(issuer)) == 1
            }
        }
    }

    /// Whether it names Apple as its issuer: O of every CA of Apple's (apple.com/certificateauthority). Only a verified
    /// chain proves that.
    package var namesAppleAsIssuer: Bool { issuerOrganization == "Apple Inc." }

    /// A name for messages: the common name, else the UID, else the serial number.
    package var title: String {
        subjectCommonName ?? subjectUserID ?? "serial number \(serialNumber)"
    }

    /// The certificate as an object of OpenSSL.
    func parsed() throws(RingwakeError) -> X509Reference {
        let parsed = X509Reference(decodeDER(der) { d2i_X509(nil, $0, $1) }?.pointer)
        guard let parsed else { throw .openSSL("read a certificate") }
        return parsed
    }
}
