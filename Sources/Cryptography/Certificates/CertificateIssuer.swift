import CRingwakeOpenSSL
package import RingwakeCore

/// A certificate authority: a CA certificate and its key.
///
///     let issuer = try CertificateIssuer(certificate: ca, key: caKey)
///     let certificate = try issuer.issue(template, for: key)
package final class CertificateIssuer {
    private static let version3 = 2
    /// The size of a serial number, in bytes: random, so that nobody can predict what gets signed.
    private static let serialNumberBytes = 16

    /// The CA's certificate.
    package let certificate: Certificate
    private let parsed: X509Reference
    private let key: PrivateKey

    /// - Throws: `badCredential` if the certificate isn't a CA's, or the key doesn't belong to it.
    package init(certificate: Certificate, key: PrivateKey) throws(RingwakeError) {
        guard certificate.isCA else {
            throw RingwakeError(
                .badCredential,
                "'\(certificate.title)' is no CA certificate and cannot sign others; name the CA's certificate, "
                    + "or make one with 'ringwake certs dev-ca'.")
        }
        guard key.isKey(of: certificate) else {
            throw RingwakeError(
                .badCredential,
                "The CA's private key does not belong to its certificate ('\(certificate.title)'); "
                    + "name the pair that was made together.")
        }
        self.certificate = certificate
        self.key = key
        parsed = try certificate.parsed()
    }

    /// A certificate for `subjectKey`, signed by this CA.
    ///
    /// - Throws: `invalidRequest` for a template that X.509 cannot express.
    package func issue(
        _ template: CertificateTemplate, for subjectKey: PrivateKey
    ) throws(RingwakeError) -> Certificate {
        try Self.sign(template, subjectKey: subjectKey, issuer: parsed, signingKey: key)
    }

    /// A certificate that signs itself: a new CA.
    ///
    /// - Throws: `invalidRequest` for a template that X.509 cannot express.
    package static func selfSigned(
        _ template: CertificateTemplate, key: PrivateKey
    ) throws(RingwakeError) -> Certificate {
        try sign(template, subjectKey: key, issuer: nil, signingKey: key)
    }

    /// `certificate` again for other dates: same subject, key and extensions, a new serial number.
    ///
    /// The caller makes sure that this CA issued it; the CA's own certificate is renewed by itself.
    ///
    /// - Parameters:
    ///   - notBefore: first second of validity, since 1970.
    ///   - notAfter: last second of validity, since 1970.
    /// - Throws: `invalidRequest` for dates that X.509 cannot express.
    package func reissue(
        _ certificate: Certificate, notBefore: Int64, notAfter: Int64
    ) throws(RingwakeError) -> Certificate {
        OpenSSLErrors.clear()
        let present = try certificate.parsed()
        let draft = try OwnedPointer(
            present.withPointer { X509_dup($0) }, freedBy: X509_free, operation: "renew a certificate")
        try Self.setSerialNumber(of: draft.pointer)
        try Self.setValidity(of: draft.pointer, from: notBefore, to: notAfter)
        guard key.withPointer({ X509_sign(draft.pointer, $0, EVP_sha256()) }) > 0,
            let renewed = Certificate(x509: draft.pointer)
        else { throw .openSSL("sign a certificate") }
        return renewed
    }

    private static func sign(
        _ template: CertificateTemplate, subjectKey: PrivateKey, issuer: X509Reference?, signingKey: PrivateKey
    ) throws(RingwakeError) -> Certificate {
        OpenSSLErrors.clear()
        let draft = try OwnedPointer(X509_new(), freedBy: X509_free, operation: "make a certificate")
        guard X509_set_version(draft.pointer, version3) == 1,
            subjectKey.withPointer({ X509_set_pubkey(draft.pointer, $0) }) == 1,
            let publicKeyDER = subjectKey.publicKeyDER
        else { throw .openSSL("make a certificate") }
        try setSerialNumber(of: draft.pointer)
        try setValidity(of: draft.pointer, from: template.notBefore, to: template.notAfter)
        let subject = try template.subject.makeName()
        let isIssuerSet =
            issuer?.withPointer { X509_set_issuer_name(draft.pointer, X509_get_subject_name($0)) }
            ?? X509_set_issuer_name(draft.pointer, subject.pointer)
        guard X509_set_subject_name(draft.pointer, subject.pointer) == 1, isIssuerSet == 1 else {
            throw .openSSL("name the subject of a certificate")
        }
        let extensions = try CertificateExtensions.all(
            for: template.role, publicKeyDER: publicKeyDER, issuerKeyIdentifier: issuer.flatMap(keyIdentifier))
        for addition in extensions {
            try add(addition, to: draft.pointer)
        }
        guard signingKey.withPointer({ X509_sign(draft.pointer, $0, EVP_sha256()) }) > 0,
            let certificate = Certificate(x509: draft.pointer)
        else { throw .openSSL("sign a certificate") }
        return certificate
    }

    /// The subject key identifier of a certificate; `nil` when it has none.
    private static func keyIdentifier(of certificate: X509Reference) -> [UInt8]? {
        certificate.withPointer { pointer in
            guard let value = X509_get0_subject_key_id(pointer), let bytes = ASN1_STRING_get0_data(value),
                let count = Int(exactly: ASN1_STRING_length(value))
            else { return nil }
            return Array(UnsafeBufferPointer(start: bytes, count: count))
        }
    }

    private static func setSerialNumber(of draft: OpaquePointer) throws(RingwakeError) {
        let bytes = try SecureRandom.bytes(serialNumberBytes)
        guard let number = BN_bin2bn(bytes, Int32(bytes.count), nil) else { throw .openSSL("number a certificate") }
        defer { BN_free(number) }
        guard let serial = BN_to_ASN1_INTEGER(number, nil) else { throw .openSSL("number a certificate") }
        defer { ASN1_INTEGER_free(serial) }
        guard X509_set_serialNumber(draft, serial) == 1 else { throw .openSSL("number a certificate") }
    }

    private static func setValidity(
        of draft: OpaquePointer, from first: Int64, to last: Int64
    ) throws(RingwakeError) {
        guard first <= last, let notBefore = ASN1_TIME_set(nil, Int(first)) else { throw invalidDates(first, last) }
        defer { ASN1_TIME_free(notBefore) }
        guard let notAfter = ASN1_TIME_set(nil, Int(last)) else { throw invalidDates(first, last) }
        defer { ASN1_TIME_free(notAfter) }
        guard X509_set1_notBefore(draft, notBefore) == 1, X509_set1_notAfter(draft, notAfter) == 1 else {
            throw .openSSL("date a certificate")
        }
    }

    private static func invalidDates(_ first: Int64, _ last: Int64) -> RingwakeError {
        OpenSSLErrors.clear()
        return RingwakeError(
            .invalidRequest,
            "A certificate cannot be valid from \(first) to \(last) (seconds since 1970); "
                + "give a first date before the last, both within the years 0 to 9999.")
    }

    private static func add(_ addition: CertificateExtension, to draft: OpaquePointer) throws(RingwakeError) {
        guard let object = OBJ_txt2obj(addition.identifier, 1) else { throw .openSSL("extend a certificate") }
        defer { ASN1_OBJECT_free(object) }
        guard let value = ASN1_OCTET_STRING_new() else { throw .openSSL("extend a certificate") }
        defer { ASN1_OCTET_STRING_free(value) }
        guard ASN1_OCTET_STRING_set(value, addition.der, Int32(addition.der.count)) == 1,
            let made = OwnedPointer(
                X509_EXTENSION_create_by_OBJ(nil, object, addition.isCritical ? 1 : 0, value),
                freedBy: X509_EXTENSION_free),
            X509_add_ext(draft, made.pointer, -1) == 1
        else { throw .openSSL("extend a certificate") }
    }
}
