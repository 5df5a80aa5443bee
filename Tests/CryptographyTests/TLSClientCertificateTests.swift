import CRingwakeOpenSSL
import Cryptography
import Glibc
import Testing

@Suite struct TLSClientCertificateTests {
    static let versions = TLSServerTests.versions

    let fixtures: CertificateFixtures
    let key: PrivateKey

    init() throws {
        fixtures = try CertificateFixtures()
        key = try PrivateKey.generate(.p256)
    }

    private func connect(
        _ certificate: Certificate, version: Int32, context: TLSServerContext? = nil
    ) throws -> TLSPair {
        let pair = try TLSPair(
            context: context ?? fixtures.serverContext(),
            client: .init(version: version, certificate: (certificate, key)))
        pair.handshake()
        #expect(pair.serverProgress == .done)
        return pair
    }

    @Test("A certificate of the provider CA is trusted and read", arguments: versions)
    func trusted(version: Int32) throws {
        let pair = try connect(fixtures.provider(key: key), version: version)
        let peer = try #require(pair.server.peerCertificate)
        #expect(peer.verification == .trusted)
        #expect(peer.certificate.subjectUserID == "com.example.phone.voip")
        #expect(peer.certificate.organizationalUnit == "TEAM123456")
    }

    @Test("A certificate of a stranger completes the handshake untrusted", arguments: versions)
    func untrusted(version: Int32) throws {
        let pair = try connect(CertificateFixtures().provider(key: key), version: version)
        let peer = try #require(pair.server.peerCertificate)
        guard case .untrusted(let reason, isExpired: false) = peer.verification else {
            Issue.record("\(peer.verification)")
            return
        }
        #expect(reason.contains("issuer certificate"))
    }

    @Test("An expired certificate completes the handshake untrusted and says that it is expired", arguments: versions)
    func expired(version: Int32) throws {
        let pair = try connect(fixtures.provider(key: key, from: -7200, to: -3600), version: version)
        let peer = try #require(pair.server.peerCertificate)
        #expect(peer.verification == .untrusted(reason: "certificate has expired", isExpired: true))
    }

    @Test("A stranger's expired certificate is untrusted for its issuer, not for its date", arguments: versions)
    func expiredStranger(version: Int32) throws {
        let pair = try connect(CertificateFixtures().provider(key: key, from: -7200, to: -3600), version: version)
        guard case .untrusted(_, isExpired: false)? = pair.server.peerCertificate?.verification else {
            Issue.record("\(String(describing: pair.server.peerCertificate?.verification))")
            return
        }
    }

    @Test("A server certificate of the CA is no client certificate", arguments: versions)
    func wrongPurpose(version: Int32) throws {
        let server = try fixtures.issuer.issue(
            CertificateTemplate(
                subject: .init(commonName: "x"), role: .server([.dns("x")]), notBefore: fixtures.now - 60,
                notAfter: fixtures.now + 60),
            for: key)
        let pair = try connect(server, version: version)
        guard case .untrusted(let reason, isExpired: false)? = pair.server.peerCertificate?.verification else {
            Issue.record("trusted")
            return
        }
        #expect(reason.contains("purpose"))
    }

    @Test("A certificate that expires during the connection is trusted up to its last second")
    func expiresLater() throws {
        let certificate = try fixtures.provider(key: key)
        let pair = try connect(certificate, version: TLS1_3_VERSION)
        #expect(pair.server.peerCertificate(at: certificate.notAfter)?.verification == .trusted)
        guard
            case .untrusted(_, isExpired: true)? = pair.server.peerCertificate(at: certificate.notAfter + 1)?
                .verification
        else {
            Issue.record("still trusted")
            return
        }
    }

    @Test("A client that does not speak up is served without a certificate", arguments: versions)
    func none(version: Int32) throws {
        let pair = try TLSPair(context: fixtures.serverContext(), client: .init(version: version))
        pair.handshake()
        #expect(pair.serverProgress == .done)
        #expect(pair.server.peerCertificate == nil)
    }

    @Test("A server without provider CAs does not ask", arguments: versions)
    func notAsked(version: Int32) throws {
        let pair = try connect(
            fixtures.provider(key: key), version: version, context: fixtures.serverContext(askingClients: false))
        #expect(pair.server.peerCertificate == nil)
    }

    @Test("An intermediate alone in the provider CAs is trusted, as Apple's is handed around")
    func partialChain() throws {
        let intermediateKey = try PrivateKey.generate(.p256)
        let rootKey = try PrivateKey.generate(.p256)
        // Path length 0 stands in the root as well, which does not matter when the chain ends below it.
        let root = try CertificateIssuer.selfSigned(template("Root"), key: rootKey)
        let intermediate = try CertificateIssuer(certificate: root, key: rootKey)
            .issue(template("Intermediate"), for: intermediateKey)
        let certificate = try CertificateIssuer(certificate: intermediate, key: intermediateKey).issue(
            CertificateFixtures.template(bundle: "b", from: fixtures.now - 60, to: fixtures.now + 60), for: key)
        let context = try TLSServerContext(
            certificateChainPEM: fixtures.server.pem, privateKeyPEM: fixtures.serverKey.pem,
            providerCAsPEM: intermediate.pem, alpn: [])
        let pair = try connect(certificate, version: TLS1_3_VERSION, context: context)
        #expect(pair.server.peerCertificate?.verification == .trusted)
    }

    private func template(_ name: String) -> CertificateTemplate {
        CertificateTemplate(
            subject: .init(commonName: name), role: .authority, notBefore: fixtures.now - 60,
            notAfter: fixtures.now + 86_400)
    }

    @Test("A resumed session keeps certificate and verdict", arguments: versions, [true, false])
    func resumption(version: Int32, isTrusted: Bool) throws {
        let context = try fixtures.serverContext()
        let certificate = try (isTrusted ? fixtures : CertificateFixtures()).provider(key: key)
        let first = try connect(certificate, version: version, context: context)
        #expect(!first.server.isResumed)
        _ = first.client.read()
        #expect(first.client.tickets.sessions.count == 1)
        let session = try #require(first.client.tickets.sessions.first)

        let second = try TLSPair(context: context, client: .init(version: version, session: session))
        second.handshake()
        #expect(second.serverProgress == .done)
        #expect(second.server.isResumed)
        #expect(second.server.negotiatedProtocol == "h2")
        let peer = try #require(second.server.peerCertificate)
        #expect(peer.certificate.der == certificate.der)
        #expect((peer.verification == .trusted) == isTrusted)
    }

    @Test("A new context resumes nothing, so that no session outlives its provider CAs", arguments: versions)
    func otherContext(version: Int32) throws {
        let first = try connect(fixtures.provider(key: key), version: version)
        _ = first.client.read()
        let session = try #require(first.client.tickets.sessions.first)
        let second = try TLSPair(
            context: fixtures.serverContext(), client: .init(version: version, session: session))
        second.handshake()
        #expect(second.serverProgress == .done)
        #expect(!second.server.isResumed)
        #expect(second.server.peerCertificate == nil)
    }
}
