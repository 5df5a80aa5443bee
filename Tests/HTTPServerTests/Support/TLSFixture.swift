import Cryptography
import Glibc

/// A certificate for the tests' servers, made once.
enum TLSFixture {
    static let credentials: (certificate: [UInt8], key: [UInt8])? = {
        let now = Int64(time(nil))
        let template = CertificateTemplate(
            subject: .init(commonName: "localhost"),
            role: .server([SubjectAlternativeName("localhost"), SubjectAlternativeName("127.0.0.1")]),
            notBefore: now - 3600, notAfter: now + 3600)
        guard let key = try? PrivateKey.generate(.p256),
            let certificate = try? CertificateIssuer.selfSigned(template, key: key)
        else { return nil }
        guard let certificatePEM = try? certificate.pem, let keyPEM = try? key.pem else { return nil }
        return (certificatePEM, keyPEM)
    }()

    static func context() throws -> TLSServerContext {
        try TLSServerContext(
            certificateChainPEM: credentials?.certificate ?? [], privateKeyPEM: credentials?.key ?? [],
            providerCAsPEM: nil, alpn: ["h2"])
    }
}
