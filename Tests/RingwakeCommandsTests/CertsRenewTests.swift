import FoundationEssentials
import Testing

@testable import RingwakeCommands

@Suite("ringwake certs renew")
struct CertsRenewTests {
    private let directory = TemporaryDirectory()

    init() {
        #expect(ringwake(["certs", "dev-ca", "--directory", directory.path]).status == 0)
    }

    private func renew(_ more: [String] = [], at daemon: FakeDaemon? = nil) -> Ran {
        let socket = daemon?.socket ?? directory.path + "/none.sock"
        return ringwake(["certs", "renew", "--directory", directory.path, "--socket", socket] + more)
    }

    /// A daemon that uses the certificates in `directory`.
    private func daemon(reload: FakeDaemon.Reply = .json(Sample.reload)) -> FakeDaemon {
        let certificate = directory.path + "/server.pem"
        return FakeDaemon { line in
            line.hasPrefix("POST /v1/reload") ? reload : .json(Sample.status(certificate: certificate))
        }
    }

    private struct Message: Decodable {
        struct File: Decodable {
            let path: String
            let state: String
            let daysLeft: Int64?
        }
        let schema: Int
        let files: [File]
        let authority: File
        let daemon: String
    }

    private func message(_ ran: Ran) throws -> Message {
        try JSONDecoder().decode(Message.self, from: Data(ran.output.utf8))
    }

    @Test("with nothing due it says what ends first, and asks no daemon to reload")
    func nothing() {
        let daemon = daemon()
        let ran = renew(at: daemon)
        #expect(ran.status == 0)
        #expect(
            ran.output.contains(
                "Nothing to renew: the first one, \(directory.path)/voip-services-com.example.phone.pem, ends 20"))
        #expect(ran.output.contains("days left)."))
        #expect(!daemon.requestLines.contains { $0.hasPrefix("POST") })
    }

    @Test("it renews, and the daemon reloads")
    func renews() throws {
        let (daemon, old) = (daemon(), directory.read("server.pem"))
        let ran = renew(["--all", "--json"], at: daemon)
        #expect(ran.status == 0)
        let message = try message(ran)
        #expect(message.schema == 1 && message.daemon == "reloaded" && message.authority.state == "valid")
        #expect(message.files.map(\.state) == ["renewed", "renewed"])
        #expect(directory.read("server.pem") != old)
        #expect(daemon.requestLines.last == "POST /v1/reload HTTP/1.1")
        let text = renew(["--all"], at: daemon).output
        #expect(text.contains("The daemon uses them now.") && text.contains("Copy the renewed provider certificates"))
    }

    @Test("without a daemon it renews too, and says so")
    func withoutDaemon() throws {
        #expect(try message(renew(["--all", "--json"])).daemon == "notRunning")
        #expect(renew(["--all"]).output.contains("No daemon runs"))
    }

    @Test("a daemon with another folder is left alone")
    func otherDirectory() throws {
        let daemon = FakeDaemon { _ in .json(Sample.status(certificate: "/certs/server.pem")) }
        let ran = renew(["--all"], at: daemon)
        #expect(ran.status == 0 && ran.output.contains("uses another directory"))
        #expect(!daemon.requestLines.contains { $0.hasPrefix("POST") })
    }

    @Test("a refused reload is an error after the report")
    func refused() throws {
        let refusal = #"{"schema":1,"error":"bad-configuration","message":"x.toml:2: no"}"#
        let ran = renew(["--all", "--json"], at: daemon(reload: .json(status: 500, refusal)))
        #expect(ran.status == 9)
        #expect(try message(ran).daemon == "refused")
        #expect(ran.errors.contains("renewed, but") && ran.errors.contains("x.toml:2: no"))
    }

    @Test("a certificate of another CA that ends soon is an exit status of 1")
    func foreign() {
        let other = TemporaryDirectory()
        #expect(ringwake(["certs", "dev-ca", "--directory", other.path]).status == 0)
        directory.write(other.read("server.pem") ?? "", to: "server.pem")
        let ran = renew(["--all"])
        #expect(ran.status == 1)
        #expect(ran.output.contains("foreign") && ran.output.contains("it was issued by 'Ringwake Development CA"))
        #expect(renew(["--within", "1d"]).status == 0)
    }

    @Test("the folder is the daemon's if none is given, else the standard one")
    func defaultDirectory() {
        let ran = ringwake(["certs", "renew", "--all"], at: daemon())
        #expect(ran.status == 0 && ran.output.contains(directory.path + "/server.pem"))
        let home = TemporaryDirectory()
        let none = ringwake(
            ["certs", "renew", "--socket", home.path + "/none"], environment: ["XDG_CONFIG_HOME": home.path])
        #expect(none.status == 5 && none.errors.contains(home.path + "/ringwake/certs"))
    }

    @Test("dev-ca prints each team's own key and topics")
    func teams() {
        let second = ringwake([
            "certs", "dev-ca", "--directory", directory.path, "--team", "OTHERTEAM1", "--app", "org.example.door",
        ])
        #expect(second.output.contains("id = \"OTHERTEAM1\"\ntopics = [\"org.example.door.voip\"]\n"))
        let first = ringwake(["certs", "dev-ca", "--directory", directory.path])
        #expect(first.output.contains("topics = [\"com.example.phone.voip\"]\n"))
        let key = { (text: String) in text.split(separator: "\n").first { $0.hasPrefix("file = ") } }
        #expect(key(first.output) != key(second.output))
    }
}
