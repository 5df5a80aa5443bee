import CRingwakeOpenSSL
import RingwakeCore

@testable import Cryptography

/// Certificates of senders, and files that a person imports.
enum CertificateHarness {
    static let der = Harness("certificate-der", maximumBytes: 4096, made: { try credentials.get().map(\.1.der) }) {
        input in
        guard let certificate = try? Certificate(der: input) else { return false }
        try check(certificate)
        return true
    }

    static let pem = Harness(
        "certificate-pem", maximumBytes: 8192, made: { try credentials.get().map { try $0.1.pem } }
    ) {
        input in
        guard let certificates = try? Certificate.all(pem: input) else { return false }
        for certificate in certificates { try check(certificate) }
        _ = try? P256PublicKey(pem: input)
        return true
    }

    /// Apple's topics. What is accepted is DER, which has one form of each value.
    static let topics = Harness("apple-topics") { input in
        guard let topics = AppleExtensions.topics(der: input) else { return false }
        let written = DERWriter.sequence(
            of: topics.flatMap {
                [DERWriter.utf8String($0.topic), DERWriter.sequence(of: $0.purposes.map(DERWriter.utf8String))]
            })
        try requireEqual(written, input, "topics have two forms")
        return true
    }

    private static let password = "correct horse"

    /// As it came, and with the MAC that its password makes: the rest of a file is not read before.
    static let pkcs12 = Harness("pkcs12", maximumBytes: 4096, made: { try pkcs12Files.get() }, holdsKeys: true) {
        input in
        let isLegacy = PKCS12.isLegacy(input)
        try require(PKCS12.looksLikePKCS12(input) || !isRead(input), "a file is read that is none")
        guard let signed = withMAC(input) else { return isLegacy && isRead(input) }
        guard let contents = try? PKCS12.read(signed, password: password) else { return false }
        try check(contents.certificate)
        for link in contents.chain { try check(link) }
        guard contents.key.isKey(of: contents.certificate) else { return true }
        let written = try PKCS12.write(
            key: contents.key, certificate: contents.certificate, chain: contents.chain, friendlyName: "fuzz",
            password: password, legacy: isLegacy)
        let again = try PKCS12.read(written, password: password)
        try requireEqual(again.certificate.der, contents.certificate.der, "a certificate changed when it was written")
        let isChainKept = isLegacy || again.chain.map(\.der) == contents.chain.map(\.der)
        try require(isChainKept, "a chain changed when it was written")
        return true
    }

    /// Private and public keys in PEM, and in DER.
    static let keys = Harness("keys", maximumBytes: 4096, made: { try keyFiles.get() }, holdsKeys: true) { input in
        _ = try? P256PublicKey(pem: input)
        _ = try? P256PrivateKey(pem: input)
        var isRead = false
        for key in [try? PrivateKey(pem: input), try? PrivateKey(der: input)] {
            guard let key, let pem = try? key.pem, let publicKey = key.publicKeyDER else { continue }
            isRead = true
            let again = try PrivateKey(pem: pem)
            try requireEqual(again.publicKeyDER, publicKey, "a key changed when it was written")
            try requireEqual(again.summary, key.summary, "a key's summary changed when it was written")
        }
        return isRead
    }

    // MARK: - What is made

    /// A server's, a provider's and an authority's, of both kinds of keys.
    private static let credentials = Result {
        let topics = [
            AppleExtensions.CertifiedTopic(topic: "com.example.phone", purposes: ["app"]),
            AppleExtensions.CertifiedTopic(topic: "com.example.phone.voip", purposes: ["voip"]),
        ]
        let apple = AppleExtensions(isDevelopment: true, isProduction: true, isVoIP: true, topics: topics)
        let roles: [CertificateTemplate.Role] = [
            .authority, .server([SubjectAlternativeName("localhost"), SubjectAlternativeName("::1")]), .provider(apple),
        ]
        return try zip(roles, [PrivateKey.Kind.p256, .p256, .rsa2048]).map { role, kind in
            let key = try PrivateKey.generate(kind)
            let subject = CertificateTemplate.Subject(
                userID: "com.example.phone.voip", commonName: "VoIP Services: com.example.phone",
                organizationalUnit: "TEAM123456", organization: "Example", country: "DE")
            let template = CertificateTemplate(
                subject: subject, role: role, notBefore: 1_700_000_000, notAfter: 1_800_000_000)
            return (key, try CertificateIssuer.selfSigned(template, key: key))
        }
    }

    private static let pkcs12Files = Result {
        let all = try credentials.get()
        return try [false, true].flatMap { isLegacy in
            try all.map { key, certificate in
                try PKCS12.write(
                    key: key, certificate: certificate, chain: isLegacy ? [] : [all[0].1], friendlyName: "phone",
                    password: password, legacy: isLegacy)
            }
        }
    }

    private static let keyFiles = Result {
        let all = try credentials.get()
        return try all.map { try $0.0.pem } + all.map { try $0.0.publicKeyPEM }
    }

    // MARK: - Checks

    private static func check(_ certificate: Certificate) throws {
        let again = try Certificate(der: certificate.der)
        // What it is printed as is everything that was read.
        try requireEqual("\(again)", "\(certificate)", "a certificate changed when it was read again")
        try requireEqual(try Certificate(pem: certificate.pem).der, certificate.der, "PEM changed a certificate")
        try require(certificate.subjectAlternativeNames.count <= 1000, "there are more names than the limit")
        for name in certificate.subjectAlternativeNames { _ = name.description }
        for topic in certificate.appleExtensions.topics {
            try require((1...255).contains(topic.topic.utf8.count), "a topic is longer than the limit")
        }
        for now in [0, 1_700_000_000, Int64.max, Int64.min] { _ = certificate.daysLeft(at: now) }
        _ = try? certificate.isIssued(by: certificate)
        _ = certificate.title
    }

    private static func isRead(_ bytes: [UInt8]) -> Bool { (try? PKCS12.read(bytes, password: password)) != nil }

    /// The file with the MAC of the password; nil if it is no file.
    private static func withMAC(_ bytes: [UInt8]) -> [UInt8]? {
        let decoded = decodeDER(bytes) { d2i_PKCS12(nil, $0, $1) }
        guard let file = OwnedPointer(decoded?.pointer, freedBy: PKCS12_free),
            PKCS12_set_mac(file.pointer, password, -1, nil, 0, 1, EVP_sha256()) == 1
        else { return nil }
        return PEM.der { i2d_PKCS12(file.pointer, $0) }
    }
}
