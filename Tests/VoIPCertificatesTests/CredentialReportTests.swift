import Cryptography
import FileSystem
import Glibc
import RingwakeCore
import Testing
import VoIPCertificates

@Suite struct CredentialReportTests {
    static let day: Int64 = 86_400

    let temporary: TemporaryDirectory
    let authority: DevelopmentAuthority
    let request: ProviderCertificateRequest
    let now = Int64(time(nil))

    init() throws {
        temporary = try TemporaryDirectory()
        authority = try DevelopmentAuthority(directory: temporary.path, now: now)
        request = ProviderCertificateRequest(app: try #require(AppID("com.example.phone")), teamID: "DEVTEAM001")
    }

    private func inspect(
        _ bytes: [UInt8], _ name: String = "file.pem", password: String? = nil, at now: Int64? = nil
    ) throws -> CredentialReport {
        try CredentialReport.inspect(bytes, fileName: name, password: password, now: now ?? self.now)
    }

    /// The report on a certificate with its key, from a changed request.
    private func inspect(_ change: (inout ProviderCertificateRequest) -> Void) throws -> CredentialReport {
        var request = request
        change(&request)
        let (certificate, key) = try authority.issue(request)
        return try inspect(certificate.pem + key.pem)
    }

    @Test("A VoIP Services certificate with its key is explained, and nothing is wrong")
    func voIP() throws {
        let report = try inspect { _ in }
        #expect(report.kind == .voIPProviderCertificate)
        #expect(report.format == .pem)
        #expect(report.problems == [])
        #expect(report.isUsable)
        #expect(report.key?.belongsToCertificate == true)
        let certificate = try #require(report.certificates.first)
        #expect(certificate.userID == "com.example.phone.voip")
        #expect(certificate.teamID == "DEVTEAM001")
        #expect(certificate.environments == ["development", "production"])
        #expect(certificate.topics.map(\.purposes) == [["app"], ["voip"]])
        #expect(certificate.daysLeft == 395)
        let text = report.lines.joined(separator: "\n")
        for part in [
            "VoIP Services provider certificate with its private key (PEM)", "com.example.phone.voip (voip)",
            "DEVTEAM001", "development, production", "(395 days left)", "EC P-256", certificate.sha256Fingerprint,
        ] {
            #expect(text.contains(part), "\(part)")
        }
    }

    @Test("A P12 is explained with its password; a wrong or missing one is a clear error")
    func pkcs12() throws {
        let (certificate, key) = try authority.issue(request)
        let file = try PKCS12.write(
            key: key, certificate: certificate, chain: [authority.certificate], friendlyName: "x", password: "secret",
            legacy: false)
        let report = try inspect(file, "x.p12", password: "secret")
        #expect(report.format == .pkcs12)
        #expect(report.kind == .voIPProviderCertificate)
        #expect(report.certificates.map(\.kind) == [.voIPProviderCertificate, .authorityCertificate])
        #expect(report.problems == [])
        let wrong = #expect(throws: RingwakeError.self) { try inspect(file, "x.p12", password: "Secret") }
        #expect(wrong?.code == .notPermitted)
        #expect(wrong?.message.hasPrefix("x.p12: ") == true)
        #expect(throws: RingwakeError.self) { try inspect(file, "x.p12") }
    }

    @Test("DER is explained too, and says that its key is elsewhere")
    func der() throws {
        let report = try inspect(authority.issue(request).certificate.der, "aps.cer")
        #expect(report.format == .der)
        #expect(report.kind == .voIPProviderCertificate)
        #expect(report.problems.map(\.message) == ["the file has no private key"])
        #expect(report.isUsable)
    }

    @Test("A P8 is explained with the key id of its file name, its public half too")
    func tokenKey() throws {
        let key = try P256PrivateKey.generate()
        let secret = try inspect(key.pem, "/some/where/AuthKey_ABC123DEFG.p8")
        #expect(secret.kind == .providerTokenKey)
        #expect(secret.key?.keyID == "ABC123DEFG")
        #expect(secret.problems == [])
        #expect(secret.lines.contains { $0.contains("ABC123DEFG (from the file name)") })
        let open = try inspect(key.publicKeyPEM, "AuthKey_ABC123DEFG.pub.pem")
        #expect(open.kind == .providerTokenPublicKey)
        #expect(open.key?.keyID == "ABC123DEFG")
        for name in ["key.p8", "AuthKey_.p8", "AuthKey_abc123defg.p8", "AuthKey_ABC123DEFGH.p8", "AuthKey_p8", ""] {
            let report = try inspect(key.pem, name)
            #expect(report.key?.keyID == nil)
            #expect(report.problems.map(\.message) == ["the file name does not say the key id"])
        }
    }

    @Test("CA and server certificates are told apart")
    func others() throws {
        #expect(try inspect(authority.certificate.pem).kind == .authorityCertificate)
        let setup = DevelopmentSetup(app: request.app, teamID: "T")
        _ = try authority.setUp(setup)
        let server = try inspect(temporary.read("server.pem"))
        #expect(server.kind == .serverCertificate)
        #expect(server.problems == [])
        #expect(server.certificates.first?.names == ["localhost", "127.0.0.1", "::1"])
        #expect(try inspect(temporary.read("server.key")).kind == .providerTokenKey)
        #expect(try inspect(PrivateKey.generate(.rsa2048).pem).kind == .privateKey)
    }

    @Test("Each fault of a provider certificate is named with a hint")
    func faults() throws {
        func messages(_ change: (inout ProviderCertificateRequest) -> Void) throws -> String {
            let problems = try inspect(change).problems
            #expect(problems.allSatisfy { !$0.hint.isEmpty })
            return problems.map { "\($0.severity): \($0.message)" }.joined(separator: "\n")
        }
        #expect(try messages { $0.userID = nil }.hasPrefix("error: it has no UID"))
        #expect(try messages { $0.userID = "com.example.phone" }.contains("warning: its topic 'com.example.phone'"))
        #expect(try messages { $0.userID = "x.voip" }.contains("is not among the topics"))
        #expect(try messages { $0.isVoIP = false }.contains("warning: it is not marked as a VoIP Services"))
        #expect(try messages { $0.topics = [] }.contains("warning: it has no topics extension"))
        #expect(try messages { $0.environments = [] }.contains("warning: it names no environment"))
        #expect(try messages { $0.notBefore = now + 60 }.contains("error: it is not valid before"))
        #expect(
            try messages {
                $0.notBefore = 0
                $0.notAfter = 1_000_000_000
            } == "error: it expired on 2001-09-09T01:46:40Z")
    }

    @Test(
        "Under 30 days left is a warning, and so is the last day",
        arguments: [(30 * day, nil), (30 * day - 1, 29), (day, 1), (day - 1, 0), (0, 0)] as [(Int64, Int64?)])
    func expiry(seconds: Int64, days: Int64?) throws {
        let report = try inspect { $0.notAfter = now + seconds }
        #expect(report.isUsable)
        #expect(report.problems.map(\.message) == (days.map { ["it expires in \($0) days"] } ?? []))
    }

    @Test("A second after the end it has expired")
    func expired() throws {
        let report = try inspect { $0.notAfter = now - 1 }
        #expect(!report.isUsable)
        #expect(report.certificates.first?.daysLeft == -1)
        #expect(report.lines.contains { $0.contains("(expired)") })
    }

    @Test("A key of another certificate is an error, and an encrypted one as well")
    func keys() throws {
        let (certificate, _) = try authority.issue(request)
        let mismatch = try inspect(certificate.pem + PrivateKey.generate(.p256).pem)
        #expect(mismatch.key?.belongsToCertificate == false)
        #expect(mismatch.problems.map(\.message) == ["the key in the file is not the certificate's"])
        let encrypted = "-----BEGIN ENCRYPTED PRIVATE KEY-----\nAAAA\n-----END ENCRYPTED PRIVATE KEY-----\n"
        let protected = try inspect(certificate.pem + Array(encrypted.utf8))
        #expect(protected.problems.first?.hint.contains("password") == true)
        #expect(!protected.isUsable)
        let alone = #expect(throws: RingwakeError.self) { try inspect(Array(encrypted.utf8)) }
        #expect(alone?.message.contains("password") == true)
    }

    @Test("Bytes that are nothing known are refused, naming what was tried")
    func unknown() throws {
        for bytes in [[], Array("hello".utf8), [0x30, 0x03, 0x02, 0x01, 0x05], [UInt8](repeating: 0, count: 1000)] {
            let error = #expect(throws: RingwakeError.self) { try inspect(bytes, "thing") }
            #expect(error?.code == .badCredential)
            for part in ["thing: ", "PEM", "PKCS#12", "DER certificate", "DER private key"] {
                #expect(error?.message.contains(part) == true)
            }
        }
        let request = "-----BEGIN CERTIFICATE REQUEST-----\nAAAA\n-----END CERTIFICATE REQUEST-----\n"
        let error = #expect(throws: RingwakeError.self) { try inspect(Array(request.utf8)) }
        #expect(error?.message.contains("'CERTIFICATE REQUEST'") == true)
        #expect(throws: RingwakeError.self) { try inspect([UInt8](repeating: 65, count: 2_000_000)) }
    }

    @Test("Control characters of a name do not reach the terminal")
    func terminal() throws {
        let report = try inspect { $0.organization = "a\u{1B}[31mb\nc\u{202E}d" }
        let text = report.lines.joined()
        #expect(!text.unicodeScalars.contains { $0 == "\u{1B}" || $0 == "\n" || $0 == "\u{202E}" })
        #expect(report.certificates.first?.organization == "a\u{1B}[31mb\nc\u{202E}d")
    }

    @Test("Files with changed bytes never trap")
    func mutations() throws {
        let (certificate, key) = try authority.issue(request)
        let file = try PKCS12.write(
            key: key, certificate: certificate, chain: [], friendlyName: "x", password: "", legacy: false)
        for good in try [certificate.der, certificate.pem + key.pem, file] {
            // Positions and values spread over the file by a stride that shares no factor with its size.
            for round in 0..<500 {
                var bytes = good
                for step in 0..<3 {
                    bytes[(round * 7919 + step * 104_729) % bytes.count] = UInt8(truncatingIfNeeded: round &* 31 + step)
                }
                if let report = try? inspect(bytes) { #expect(!report.lines.isEmpty) }
            }
        }
    }
}
