import CRingwakeOpenSSL
package import RingwakeCore

/// A request to a CA for a certificate (PKCS#10, RFC 2986).
package enum CertificateRequest {
    /// 0 stands for the only version (RFC 2986 section 4.1).
    private static let version = 0

    /// A request for `key`, signed with it, as PEM.
    ///
    /// - Throws: `invalidRequest` for a subject that X.509 cannot express.
    package static func pem(
        subject: CertificateTemplate.Subject, key: PrivateKey
    ) throws(RingwakeError) -> [UInt8] {
        let operation = "make a certificate request"
        OpenSSLErrors.clear()
        let name = try subject.makeName()
        let draft = try OwnedPointer(X509_REQ_new(), freedBy: X509_REQ_free, operation: operation)
        guard X509_REQ_set_version(draft.pointer, version) == 1,
            X509_REQ_set_subject_name(draft.pointer, name.pointer) == 1,
            key.withPointer({ X509_REQ_set_pubkey(draft.pointer, $0) }) == 1,
            key.withPointer({ X509_REQ_sign(draft.pointer, $0, EVP_sha256()) }) > 0
        else { throw .openSSL(operation) }
        return try PEM.text(operation: operation) { output in PEM_write_bio_X509_REQ(output, draft.pointer) }
    }
}

extension CertificateTemplate.Subject {
    /// The subject as an object of OpenSSL.
    func makeName() throws(RingwakeError) -> OwnedPointer {
        let name = try OwnedPointer(X509_NAME_new(), freedBy: X509_NAME_free, operation: "name a subject")
        let entries: [(Int32, String?)] = [
            (NID_userId, userID), (NID_commonName, commonName),
            (NID_organizationalUnitName, organizationalUnit), (NID_organizationName, organization),
            (NID_countryName, country),
        ]
        for case (let identifier, let text?) in entries {
            let bytes = Array(text.utf8)
            // A country is a PrintableString of two letters, which OpenSSL checks. The other fields skip OpenSSL's
            // limit of 64 characters: a common name contains a bundle id, which may be longer.
            let type = identifier == NID_countryName ? MBSTRING_UTF8 : V_ASN1_UTF8STRING
            guard !bytes.isEmpty, let count = Int32(exactly: bytes.count),
                X509_NAME_add_entry_by_NID(name.pointer, identifier, type, bytes, count, -1, 0) == 1
            else {
                let reason = OpenSSLErrors.drainText(fallback: "it is empty")
                throw RingwakeError(
                    .invalidRequest,
                    "'\(text)' cannot stand in the subject of a certificate: \(reason); "
                        + "give text, and a country as two letters.")
            }
        }
        return name
    }
}
