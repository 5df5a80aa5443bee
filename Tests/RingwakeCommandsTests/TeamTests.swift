import ControlProtocol
import Cryptography
import RingwakeCore
import Testing

@testable import RingwakeCommands

@Suite("Teams: their files, and what is said of them")
struct TeamTests {
    private let directory = TemporaryDirectory()

    @Test("A team's file has its topics and the public half of each key, and no secret")
    func file() throws {
        let key = try P256PrivateKey.generate()
        directory.write(String(decoding: try key.pem, as: UTF8.self), to: "AuthKey_ABC123DEFG.p8")
        let read = try TeamFile.key(of: directory.path + "/AuthKey_ABC123DEFG.p8", id: nil)
        #expect(read.id == "ABC123DEFG")
        var file = TeamFile(id: "TEAM123456", topics: ["a.voip", "b\"c"])
        try file.add(read)
        let pem = String(decoding: try key.publicKeyPEM, as: UTF8.self)
        #expect(
            file.text == """
                \(TeamFile.mark)
                topics = ["a.voip", "b\\"c"]

                [[key]]
                id = "ABC123DEFG"
                public = \"""
                \(pem)\"""

                """)
        #expect(TeamFile(id: "T", topics: nil).text == TeamFile.mark + "\n")
        let asked = ConfigurationMessage.Team(id: "T", file: "f", topics: nil, keys: [], outcome: true)
        #expect(TeamFile(asked).text == TeamFile.mark + "\noutcome = true\n")
        var posted = ConfigurationMessage.Team(id: "T", file: "f", topics: nil, keys: [])
        posted.webhook = .init(url: "https://example.org/", secretFile: "/t/T.webhook", caFile: "/t/ca.pem")
        #expect(
            TeamFile(posted).text == """
                \(TeamFile.mark)
                webhook = "https://example.org/"
                webhook_secret = "/t/T.webhook"
                webhook_ca = "/t/ca.pem"

                """)
    }

    @Test("A new secret stands before the newest of the present ones")
    func secrets() throws {
        let first = try TeamWebhookFile.renewed(nil)
        #expect(first.text == first.secret + "\n")
        let second = try TeamWebhookFile.renewed(Array(first.text.utf8))
        #expect(second.text == "\(second.secret)\n\(first.secret)\n")
        let third = try TeamWebhookFile.renewed(Array(second.text.utf8))
        #expect(third.text == "\(third.secret)\n\(second.secret)\n")
    }

    @Test("The same key may come twice; another one with its id is a conflict")
    func keys() throws {
        var file = TeamFile(id: "T", topics: nil, keys: [("A", "one")])
        try file.add(("A", "one"))
        #expect(file.keys.count == 1)
        let error = #expect(throws: RingwakeError.self) { try file.add(("A", "two")) }
        #expect(error?.code == .conflict && error?.message.contains("key retire") == true)
    }

    @Test("The key's id comes from a name like Apple's, or has to be given")
    func keyIDs() {
        directory.write("x", to: "key.p8")
        let error = #expect(throws: RingwakeError.self) { try TeamFile.key(of: directory.path + "/key.p8", id: nil) }
        #expect(error?.code == .invalidRequest && error?.message.contains("--key-id") == true)
        let damaged = #expect(throws: RingwakeError.self) { try TeamFile.key(of: directory.path + "/key.p8", id: "A") }
        #expect(damaged?.code == .badCredential && damaged?.message.contains(directory.path) == true)
        let empty = #expect(throws: RingwakeError.self) { try TeamFile.key(of: directory.path + "/key.p8", id: "") }
        #expect(empty?.code == .invalidRequest)
        #expect(TeamFile.note(onKeyID: "ABC123DEFG") == "")
        #expect(TeamFile.note(onKeyID: "abc").hasPrefix("note: Apple's key ids"))
    }

    @Test(
        "An id is a file name",
        arguments: [("TEAM123456", true), ("a-b_c", true), ("", false), ("a/b", false), ("a.b", false)])
    func ids(id: String, isGood: Bool) {
        #expect(TeamFile.isID(id) == isGood)
        #expect(!TeamFile.isID(String(repeating: "a", count: 65)))
    }

    @Test("Only a file that this program wrote is its to change")
    func ours() throws {
        directory.write(TeamFile(id: "T", topics: nil).text, to: "ours.toml")
        directory.write("# mine\n", to: "theirs.toml")
        #expect(try TeamFile.isOurs(directory.path + "/ours.toml"))
        #expect(try !TeamFile.isOurs(directory.path + "/theirs.toml"))
    }

    @Test("An app that no team may send to says so, and what to do")
    func noTeam() {
        let daemon = FakeDaemon { _ in .json(Sample.app(teams: "")) }
        let ran = ringwake(["app", "show", "com.example.phone"], at: daemon)
        #expect(
            ran.output.contains(
                "none, so every push is refused; add one: 'ringwake team add ID --app com.example.phone'"))
        let other = FakeDaemon { _ in .json(Sample.app) }
        #expect(!ringwake(["app", "show", "com.example.phone"], at: other).output.contains("refused"))
    }

    @Test(
        "A device's teams are its gateway's, and that is what its apps say",
        arguments: [
            ("", #""gateway":"example.com:8883","onlyGateway":true"#, "those of the gateway example.com:8883"),
            ("", #""gateway":"example.com:8883""#, "those of the gateway example.com:8883"),
            (#""T1""#, #""gateway":"example.com:8883""#, "T1, and those of the gateway example.com:8883"),
            (
                "", #""onlyGateway":true"#,
                "those of the gateway; this device is not paired with one: run 'ringwake link pair'"
            ),
        ])
    func gatewayTeams(teams: String, more: String, text: String) {
        let app = Sample.app(teams: teams).replacing(#""state":"#, with: more + #","state":"#)
        let daemon = FakeDaemon { _ in .json(app) }
        let ran = ringwake(["app", "show", "com.example.phone"], at: daemon)
        #expect(ran.output.contains("teams     \(text)\n"))
        // A SIP client's parameters need the name of a team that only the gateway knows.
        let contact = ringwake(
            ["app", "show", "com.example.phone", "--pn", "--environment", "production", "--team", "OPERATOR01"],
            at: daemon)
        #expect(contact.output.contains("OPERATOR01"))
        guard teams.isEmpty else { return }
        let unnamed = ringwake(["app", "show", "com.example.phone", "--pn", "--environment", "production"], at: daemon)
        #expect(unnamed.errors.contains("are the gateway's; name one with --team"))
    }

    @Test("A device has no teams of its own, and none is to be added")
    func noTeamOfDevice() {
        func text(_ isDevice: Bool) -> String {
            let message = TeamListMessage(teams: [], setAside: [], webhooks: [], isDevice: isDevice)
            return TeamText.text(of: message, style: TextStyle(isEnabled: false))
        }
        #expect(text(true) == "no teams: this device takes pushes from its gateway, whose teams may send\n")
        #expect(text(false).contains("add one with 'ringwake team add'"))
    }
}
