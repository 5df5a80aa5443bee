import Cryptography
import FileSystem
import Glibc
import RingwakeCore
import Testing
import VoIPCertificates

@Suite struct DevelopmentAuthorityTests {
    static let day: Int64 = 86_400

    let temporary: TemporaryDirectory
    let directory: String
    let app: AppID
    let now = Int64(time(nil))

    init() throws {
        temporary = try TemporaryDirectory()
        directory = temporary.file("certs")
        app = try #require(AppID("com.example.phone"))
    }

    private func setUp(
        _ app: AppID? = nil, at now: Int64? = nil, _ change: (inout DevelopmentSetup) -> Void = { _ in }
    ) throws -> DevelopmentCredentials {
        var setup = DevelopmentSetup(app: app ?? self.app, teamID: "DEVTEAM001")
        change(&setup)
        return try DevelopmentAuthority(directory: directory, now: now ?? self.now).setUp(setup)
    }

    private func certificate(_ name: String) throws -> Certificate {
        try Certificate(pem: temporary.read("certs/\(name)"))
    }

    @Test("An empty directory gets every file, keys for the owner's eyes only")
    func files() throws {
        let made = try setUp()
        #expect(made.topic == "com.example.phone.voip")
        #expect(made.keyID.count == 10)
        #expect(made.keyID.allSatisfy { $0.isASCII && ($0.isNumber || $0.isUppercase) })
        let names = [
            "AuthKey_\(made.keyID).p8", "AuthKey_\(made.keyID).pub.pem", "ca.key", "ca.pem", "server.key", "server.pem",
            "voip-services-com.example.phone.p12", "voip-services-com.example.phone.pem",
        ]
        #expect(try temporary.names(in: directory) == names)
        #expect(Set(made.files.map(\.path)) == Set(names.map { "\(directory)/\($0)" }))
        #expect(made.files.allSatisfy { $0.isNew })
        #expect(TemporaryDirectory.mode(of: directory) == 0o700)
        for file in made.files {
            #expect(TemporaryDirectory.mode(of: file.path) == (file.kind.isSecret ? 0o600 : 0o644), "\(file.path)")
            let isSecret = try FileSystem.read(file.path, maximumSize: 100_000).contains(text: "PRIVATE KEY")
            #expect(isSecret == file.kind.isSecret || file.kind == .providerPKCS12)
        }
        #expect(made.path(of: .serverKey) == "\(directory)/server.key")
    }

    @Test("The certificates are as Apple's, for the times they should be")
    func certificates() throws {
        _ = try setUp()
        let authority = try certificate("ca.pem")
        #expect(authority.isCA)
        #expect(authority.notAfter == now + 3650 * Self.day)
        let provider = try certificate("voip-services-com.example.phone.pem")
        #expect(provider.subjectUserID == "com.example.phone.voip")
        #expect(provider.subjectCommonName == "VoIP Services: com.example.phone")
        #expect(provider.organizationalUnit == "DEVTEAM001")
        #expect(provider.issuerCommonName == authority.subjectCommonName)
        #expect(provider.notBefore == now - 3600)
        #expect(provider.notAfter == now + 395 * Self.day)
        #expect(provider.appleExtensions.isVoIP)
        #expect(provider.appleExtensions.isDevelopment && provider.appleExtensions.isProduction)
        #expect(provider.appleExtensions.topics.map(\.topic) == ["com.example.phone", "com.example.phone.voip"])
        let server = try certificate("server.pem")
        #expect(server.notAfter == now + 397 * Self.day)
        #expect(server.subjectAlternativeNames.map(\.description) == ["localhost", "127.0.0.1", "::1"])
    }

    @Test("The files fit together: TLS takes them, keys match, tokens verify")
    func together() throws {
        let made = try setUp { $0.pkcs12Password = "secret" }
        _ = try TLSServerContext(
            certificateChainPEM: temporary.read("certs/server.pem"),
            privateKeyPEM: temporary.read("certs/server.key"), providerCAsPEM: temporary.read("certs/ca.pem"),
            alpn: ["h2"])
        let pem = try temporary.read("certs/voip-services-com.example.phone.pem")
        #expect(try PrivateKey(pem: pem).isKey(of: Certificate(pem: pem)))
        let contents = try PKCS12.read(
            temporary.read("certs/voip-services-com.example.phone.p12"), password: "secret")
        #expect(try contents.certificate.der == Certificate(pem: pem).der)
        #expect(try contents.chain.map(\.der) == [certificate("ca.pem").der])
        let token = try ProviderToken.sign(
            keyID: made.keyID, teamID: made.teamID, issuedAt: now,
            key: P256PrivateKey(pem: temporary.read("certs/AuthKey_\(made.keyID).p8")))
        let publicKey = try P256PublicKey(pem: temporary.read("certs/AuthKey_\(made.keyID).pub.pem"))
        #expect(try ProviderToken.parse(token).isSigned(by: publicKey))
    }

    @Test("A second run keeps everything as it is")
    func again() throws {
        let first = try setUp()
        let contents = try first.files.map { try FileSystem.read($0.path, maximumSize: 100_000) }
        let second = try setUp()
        #expect(second.keyID == first.keyID)
        #expect(second.files.map(\.path) == first.files.map(\.path))
        #expect(second.files.allSatisfy { !$0.isNew })
        #expect(try first.files.map { try FileSystem.read($0.path, maximumSize: 100_000) } == contents)
    }

    @Test("A second app joins the CA that is there")
    func secondApp() throws {
        let first = try setUp()
        let other = try #require(AppID("org.example.intercom"))
        let second = try setUp(other)
        #expect(second.topic == "org.example.intercom.voip")
        #expect(second.keyID == first.keyID)
        #expect(second.files.filter(\.isNew).map(\.kind) == [.providerCertificate, .providerPKCS12])
        let issuer = try certificate("ca.pem").subjectCommonName
        for name in ["com.example.phone", "org.example.intercom"] {
            #expect(try certificate("voip-services-\(name).pem").issuerCommonName == issuer)
        }
    }

    @Test("Force issues server and provider anew, and keeps CA, token key and the server's key")
    func force() throws {
        let first = try setUp()
        let old = try certificate("voip-services-com.example.phone.pem").serialNumber
        let second = try setUp { $0.force = true }
        #expect(second.keyID == first.keyID)
        #expect(
            second.files.filter(\.isNew).map(\.kind) == [
                .serverCertificate, .providerCertificate, .providerPKCS12,
            ])
        #expect(try certificate("voip-services-com.example.phone.pem").serialNumber != old)
    }

    @Test("What is there but not what was asked for is a conflict, and stays")
    func conflicts() throws {
        _ = try setUp()
        for change in [
            { $0.provider.teamID = "OTHERTEAM1" }, { $0.serverNames = ["phone.example.org"] },
            { $0.includesAppleNames = true },
        ] as [(inout DevelopmentSetup) -> Void] {
            let error = #expect(throws: RingwakeError.self) { try setUp(nil, at: nil, change) }
            #expect(error?.code == .conflict)
            #expect(error?.message.contains("--force") == true)
        }
        let later = #expect(throws: RingwakeError.self) { try setUp(at: now + 400 * Self.day) }
        #expect(later?.message.contains("expired") == true)
        let muchLater = #expect(throws: RingwakeError.self) { try setUp(at: now + 3651 * Self.day) }
        #expect(muchLater?.message.contains("The CA") == true)
    }

    @Test("Half of a pair is a conflict that names what is there and what is missing")
    func halves() throws {
        _ = try setUp()
        try FileSystem.remove("\(directory)/server.key")
        let server = #expect(throws: RingwakeError.self) { try setUp() }
        #expect(server?.message.contains("has server.pem but not server.key") == true)
        try FileSystem.remove("\(directory)/ca.pem")
        let authority = #expect(throws: RingwakeError.self) { try setUp() }
        #expect(authority?.message.contains("has ca.key but not ca.pem") == true)
    }

    @Test("A damaged CA and another CA's key are refused with words")
    func damaged() throws {
        _ = try setUp()
        try temporary.write(PrivateKey.generate(.p256).pem, to: "certs/ca.key")
        let mismatch = #expect(throws: RingwakeError.self) { try setUp() }
        #expect(mismatch?.message.contains("does not belong") == true)
        try temporary.write(Array("nothing".utf8), to: "certs/ca.pem")
        let damaged = #expect(throws: RingwakeError.self) { try setUp() }
        #expect(damaged?.message.contains("holds no certificate") == true)
    }

    @Test("A directory that cannot be made is a clear error")
    func noDirectory() throws {
        try temporary.write([], to: "file")
        let error = #expect(throws: RingwakeError.self) {
            try DevelopmentAuthority(directory: temporary.file("file/certs"), now: now)
        }
        #expect(error?.code == .notFound)
        #expect(error?.message.contains("file/certs") == true)
    }

    @Test("The server certificate covers the names and addresses given, and Apple's on request")
    func serverNames() throws {
        _ = try setUp {
            $0.serverNames = ["phone.example.org", "192.0.2.7", "2001:db8::7", "*.lab.example", "localhost"]
            $0.includesAppleNames = true
        }
        #expect(
            try certificate("server.pem").subjectAlternativeNames.map(\.description) == [
                "localhost", "127.0.0.1", "::1", "phone.example.org", "192.0.2.7", "2001:db8::7", "*.lab.example",
                "api.push.apple.com", "api.sandbox.push.apple.com", "api.development.push.apple.com",
            ])
    }

    @Test(
        "Names that are none are refused",
        arguments: ["", "a b", "ü.example", "a..b", ".", "a.*.b", "a/b", "1.2.3.4:5"])
    func badNames(name: String) throws {
        let error = #expect(throws: RingwakeError.self) { try setUp { $0.serverNames = [name] } }
        #expect(error?.code == .invalidRequest)
    }

    @Test(
        "Team ids that a token could not carry are refused",
        arguments: ["", "a b", "ü", "\"", String(repeating: "a", count: 65)])
    func badTeams(team: String) throws {
        let error = #expect(throws: RingwakeError.self) { try setUp { $0.provider.teamID = team } }
        #expect(error?.code == .invalidRequest)
    }

    @Test("A request decides over environments, topics, dates, key and marks")
    func requests() throws {
        let authority = try DevelopmentAuthority(directory: directory, now: now)
        var request = ProviderCertificateRequest(app: app, teamID: "T")
        request.environments = [.development]
        request.topics = [.init(topic: "a.voip", purposes: ["voip"]), .init(topic: "b.voip", purposes: ["voip", "x"])]
        request.notBefore = now - 7200
        request.notAfter = now - 3600
        request.keyKind = .rsa2048
        request.isVoIP = false
        request.userID = nil
        request.country = "DE"
        let (certificate, key) = try authority.issue(request)
        #expect(key.isKey(of: certificate))
        #expect(certificate.keySummary == "RSA 2048")
        #expect(certificate.appleExtensions.isDevelopment)
        #expect(!certificate.appleExtensions.isProduction)
        #expect(!certificate.appleExtensions.isVoIP)
        #expect(certificate.appleExtensions.topics == request.topics)
        #expect(certificate.subjectUserID == nil)
        #expect(certificate.notAfter == now - 3600)
        request.environments = [.production]
        #expect(try authority.issue(request).certificate.appleExtensions.isProduction)
    }
}

extension [UInt8] {
    func contains(text: String) -> Bool {
        String(decoding: self, as: UTF8.self).contains(text)
    }
}
