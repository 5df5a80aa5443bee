import Cryptography
import FileSystem
import Glibc
import RingwakeCore
import Testing
import VoIPCertificates

/// What Apple's portal does, with certificates of the same shape: a request goes in, a certificate for its key comes out.
@Suite struct CertificateImportTests {
    private let temporary: TemporaryDirectory
    private let directory: String
    private let app: AppID
    private let portal: CertificateIssuer
    private let now = Int64(time(nil))

    init() throws {
        temporary = try TemporaryDirectory()
        directory = temporary.file("certs")
        app = try #require(AppID("com.example.phone"))
        portal = try Self.authority(
            "Apple Worldwide Developer Relations Certification Authority", "Apple Inc.", now: now)
    }

    private static func authority(_ name: String, _ organization: String, now: Int64) throws -> CertificateIssuer {
        let key = try PrivateKey.generate(.p256)
        let template = CertificateTemplate(
            subject: .init(commonName: name, organization: organization), role: .authority, notBefore: now - 3600,
            notAfter: now + 86_400)
        return try CertificateIssuer(certificate: CertificateIssuer.selfSigned(template, key: key), key: key)
    }

    @discardableResult
    private func request(_ kind: PrivateKey.Kind = .rsa2048, force: Bool = false) throws -> PrivateKey {
        var request = CertificateSigningRequest(app: app)
        request.keyKind = kind
        request.force = force
        _ = try request.write(in: directory)
        return try PrivateKey(pem: temporary.read("certs/\(Self.stem).key"))
    }

    private static let stem = "voip-services-com.example.phone"

    private func issue(
        for key: PrivateKey, userID: String? = "com.example.phone.voip", isMarked: Bool = true, days: Int64 = 395
    ) throws -> Certificate {
        try portal.issue(
            CertificateTemplate(
                subject: .init(
                    userID: userID, commonName: "VoIP Services: com.example.phone", organizationalUnit: "TEAM123456",
                    organization: "Example GmbH", country: "DE"),
                role: .provider(
                    AppleExtensions(
                        isDevelopment: isMarked, isProduction: isMarked, isVoIP: isMarked,
                        topics: isMarked ? [.init(topic: "com.example.phone.voip", purposes: ["voip"])] : [])),
                notBefore: now - 3600, notAfter: now + days * 86_400), for: key)
    }

    private func take(
        _ bytes: [UInt8], password: String? = nil, key: PrivateKey? = nil, into directory: String? = nil,
        force: Bool = false
    ) throws -> CertificateImport.Result {
        var new = CertificateImport(directory: directory ?? self.directory, now: now)
        new.force = force
        return try new.run(
            CertificateFile(bytes, name: "voip_services.cer", password: password),
            key: key.map { (try $0.pem, "my.key") })
    }

    private func refusal(_ body: () throws -> CertificateImport.Result) -> RingwakeError? {
        #expect(throws: RingwakeError.self) { try body() }
    }

    @Test("A request comes with its key, for the owner's eyes only; both stay as they are")
    func requestFiles() throws {
        let key = try request()
        #expect(key.summary == "RSA 2048")
        #expect(try temporary.names(in: directory) == [Self.stem + ".certSigningRequest", Self.stem + ".key"])
        #expect(TemporaryDirectory.mode(of: directory) == 0o700)
        #expect(TemporaryDirectory.mode(of: directory + "/\(Self.stem).key") == 0o600)
        #expect(TemporaryDirectory.mode(of: directory + "/\(Self.stem).certSigningRequest") == 0o644)
        let again = #expect(throws: RingwakeError.self) { try request(.p256) }
        #expect(again?.code == .conflict && again?.message.contains("--force") == true)
        #expect(try PrivateKey(pem: temporary.read("certs/\(Self.stem).key")).pem == key.pem)
        // A crash between the two files: the request is made for the key that is there.
        try FileSystem.remove(directory + "/\(Self.stem).certSigningRequest")
        #expect(try request(.p256).pem == key.pem)
        #expect(try request(.p256, force: true).summary == "EC P-256")
    }

    @Test("A new key gets its own mode, also where a file that others may read was")
    func modes() throws {
        try request()
        let path = directory + "/\(Self.stem).key"
        #expect(chmod(path, 0o644) == 0)
        try request(force: true)
        #expect(TemporaryDirectory.mode(of: path) == 0o600)
    }

    @Test("Each form that comes back is joined with the key of the request", arguments: PrivateKey.Kind.allCases)
    func forms(kind: PrivateKey.Kind) throws {
        let key = try request(kind)
        let certificate = try issue(for: key)
        let chain = try certificate.pem + portal.certificate.pem
        for bytes in [certificate.der, try certificate.pem, chain] {
            let made = try take(bytes, force: true)
            #expect(made.path == directory + "/\(Self.stem).pem")
            #expect(made.keyFile == directory + "/\(Self.stem).key")
            #expect(made.certificate.userID == "com.example.phone.voip" && made.problems == [])
            let pem = try temporary.read("certs/\(Self.stem).pem")
            #expect(try Certificate(pem: pem).der == certificate.der)
            #expect(try PrivateKey(pem: pem).pem == key.pem)
            #expect(TemporaryDirectory.mode(of: made.path) == 0o600)
        }
    }

    @Test("A P12 brings its key along, in both encryptions, and needs no directory", arguments: [false, true])
    func pkcs12(isLegacy: Bool) throws {
        let key = try PrivateKey.generate(.rsa2048)
        let certificate = try issue(for: key)
        let file = try PKCS12.write(
            key: key, certificate: certificate, chain: [], friendlyName: "x", password: "secret", legacy: isLegacy)
        #expect(refusal { try take(file, password: "wrong") }?.code == .notPermitted)
        #expect(!FileSystem.exists(directory))
        let made = try take(file, password: "secret")
        #expect(made.keyFile == "voip_services.cer" && made.isNew)
        #expect(try PrivateKey(pem: temporary.read("certs/\(Self.stem).pem")).isKey(of: certificate))
    }

    @Test("Intermediates stay, between certificate and key; a root does not")
    func chain() throws {
        let key = try request()
        let root = try Self.authority("Root", "Apple Inc.", now: now)
        let intermediate = try root.issue(
            CertificateTemplate(
                subject: .init(commonName: "Intermediate"), role: .authority, notBefore: now - 60, notAfter: now + 3600),
            for: .generate(.p256))
        let certificate = try issue(for: key)
        _ = try take(intermediate.pem + root.certificate.pem + certificate.pem)
        let all = try Certificate.all(pem: temporary.read("certs/\(Self.stem).pem"))
        #expect(all.map(\.der) == [certificate.der, intermediate.der])
    }

    @Test("Without its key a certificate is refused, wherever the key was looked for")
    func keys() throws {
        let certificate = try issue(for: .generate(.p256))
        let empty = refusal { try take(certificate.der) }
        #expect(empty?.code == .notFound && empty?.message.contains("none of the 0 keys") == true)
        let stranger = try request()
        let lost = refusal { try take(certificate.der) }
        #expect(lost?.code == .notFound && lost?.message.contains("none of the 1 keys in \(directory)") == true)
        #expect(lost?.message.contains("--key") == true)
        let named = refusal { try take(certificate.der, key: stranger) }
        #expect(named?.code == .badCredential && named?.message.hasPrefix("my.key") == true)
        let inside = refusal { try take(certificate.pem + stranger.pem) }
        #expect(inside?.code == .badCredential && inside?.message.contains("voip_services.cer") == true)
        #expect(!FileSystem.exists(directory + "/\(Self.stem).pem"))
        #expect(try take(issue(for: stranger).pem, key: stranger, into: temporary.file("other")).keyFile == "my.key")
    }

    @Test("A key under another name in the directory is found, and a damaged one beside it is passed over")
    func otherNames() throws {
        try FileSystem.createDirectory(directory, mode: 0o700)
        let key = try PrivateKey.generate(.p256)
        try temporary.write(Array("nothing".utf8), to: "certs/a.key")
        try temporary.write(key.pem, to: "certs/mine.key")
        #expect(try take(issue(for: key).der).keyFile == directory + "/mine.key")
    }

    @Test("An import is repeated without effect; another certificate needs --force, and tells of the P12 beside it")
    func again() throws {
        let key = try request()
        let (first, second) = (try issue(for: key), try issue(for: key, days: 400))
        #expect(try take(first.der).isNew)
        #expect(try !take(first.der).isNew)
        let refused = refusal { try take(second.der) }
        #expect(refused?.code == .conflict && refused?.message.contains("--force") == true)
        try temporary.write([1], to: "certs/\(Self.stem).p12")
        let made = try take(second.der, force: true)
        #expect(made.isNew && made.outdatedPKCS12 == directory + "/\(Self.stem).p12")
        #expect(try Certificate(pem: temporary.read("certs/\(Self.stem).pem")).der == second.der)
    }

    @Test("What is no push certificate is refused: other purposes, expired ones, CAs, requests, hostile topics")
    func others() throws {
        let key = try request()
        let signing = refusal { try take(issue(for: key, userID: "QB5T62M7CY", isMarked: false).der) }
        #expect(signing?.message.contains("something else than pushes") == true)
        let expired = CertificateImport(directory: directory, now: now + 500 * 86_400)
        let old = #expect(throws: RingwakeError.self) {
            try expired.run(CertificateFile(issue(for: key).der, name: "old.cer", password: nil))
        }
        #expect(old?.message.contains("it expired on") == true)
        let authority = refusal { try take(portal.certificate.der) }
        #expect(authority?.message.contains("CA certificate") == true)
        let csr = refusal { try take(temporary.read("certs/\(Self.stem).certSigningRequest")) }
        #expect(csr?.message.contains("CERTIFICATE REQUEST") == true)
        #expect(refusal { try take(key.pem) }?.message.contains("no certificate") == true)
        for userID in ["../../etc/passwd.voip", "a/b.voip", ".voip", ""] {
            let error = refusal { try take(issue(for: key, userID: userID.isEmpty ? nil : userID).der, force: true) }
            #expect(error?.code == .badCredential && error?.message.contains("no topic") == true, "\(userID)")
        }
    }

    @Test("dev-ca keeps a certificate of Apple's, and does not replace it when asked for new ones")
    func development() throws {
        let key = try request()
        let certificate = try issue(for: key)
        _ = try take(certificate.der)
        var setup = DevelopmentSetup(app: app, teamID: "TEAM123456")
        _ = try DevelopmentAuthority(directory: directory, now: now).setUp(setup)
        setup.force = true
        let refused = #expect(throws: RingwakeError.self) {
            try DevelopmentAuthority(directory: directory, now: now).setUp(setup)
        }
        #expect(refused?.code == .conflict)
        #expect(try Certificate(pem: temporary.read("certs/\(Self.stem).pem")).der == certificate.der)
    }

    @Test("Exported files hold the same certificate and key; an existing file stays unless asked")
    func export() throws {
        let key = try request()
        let certificate = try issue(for: key)
        let source = try CertificateFile(certificate.der, name: "x.cer", password: nil)
        let other = (bytes: try key.pem, name: "x.key")
        let path = temporary.file("out.p12")
        for isLegacy in [false, true] {
            try CertificateExport.pkcs12(password: "secret", isLegacy: isLegacy)
                .write(source, key: other, to: path, force: true)
            let contents = try PKCS12.read(temporary.read("out.p12"), password: "secret")
            #expect(contents.certificate.der == certificate.der && contents.key.isKey(of: certificate))
            #expect(try PKCS12.isLegacy(temporary.read("out.p12")) == isLegacy)
            #expect(TemporaryDirectory.mode(of: path) == 0o600)
        }
        let kept = #expect(throws: RingwakeError.self) {
            try CertificateExport.pem.write(source, key: other, to: path, force: false)
        }
        #expect(kept?.code == .conflict)
        let back = try CertificateFile(temporary.read("out.p12"), name: "out.p12", password: "secret")
        try CertificateExport.pem.write(back, key: nil, to: temporary.file("out.pem"), force: false)
        #expect(try temporary.read("out.pem") == certificate.pem + key.pem)
        let keyless = #expect(throws: RingwakeError.self) {
            try CertificateExport.pem.write(source, key: nil, to: temporary.file("none.pem"), force: false)
        }
        #expect(keyless?.code == .badCredential && keyless?.message.contains("--key") == true)
    }
}
