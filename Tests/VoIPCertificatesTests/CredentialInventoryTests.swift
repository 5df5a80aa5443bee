import Cryptography
import FileSystem
import Glibc
import RingwakeCore
import Testing
import VoIPCertificates

@Suite struct CredentialInventoryTests {
    private static let day: Int64 = 86_400

    private let temporary: TemporaryDirectory
    private let folder: String
    private let made: DevelopmentCredentials
    private let now = Int64(time(nil))

    init() throws {
        temporary = try TemporaryDirectory()
        folder = temporary.file("certs")
        var setup = DevelopmentSetup(app: try #require(AppID("com.example.phone")), teamID: "DEVTEAM001")
        setup.serverNames = ["phone.example.org", "192.0.2.7"]
        made = try DevelopmentAuthority(directory: folder, now: now).setUp(setup)
    }

    private var server: ConfiguredCredentials.Server {
        .init(certificate: folder + "/server.pem", key: folder + "/server.key", authorities: [folder + "/ca.pem"])
    }

    private var key: ConfiguredCredentials.TokenKey {
        .init(team: "DEVTEAM001", id: made.keyID, file: made.path(of: .tokenPublicKey) ?? "", pem: nil)
    }

    private func place(_ addresses: [String] = ["0.0.0.0"], inUse: [UInt8]? = nil) -> ServerPlace {
        ServerPlace(addresses: addresses, hostName: "phone", certificateInUse: inUse)
    }

    private func problems(
        _ configured: ConfiguredCredentials, at now: Int64? = nil, in place: ServerPlace? = nil
    ) -> [String] {
        var inventory = CredentialInventory(configured)
        return inventory.problems(at: place ?? self.place(), now: now ?? self.now).map(\.problem)
    }

    @Test("Files that are in order have no problem, and neither has a configuration without files")
    func inOrder() {
        #expect(problems(.init(server: server, keys: [key])) == [])
        #expect(problems(.init(server: nil, keys: [])) == [])
    }

    @Test("The same files become a problem by time alone, errors first")
    func dates() {
        let configured = ConfiguredCredentials(server: server, keys: [key])
        #expect(problems(configured, at: now + 380 * Self.day) == ["ends-soon"])
        #expect(problems(configured, at: now + 500 * Self.day) == ["expired"])
        #expect(problems(configured, at: now - 30 * Self.day) == ["not-yet-valid", "not-yet-valid"])
        #expect(problems(configured, at: now + 20_000 * Self.day) == ["expired", "expired"])
    }

    @Test("A file is read again when it has changed")
    func rereads() throws {
        var inventory = CredentialInventory(.init(server: server, keys: []))
        let inUse = try Certificate(pem: temporary.read("certs/server.pem")).der
        #expect(inventory.problems(at: place(inUse: inUse), now: now) == [])
        var renewal = try CertificateRenewal(directory: folder, now: now)
        renewal.within = 1000 * Self.day
        _ = try renewal.run()
        let found = inventory.problems(at: place(inUse: inUse), now: now)
        #expect(found.map(\.problem) == ["not-loaded"])
        #expect(found.map(\.file) == [folder + "/server.pem"])
        try FileSystem.remove(folder + "/server.key")
        #expect(inventory.problems(at: place(), now: now).map(\.problem) == ["unreadable"])
        try temporary.write([], to: "certs/server.key")
        #expect(inventory.problems(at: place(), now: now).map(\.problem) == ["invalid"])
        try temporary.write(PrivateKey.generate(.p256).pem, to: "certs/server.key")
        #expect(inventory.problems(at: place(), now: now).map(\.problem) == ["other-key"])
    }

    @Test("A key of two teams, under another id, or that is none")
    func tokenKeys() throws {
        let pem = String(decoding: try temporary.read("certs/AuthKey_\(made.keyID).pub.pem"), as: UTF8.self)
        let twin = ConfiguredCredentials.TokenKey(
            team: "OTHER00001", id: "OTHERKEY01", file: "/teams.d/x.toml", pem: pem)
        #expect(problems(.init(server: nil, keys: [key, twin])) == ["shared-key"])
        // Two ids of one team are odd, but nobody can send as somebody else.
        let again = ConfiguredCredentials.TokenKey(team: key.team, id: "OTHERKEY01", file: "/x.toml", pem: pem)
        #expect(problems(.init(server: nil, keys: [key, again])) == [])
        let wrongID = ConfiguredCredentials.TokenKey(team: key.team, id: "OTHERKEY01", file: key.file, pem: nil)
        #expect(problems(.init(server: nil, keys: [wrongID])) == ["other-key"])
        let broken = ConfiguredCredentials.TokenKey(team: key.team, id: "A", file: "/x.toml", pem: "no key")
        #expect(problems(.init(server: nil, keys: [broken])) == ["invalid"])
    }

    @Test("A file of CAs that has another certificate")
    func authorities() {
        let wrong = ConfiguredCredentials.Server(
            certificate: server.certificate, key: server.key, authorities: [server.certificate])
        #expect(problems(.init(server: wrong, keys: [])) == ["no-ca"])
    }

    @Test(
        "Names suit a listener if a sender could use one of them",
        arguments: [
            // The certificate's names, the listener, whether they suit.
            (["phone.example.org"], "0.0.0.0", true),
            (["localhost"], "0.0.0.0", false),
            (["localhost"], "::", false),
            (["localhost"], "127.0.0.1", true),
            (["localhost"], "192.0.2.9", false),
            (["192.0.2.7"], "0.0.0.0", true),
            (["192.0.2.7"], "192.0.2.7", true),
            (["192.0.2.7"], "192.0.2.9", false),
            (["phone"], "0.0.0.0", true),
            (["Phone.local"], "::", true),
            (["desktop.local"], "0.0.0.0", false),
            (["desktop", "desktop.example.org"], "0.0.0.0", true),
            (["::1"], "::", false),
        ])
    func names(names: [String], listener: String, isFine: Bool) throws {
        let folder = temporary.file("named")
        var setup = DevelopmentSetup(app: try #require(AppID("com.example.phone")), teamID: "DEVTEAM001")
        setup.serverNames = names
        // The setup adds the loopback names, which suit no listener for others.
        _ = try DevelopmentAuthority(directory: folder, now: now).setUp(setup)
        let configured = ConfiguredCredentials(
            server: .init(certificate: folder + "/server.pem", key: folder + "/server.key", authorities: []), keys: [])
        #expect(problems(configured, in: place([listener])) == (isFine ? [] : ["wrong-names"]))
    }
}
