import Cryptography
import HTTPServer
import PushGateway
import RingwakeCore
import Testing

@MainActor @Suite struct ProviderCertificateTests {
    let fixture: GatewayFixture

    init() throws {
        fixture = try GatewayFixture()
    }

    @Test("A VoIP certificate alone settles sender, topic and push type")
    func headersCanBeLeftOut() throws {
        let certificate = try certificate()
        let exchange = push(certificate) { $0.fields = [HTTPField(name: "content-type", value: "application/json")] }
        #expect(exchange.reason == "200")
        let push = try #require(fixture.world.delivered.first)
        #expect(
            push.provenance == Provenance(sender: GatewayFixture.team, door: .apns(.production, .voip(of: fixture.app)))
        )
    }

    @Test("With a certificate the authorization field is ignored, good or bad")
    func certificateWins() throws {
        #expect(push(try certificate()) { $0.set("authorization", "bearer x") }.reason == "200")
        let token = "bearer " + (try fixture.providerToken())
        let untrusted = try certificate(verification: .untrusted(reason: "unknown issuer", isExpired: false))
        #expect(push(untrusted) { $0.set("authorization", token) }.reason == "BadCertificate")
    }

    @Test("A certificate that is not trusted or has expired is BadCertificate, and the log says why")
    func untrusted() throws {
        let expired = try certificate(verification: .untrusted(reason: "certificate has expired", isExpired: true))
        #expect(push(expired).reason == "BadCertificate")
        #expect(fixture.log.lines.last?.contains("certificate has expired") == true)
    }

    @Test("A certificate that expires while its connection is open is refused from then on")
    func expiresLater() throws {
        let connection = fixture.connect(certificate: try certificate(notAfter: fixture.now + 60))
        let request = fixture.request(authorization: nil)
        #expect(fixture.send(request, over: connection).reason == "200")
        fixture.world.wallClock += 61_000
        #expect(fixture.send(request, over: connection).reason == "BadCertificate")
    }

    @Test("A team that is not configured, or none, is BadCertificate until a reload names it")
    func unknownTeam() throws {
        #expect(push(try certificate(team: "STRANGER00")).reason == "BadCertificate")
        #expect(push(try certificate(team: nil)).reason == "BadCertificate")

        let connection = fixture.connect(certificate: try certificate(team: "STRANGER00"))
        #expect(fixture.send(fixture.request(authorization: nil), over: connection).reason == "BadCertificate")
        fixture.gateway.reconfigure(GatewayConfiguration(teams: [.init(id: "STRANGER00", topics: nil, keys: [:])]))
        #expect(fixture.send(fixture.request(authorization: nil), over: connection).reason == "200")
    }

    @Test(
        "Only a certificate that names the other environment alone is for the wrong one",
        arguments: [
            (true, true, "200", "200"), (false, false, "200", "200"),
            (true, false, "200", "BadCertificateEnvironment"), (false, true, "BadCertificateEnvironment", "200"),
        ])
    func environments(
        isDevelopment: Bool, isProduction: Bool, development: String, production: String
    ) throws {
        let shown = try certificate(isDevelopment: isDevelopment, isProduction: isProduction)
        #expect(push(shown, .development).reason == development)
        #expect(push(shown, .production).reason == production)
    }

    @Test(
        "A push without apns-topic goes to the only topic, or to the UID of a VoIP certificate",
        arguments: [
            (GatewayFixture.topic, false, [GatewayFixture.topic], "200"),
            (GatewayFixture.topic, true, [GatewayFixture.topic, "com.example.phone"], "200"),
            (GatewayFixture.topic, false, ["com.example.phone"], "200"),
            ("com.example.phone", false, [GatewayFixture.topic], "MissingTopic"),
            (nil, false, [GatewayFixture.topic], "200"),
            (nil, false, [GatewayFixture.topic, "com.example.phone"], "MissingTopic"),
            (nil, false, [], "MissingTopic"),
        ] as [(String?, Bool, [String], String)])
    func defaultTopic(userID: String?, isVoIP: Bool, topics: [String], reason: String) throws {
        let shown = try certificate(userID: userID, isVoIP: isVoIP, topics: topics)
        let exchange = push(shown) {
            $0.set("apns-topic", nil)
            $0.set("apns-push-type", nil)
        }
        #expect(exchange.reason == reason)
    }

    @Test("A topic is covered by the UID or by the topics extension; else TopicDisallowed")
    func coverage() throws {
        let universal = try certificate(
            userID: "com.example.phone", topics: ["com.example.phone", GatewayFixture.topic])
        #expect(push(universal).reason == "200")
        #expect(push(try certificate(userID: "com.example.phone")).reason == "TopicDisallowed")
        #expect(push(try certificate(userID: nil)).reason == "TopicDisallowed")
    }

    @Test("Of what Apple issued, the push certificates of configured teams count, and nothing else")
    func apple() throws {
        let apple = try authority(organization: "Apple Inc.")
        #expect(push(try certificate(by: apple)).reason == "200")
        #expect(
            push(try certificate(isDevelopment: false, by: apple), .development).reason == "BadCertificateEnvironment")
        #expect(push(try certificate(team: "STRANGER00", by: apple)).reason == "BadCertificate")
        let cause = { self.fixture.gateway.refusals.attempts.last?.cause ?? "none" }
        #expect(cause().contains("the team 'STRANGER00', which is not configured"))
        // As for signing apps: Apple's UID and OU, and none of the marks.
        let signing = try certificate(isDevelopment: false, isProduction: false, isVoIP: false, by: apple)
        #expect(push(signing).reason == "BadCertificate")
        #expect(cause().contains("Apple did not issue"))
        // A CA of one's own has to mark nothing.
        let own = try authority(organization: "Apple Incorporated")
        #expect(
            push(try certificate(isDevelopment: false, isProduction: false, isVoIP: false, by: own)).reason == "200")
    }

    @Test("The log names the issuer of a certificate that is not trusted")
    func issuer() throws {
        let verification = PeerCertificate.Verification.untrusted(
            reason: "unable to get local issuer certificate", isExpired: false)
        let shown = try certificate(verification: verification, by: authority(organization: "Apple Inc."))
        #expect(push(shown).reason == "BadCertificate")
        #expect(
            fixture.log.lines.last?.contains("unable to get local issuer certificate; its issuer is 'Test authority'")
                == true)
    }

    @Test("A covered topic that the team's configuration leaves out is Forbidden")
    func forbidden() throws {
        let narrow = try GatewayFixture(topics: ["com.example.other.voip"])
        let connection = narrow.connect(certificate: try certificate())
        #expect(narrow.send(narrow.request(authorization: nil), over: connection).reason == "Forbidden")
    }

    private func push(
        _ certificate: PeerCertificate, _ environment: PushEnvironment = .production,
        _ spoil: (inout HTTPRequest) -> Void = { _ in }
    ) -> FakeExchange {
        fixture.send(
            fixture.request(authorization: nil, environment: environment, spoil),
            over: fixture.connect(environment, certificate: certificate))
    }

    private func certificate(
        userID: String? = GatewayFixture.topic, team: String? = GatewayFixture.team, isDevelopment: Bool = true,
        isProduction: Bool = true, isVoIP: Bool = true, topics: [String] = [], notAfter: Int64? = nil,
        verification: PeerCertificate.Verification = .trusted, by issuer: CertificateIssuer? = nil
    ) throws -> PeerCertificate {
        let extensions = AppleExtensions(
            isDevelopment: isDevelopment, isProduction: isProduction, isVoIP: isVoIP,
            topics: topics.map { .init(topic: $0, purposes: ["voip"]) })
        let template = CertificateTemplate(
            subject: .init(userID: userID, commonName: "VoIP Services: test", organizationalUnit: team),
            role: .provider(extensions), notBefore: fixture.now - 60, notAfter: notAfter ?? fixture.now + 86_400)
        let key = try PrivateKey.generate(.p256)
        return PeerCertificate(
            certificate: try issuer?.issue(template, for: key) ?? CertificateIssuer.selfSigned(template, key: key),
            verification: verification)
    }

    private func authority(organization: String) throws -> CertificateIssuer {
        let key = try PrivateKey.generate(.p256)
        let template = CertificateTemplate(
            subject: .init(commonName: "Test authority", organization: organization), role: .authority,
            notBefore: fixture.now - 60, notAfter: fixture.now + 86_400)
        return try CertificateIssuer(certificate: CertificateIssuer.selfSigned(template, key: key), key: key)
    }
}
