import Cryptography
import Glibc

/// Certificates made for one test: a CA, a server and providers.
struct CertificateFixtures {
    static let day: Int64 = 86_400

    let now = Int64(time(nil))
    let authorityKey: PrivateKey
    let authority: Certificate
    let issuer: CertificateIssuer
    let serverKey: PrivateKey
    let server: Certificate

    init(kind: PrivateKey.Kind = .p256) throws {
        let now = Int64(time(nil))
        authorityKey = try PrivateKey.generate(.p256)
        authority = try CertificateIssuer.selfSigned(
            CertificateTemplate(
                subject: .init(commonName: "Test CA"), role: .authority, notBefore: now - 3600,
                notAfter: now + 3650 * Self.day),
            key: authorityKey)
        issuer = try CertificateIssuer(certificate: authority, key: authorityKey)
        serverKey = try PrivateKey.generate(kind)
        server = try issuer.issue(
            CertificateTemplate(
                subject: .init(commonName: "localhost"),
                role: .server([.dns("localhost"), SubjectAlternativeName("127.0.0.1"), SubjectAlternativeName("::1")]),
                notBefore: now - 3600, notAfter: now + 397 * Self.day),
            for: serverKey)
    }

    func provider(
        bundle: String = "com.example.phone", key: PrivateKey, from: Int64 = -3600, to: Int64 = 395 * day
    ) throws -> Certificate {
        try issuer.issue(Self.template(bundle: bundle, from: now + from, to: now + to), for: key)
    }

    static func template(bundle: String, from: Int64, to: Int64) -> CertificateTemplate {
        CertificateTemplate(
            subject: .init(
                userID: "\(bundle).voip", commonName: "VoIP Services: \(bundle)", organizationalUnit: "TEAM123456",
                organization: "Example", country: "DE"),
            role: .provider(
                AppleExtensions(
                    isDevelopment: true, isProduction: true, isVoIP: true,
                    topics: [
                        .init(topic: bundle, purposes: ["app"]),
                        .init(topic: "\(bundle).voip", purposes: ["voip"]),
                    ])),
            notBefore: from, notAfter: to)
    }

    func serverContext(
        askingClients: Bool = true, alpn: [String] = ["h2"]
    ) throws -> TLSServerContext {
        try TLSServerContext(
            certificateChainPEM: server.pem, privateKeyPEM: serverKey.pem,
            providerCAsPEM: askingClients ? authority.pem : nil, alpn: alpn)
    }
}
