import Cryptography
import HTTPServer
import ProviderAPI
import RingwakeCore
import Testing

@testable import PushGateway

@Suite("Whether a connection's credential is still good after a change of the configuration")
@MainActor struct RevocationTests {
    private let fixture: GatewayFixture

    init() throws {
        fixture = try GatewayFixture()
    }

    private func configuration(
        _ change: (inout [String: P256PublicKey]) throws -> Void = { _ in }
    ) throws -> GatewayConfiguration {
        var keys = [
            GatewayFixture.keyID: try P256PublicKey(pem: fixture.key.publicKeyPEM),
            GatewayFixture.secondKeyID: try P256PublicKey(pem: fixture.secondKey.publicKeyPEM),
        ]
        try change(&keys)
        return GatewayConfiguration(teams: [.init(id: GatewayFixture.team, topics: nil, keys: keys)])
    }

    private func sender(
        tokens: [String] = [], certificate: PeerCertificate? = nil
    ) -> SenderVerification {
        var sender = SenderVerification(certificate: certificate, environment: .production)
        for token in tokens {
            _ = try? sender.sender(authorization: "bearer \(token)", gateway: fixture.gateway, now: fixture.now)
        }
        if tokens.isEmpty {
            _ = try? sender.sender(authorization: nil, gateway: fixture.gateway, now: fixture.now)
        }
        return sender
    }

    @Test("A token is good while its key is configured, and not when its key or its team was removed or replaced")
    func tokens() throws {
        let sender = sender(tokens: [try fixture.providerToken()])
        #expect(sender.revocation(by: try configuration()) == nil)
        let removed = try configuration { $0[GatewayFixture.keyID] = nil }
        #expect(sender.revocation(by: removed)?.reason == .invalidProviderToken)
        #expect(sender.revocation(by: removed)?.cause.contains("is not configured") == true)
        let other = try P256PublicKey(pem: try P256PrivateKey.generate().publicKeyPEM)
        let replaced = try configuration { $0[GatewayFixture.keyID] = other }
        #expect(sender.revocation(by: replaced)?.cause.contains("the signature is not of the key") == true)
        #expect(sender.revocation(by: GatewayConfiguration(teams: []))?.reason == .invalidProviderToken)
        #expect(sender.revocation(by: try configuration { $0[GatewayFixture.secondKeyID] = nil }) == nil)
    }

    @Test("The token that was used last counts: a sender that has changed its key keeps its connection")
    func lastToken() throws {
        let second = try fixture.providerToken(keyID: GatewayFixture.secondKeyID, key: fixture.secondKey)
        let former = try configuration { $0[GatewayFixture.keyID] = nil }
        #expect(sender(tokens: [try fixture.providerToken(), second]).revocation(by: former) == nil)
        #expect(sender(tokens: [second, try fixture.providerToken()]).revocation(by: former) != nil)
    }

    @Test("A connection that has not proven itself has nothing to lose", arguments: [[], ["x"], ["a.b.c"]])
    func unproven(_ tokens: [String]) {
        #expect(sender(tokens: tokens).revocation(by: GatewayConfiguration(teams: [])) == nil)
    }

    @Test("A certificate is good while its team is configured; one that was refused before is not revoked")
    func certificates() throws {
        let good = sender(certificate: try certificate(team: GatewayFixture.team))
        #expect(good.revocation(by: try configuration { $0 = [:] }) == nil)
        let removed = good.revocation(by: GatewayConfiguration(teams: []))
        #expect(removed?.reason == .badCertificate && removed?.cause.contains("is not configured") == true)
        let stranger = sender(certificate: try certificate(team: "STRANGER00"))
        #expect(stranger.revocation(by: GatewayConfiguration(teams: [])) == nil)
    }

    private func certificate(team: String) throws -> PeerCertificate {
        let extensions = AppleExtensions(
            isDevelopment: true, isProduction: true, isVoIP: true,
            topics: [.init(topic: GatewayFixture.topic, purposes: ["voip"])])
        let template = CertificateTemplate(
            subject: .init(
                userID: GatewayFixture.topic, commonName: "VoIP Services: test", organizationalUnit: team),
            role: .provider(extensions), notBefore: fixture.now - 60, notAfter: fixture.now + 86_400)
        return PeerCertificate(
            certificate: try CertificateIssuer.selfSigned(template, key: .generate(.p256)), verification: .trusted)
    }
}
