import Cryptography
import FileSystem
import Glibc
import RingwakeCore
import Testing
import VoIPCertificates

@Suite struct CertificateRenewalTests {
    static let day: Int64 = 86_400

    let temporary: TemporaryDirectory
    let directory: String
    let app: AppID
    let now = Int64(time(nil))

    init() throws {
        temporary = try TemporaryDirectory()
        directory = temporary.file("certs")
        app = try #require(AppID("com.example.phone"))
        _ = try setUp()
    }

    @discardableResult
    private func setUp(
        _ app: AppID? = nil, _ change: (inout DevelopmentSetup) -> Void = { _ in }
    ) throws -> DevelopmentCredentials {
        var setup = DevelopmentSetup(app: app ?? self.app, teamID: "DEVTEAM001")
        setup.serverNames = ["phone.example.org", "192.0.2.7"]
        change(&setup)
        return try DevelopmentAuthority(directory: directory, now: now).setUp(setup)
    }

    private func renew(
        at now: Int64, _ change: (inout CertificateRenewal) -> Void = { _ in }
    ) throws -> RenewalReport {
        var renewal = try CertificateRenewal(directory: directory, now: now)
        change(&renewal)
        return try renewal.run()
    }

    private func certificate(_ name: String) throws -> Certificate {
        try Certificate(pem: temporary.read("certs/\(name)"))
    }

    private static let provider = "voip-services-com.example.phone"

    @Test("Nothing is touched while everything is valid for long enough")
    func nothingDue() throws {
        let names = try temporary.names(in: directory)
        let contents = try names.map { try temporary.read("certs/\($0)") }
        let report = try renew(at: now + 360 * Self.day)
        #expect(report.renewed.isEmpty)
        #expect(report.files.map(\.state) == [.valid, .valid])
        #expect(report.files.map(\.daysLeft) == [37, 35])
        #expect(try names.map { try temporary.read("certs/\($0)") } == contents)
    }

    @Test("What is due is renewed with its names, team, topics and key, expired or not", arguments: [380, 500])
    func renews(days: Int64) throws {
        let (server, provider) = (try certificate("server.pem"), try certificate(Self.provider + ".pem"))
        let serverKey = try temporary.read("certs/server.key")
        let later = now + days * Self.day
        let report = try renew(at: later)
        #expect(report.renewed.map(\.kind) == [.serverCertificate, .providerCertificate])
        #expect(report.files.map(\.daysLeft) == [397, 395])
        #expect(report.authority.state == .valid)
        let authority = try certificate("ca.pem")
        for (name, old) in [("server.pem", server), (Self.provider + ".pem", provider)] {
            let new = try certificate(name)
            #expect(try new.isIssued(by: authority))
            #expect(new.serialNumber != old.serialNumber && new.publicKeyDER == old.publicKeyDER)
            #expect(new.notBefore == later - 3600 && new.notAfter - new.notBefore == old.notAfter - old.notBefore)
            #expect(new.subjectCommonName == old.subjectCommonName && new.subjectUserID == old.subjectUserID)
            #expect(new.organizationalUnit == old.organizationalUnit)
            #expect(new.subjectAlternativeNames == old.subjectAlternativeNames)
            #expect(new.appleExtensions == old.appleExtensions)
        }
        #expect(try temporary.read("certs/server.key") == serverKey)
        let pem = try temporary.read("certs/\(Self.provider).pem")
        #expect(try PrivateKey(pem: pem).isKey(of: Certificate(pem: pem)))
        let packed = try PKCS12.read(temporary.read("certs/\(Self.provider).p12"), password: "")
        #expect(try packed.certificate.der == Certificate(pem: pem).der && packed.chain.map(\.der) == [authority.der])
        #expect(try renew(at: later).renewed.isEmpty)
    }

    @Test("A renewed file keeps its mode, owner and group; so does one that dev-ca issues anew")
    func attributes() throws {
        let path = temporary.file("certs/server.pem")
        var attributes = try FileSystem.attributes(of: path)
        attributes.mode = 0o640
        if geteuid() == 0 { (attributes.owner, attributes.group) = (1234, 2345) }
        try FileSystem.setAttributes(attributes, of: path)
        _ = try renew(at: now + 380 * Self.day)
        #expect(try FileSystem.attributes(of: path) == attributes)
        let (key, serial) = (try temporary.read("certs/server.key"), try certificate("server.pem").serialNumber)
        try setUp { $0.force = true }
        #expect(try FileSystem.attributes(of: path) == attributes)
        #expect(try certificate("server.pem").serialNumber != serial)
        #expect(try temporary.read("certs/server.key") == key)
    }

    @Test("In a folder that the daemon's group reads, root makes a key that the group reads")
    func group() throws {
        guard geteuid() == 0 else { return }
        let shared = temporary.file("shared")
        try FileSystem.createDirectory(shared, mode: 0o750)
        try FileSystem.setAttributes(FileAttributes(owner: 0, group: 2345, mode: 0o750), of: shared)
        let made = try DevelopmentAuthority(directory: shared, now: now)
            .setUp(DevelopmentSetup(app: app, teamID: "DEVTEAM001"))
        for file in made.files {
            let attributes = try FileSystem.attributes(of: file.path)
            let mode: UInt32 = file.kind == .serverKey ? 0o640 : file.kind.isSecret ? 0o600 : 0o644
            #expect(attributes == FileAttributes(owner: 0, group: 2345, mode: mode), "\(file.path)")
        }
    }

    @Test("A foreign certificate is never touched; when it ends soon, that is said")
    func foreign() throws {
        let other = try DevelopmentAuthority(directory: temporary.file("other"), now: now)
        _ = try other.setUp(DevelopmentSetup(app: app, teamID: "DEVTEAM001"))
        let foreign = try temporary.read("other/server.pem")
        try temporary.write(foreign, to: "certs/server.pem")
        let early = try renew(at: now)
        #expect(early.files.map(\.state) == [.foreign, .valid])
        #expect(early.files.allSatisfy { !$0.needsAttention })
        let report = try renew(at: now + 390 * Self.day)
        #expect(report.files.map(\.state) == [.foreign, .renewed])
        #expect(report.files.first?.needsAttention == true)
        let issuer = other.certificate.subjectCommonName ?? "none"
        #expect(report.files.first?.why?.contains("'\(issuer)'") == true)
        #expect(try temporary.read("certs/server.pem") == foreign)
    }

    @Test("A damaged file, or a key of another certificate, costs itself and nothing else")
    func damaged() throws {
        try temporary.write(Array("nothing".utf8), to: "certs/\(Self.provider).pem")
        let report = try renew(at: now + 390 * Self.day)
        #expect(report.files.map(\.state) == [.renewed, .failed])
        #expect(report.files.last?.why?.contains("no certificate") == true)
        try temporary.write(PrivateKey.generate(.p256).pem, to: "certs/server.key")
        let mismatch = try renew(at: now + 1000 * Self.day)
        #expect(mismatch.files.first?.state == .failed)
        #expect(mismatch.files.first?.why?.contains("server.key is not its key") == true)
        try setUp { $0.force = true }
        #expect(try PrivateKey(pem: temporary.read("certs/server.key")).isKey(of: certificate("server.pem")))
    }

    @Test("PEM and P12 are renewed together: without the P12's password neither is")
    func pkcs12() throws {
        try setUp {
            $0.force = true
            $0.pkcs12Password = "secret"
            $0.isPKCS12Legacy = true
        }
        let serial = try certificate(Self.provider + ".pem").serialNumber
        let later = now + 390 * Self.day
        let locked = try renew(at: later)
        #expect(locked.files.map(\.state) == [.renewed, .failed])
        #expect(locked.files.last?.why?.contains("--p12-password-file") == true)
        #expect(try certificate(Self.provider + ".pem").serialNumber == serial)
        #expect(try renew(at: later) { $0.pkcs12Password = "secret" }.files.map(\.state) == [.valid, .renewed])
        let packed = try temporary.read("certs/\(Self.provider).p12")
        #expect(PKCS12.isLegacy(packed))
        #expect(
            try PKCS12.read(packed, password: "secret").certificate.der == certificate(Self.provider + ".pem").der)
        try setUp { $0.force = true }
        #expect(try !PKCS12.isLegacy(temporary.read("certs/\(Self.provider).p12")))
    }

    @Test("A CA is renewed only when asked, with its key, so that what it issued stays good")
    func authority() throws {
        let (old, server) = (try certificate("ca.pem"), try certificate("server.pem"))
        let later = now + 3655 * Self.day
        let refused = #expect(throws: RingwakeError.self) { try renew(at: later) }
        #expect(refused?.code == .conflict && refused?.message.contains("--ca") == true)
        #expect(try certificate("ca.pem").der == old.der)
        let report = try renew(at: later) { $0.renewsAuthority = true }
        #expect(report.renewed.count == 3)
        let new = try certificate("ca.pem")
        #expect(new.isSelfSigned && new.isCA && new.publicKeyDER == old.publicKeyDER)
        #expect(new.notAfter > later + 3649 * Self.day)
        #expect(try server.isIssued(by: new) && certificate("server.pem").isIssued(by: old))
        _ = try TLSServerContext(
            certificateChainPEM: temporary.read("certs/server.pem"),
            privateKeyPEM: temporary.read("certs/server.key"), providerCAsPEM: temporary.read("certs/ca.pem"),
            alpn: ["h2"])
    }

    @Test("A certificate ends with its CA at the latest, and a clock before the CA's beginning is refused")
    func limits() throws {
        let authority = try certificate("ca.pem")
        let report = try renew(at: now + 3600 * Self.day)
        #expect(report.files.allSatisfy { $0.daysLeft == 50 })
        #expect(try certificate("server.pem").notAfter == authority.notAfter)
        let early = #expect(throws: RingwakeError.self) { try renew(at: now - 2 * Self.day) }
        #expect(early?.message.contains("clock") == true)
    }

    @Test("A folder without a CA, or with half of one, is refused with what to do")
    func noAuthority() throws {
        let none = #expect(throws: RingwakeError.self) {
            try CertificateRenewal(directory: temporary.file("none"), now: now)
        }
        #expect(none?.code == .notFound)
        let empty = #expect(throws: RingwakeError.self) { try CertificateRenewal(directory: temporary.path, now: now) }
        #expect(empty?.code == .notFound && empty?.message.contains("no development CA") == true)
        try FileSystem.remove(temporary.file("certs/ca.key"))
        let half = #expect(throws: RingwakeError.self) { try renew(at: now) }
        #expect(half?.code == .conflict)
    }

    @Test("Each team has a token key of its own in a folder, and its own topics")
    func teams() throws {
        let other = AppID("org.example.intercom")
        let first = try setUp()
        let second = try setUp(other) { $0.provider.teamID = "OTHERTEAM1" }
        #expect(second.keyID != first.keyID)
        #expect(first.teamTopics == ["com.example.phone.voip"] && second.teamTopics == ["org.example.intercom.voip"])
        #expect(try setUp().keyID == first.keyID)
        #expect(try setUp(other) { $0.provider.teamID = "OTHERTEAM1" }.keyID == second.keyID)
        let third = try setUp(AppID("com.example.door"))
        #expect(third.keyID == first.keyID)
        #expect(third.teamTopics == ["com.example.door.voip", "com.example.phone.voip"])
    }

    @Test("A key that older versions made is the first team's, also after a second team came")
    func unmarkedKey() throws {
        let first = try setUp()
        let path = "certs/AuthKey_\(first.keyID).pub.pem"
        let marked = try temporary.read(path)
        try temporary.write(P256PublicKey(pem: marked).pem, to: path)
        let second = try setUp(AppID("org.example.intercom")) { $0.provider.teamID = "OTHERTEAM1" }
        #expect(second.keyID != first.keyID)
        #expect(try setUp().keyID == first.keyID)
        #expect(try temporary.read(path) == marked)
    }
}
