import CRingwakeOpenSSL
import Glibc

/// Reads the single fields of an OpenSSL certificate; a field that is absent or malformed is `nil` or empty.
struct X509Fields {
    /// Maximum names to read. A certificate has few; a hostile one could have thousands.
    private static let maximumNames = 1000

    private let x509: OpaquePointer

    init(_ x509: OpaquePointer) {
        self.x509 = x509
    }

    /// The first entry of the subject with this number (`NID_...`).
    func subject(_ identifier: Int32) -> String? {
        X509_get_subject_name(x509).flatMap { entry(identifier, of: $0) }
    }

    /// The first entry of the issuer with this number.
    func issuer(_ identifier: Int32) -> String? {
        X509_get_issuer_name(x509).flatMap { entry(identifier, of: $0) }
    }

    private func entry(_ identifier: Int32, of name: OpaquePointer) -> String? {
        let index = X509_NAME_get_index_by_NID(name, identifier, -1)
        guard index >= 0, let entry = X509_NAME_get_entry(name, index),
            let value = X509_NAME_ENTRY_get_data(entry)
        else { return nil }
        var text: UnsafeMutablePointer<UInt8>?
        guard let count = Int(exactly: ASN1_STRING_to_UTF8(&text, value)), count >= 0, let text else { return nil }
        defer { ringwake_OPENSSL_free(text) }
        return String(validating: UnsafeBufferPointer(start: text, count: count), as: UTF8.self)
    }

    /// The serial number in hex.
    var serialNumber: String {
        guard let number = ASN1_INTEGER_to_BN(X509_get0_serialNumber(x509), nil) else { return "unreadable" }
        defer { BN_free(number) }
        guard let text = BN_bn2hex(number) else { return "unreadable" }
        defer { ringwake_OPENSSL_free(text) }
        return String(cString: text)
    }

    /// Seconds since 1970, or `nil` for a date that DER does not allow.
    func seconds(_ value: UnsafePointer<ASN1_TIME>?) -> Int64? {
        var fields = tm()
        guard let value, ASN1_TIME_to_tm(value, &fields) == 1 else { return nil }
        return Int64(timegm(&fields))
    }

    /// The DER inside the first extension with this object identifier (dotted); `nil` when it is absent.
    func extensionValue(_ identifier: String) -> [UInt8]? {
        guard let object = OBJ_txt2obj(identifier, 1) else { return nil }
        defer { ASN1_OBJECT_free(object) }
        let index = X509_get_ext_by_OBJ(x509, object, -1)
        guard index >= 0, let found = X509_get_ext(x509, index), let value = X509_EXTENSION_get_data(found),
            let count = Int(exactly: ASN1_STRING_length(value)), count >= 0
        else { return nil }
        return Array(UnsafeBufferPointer(start: ASN1_STRING_get0_data(value), count: count))
    }

    /// Host names and addresses (RFC 5280 section 4.2.1.6); other kinds are skipped.
    var subjectAlternativeNames: [SubjectAlternativeName] {
        guard let der = extensionValue(SubjectAlternativeName.extensionIdentifier) else { return [] }
        var outer = DERReader(der[...])
        guard let content = outer.next(DERReader.Tag.sequence), outer.isAtEnd else { return [] }
        var reader = DERReader(content)
        var names: [SubjectAlternativeName] = []
        while names.count < Self.maximumNames, let element = reader.next() {
            switch element.tag {
            case DERReader.Tag.dnsName:
                if let name = String(validating: element.content, as: UTF8.self) { names.append(.dns(name)) }
            case DERReader.Tag.ipAddress:
                if let name = SubjectAlternativeName(address: Array(element.content)) { names.append(name) }
            default:
                continue
            }
        }
        return names
    }

    /// Apple's extensions.
    var appleExtensions: AppleExtensions {
        var found = AppleExtensions()
        found.isDevelopment = extensionValue(AppleExtensions.Identifier.development) != nil
        found.isProduction = extensionValue(AppleExtensions.Identifier.production) != nil
        if let value = extensionValue(AppleExtensions.Identifier.voIP) {
            found.isVoIP = true
            // Apple's text lets the topics stand in `.4` as well; a plain NULL there is the usual case.
            found.topics = AppleExtensions.topics(der: value) ?? []
        }
        if let value = extensionValue(AppleExtensions.Identifier.topics) {
            if let topics = AppleExtensions.topics(der: value) {
                found.topics += topics.filter { !found.topics.contains($0) }
            } else {
                found.hasMalformedTopics = true
            }
        }
        return found
    }
}
