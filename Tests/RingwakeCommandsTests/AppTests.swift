import Glibc
import Testing

@testable import RingwakeCommands

@Suite("ringwake app")
struct AppTests {
    private let apps = TemporaryDirectory()
    private static let file = "com.example.phone.toml"

    /// A daemon whose folder of apps is `apps`; it refuses a reload when told to.
    private func daemon(reload: FakeDaemon.Reply = .json(Sample.reload)) -> FakeDaemon {
        let directory = apps.path
        return FakeDaemon { line in
            if line.hasPrefix("GET /v1/status") { return .json(Sample.status(appsDirectory: directory)) }
            if line.hasPrefix("POST /v1/reload") { return reload }
            return .json(Sample.app)
        }
    }

    private static let refusal = FakeDaemon.Reply.json(
        status: 500, #"{"schema":1,"error":"bad-configuration","message":"apps.d/x.toml:2: no"}"#)

    private func add(_ daemon: FakeDaemon, _ more: [String] = [], exec: String = "/bin/true") -> Ran {
        ringwake(["app", "add", "com.example.phone", "--exec", exec] + more, at: daemon)
    }

    @Test("add writes the file, reloads, and prints topic and tokens")
    func adds() {
        let daemon = daemon()
        let ran = add(daemon, ["--arg", "-v", "--", "a\"b"])
        #expect(ran.status == 0)
        #expect(ran.output.contains("com.example.phone.voip") && ran.output.contains("00ff"))
        #expect(apps.read(Self.file)?.hasSuffix("[wake]\nexec = [\"/bin/true\", \"-v\", \"a\\\"b\"]\n") == true)
        #expect(
            daemon.requestLines.map { $0.split(separator: " ")[1] } == [
                "/v1/status", "/v1/reload", "/v1/apps/com.example.phone",
            ])
    }

    @Test("add writes how many handlers run and whose payloads it gets, and no other word for them")
    func addsMore() {
        let daemon = daemon()
        #expect(add(daemon, ["--instances", "call", "--payload", "flexisip"]).status == 0)
        #expect(
            apps.read(Self.file)?.hasSuffix(
                "[wake]\nexec = [\"/bin/true\"]\ninstances = \"call\"\n\n[payload]\npreset = \"flexisip\"\n") == true)
        #expect(add(daemon, ["--replace", "--instances", "app", "--payload", "twilio"]).status == 0)
        #expect(
            apps.read(Self.file)?.hasSuffix(
                "[wake]\nexec = [\"/bin/true\"]\n\n[payload]\npreset = \"twilio\"\n") == true)
        let asked = daemon.requests.count
        let preset = add(daemon, ["--replace", "--payload", "asterisk"])
        #expect(preset.status == 2 && preset.errors.contains("flexisip"))
        let instances = add(daemon, ["--replace", "--instances", "push"])
        #expect(instances.status == 2 && instances.errors.contains("call"))
        #expect(daemon.requests.count == asked)
    }

    @Test("show says where senders push to, with each environment, and nothing where the daemon does not know it")
    func showsPushAddresses() {
        let address = #"},"pushAddresses":{"development":"phone.example.org:2197""#
        let app = Sample.app(tokens: #""development":"00ff""# + address)
        let output = ringwake(["app", "show", "com.example.phone"], at: FakeDaemon { _ in .json(app) }).output
        #expect(output.contains("phone.example.org:2197 (development)"))
        let other = FakeDaemon { _ in .json(Sample.app) }
        #expect(!ringwake(["app", "show", "com.example.phone"], at: other).output.contains("push to"))
    }

    @Test("a refused reload leaves no file, or the old one, and passes the daemon's message on")
    func undoes() {
        let ran = add(daemon(reload: Self.refusal))
        #expect(ran.status == 9)
        #expect(ran.errors.contains("apps.d/x.toml:2: no"))
        #expect(apps.read(Self.file) == nil)
        apps.write("old", to: Self.file)
        #expect(add(daemon(reload: Self.refusal), ["--replace"]).status == 9)
        #expect(apps.read(Self.file) == "old")
    }

    @Test("an app that is there is a conflict unless it is to be replaced")
    func conflicts() {
        apps.write("old", to: Self.file)
        let daemon = daemon()
        let ran = add(daemon)
        #expect(ran.status == 1 && ran.errors.contains("--replace"))
        #expect(apps.read(Self.file) == "old")
        #expect(add(daemon, ["--replace"]).status == 0)
        #expect(apps.read(Self.file) != "old")
    }

    @Test("a program that is relative, missing or not executable is refused before anything is written")
    func checksProgram() {
        apps.write("", to: "plain")
        let daemon = daemon()
        #expect(add(daemon, exec: "bin/true").status == 2)
        #expect(add(daemon, exec: "/nowhere/handler").status == 5)
        #expect(add(daemon, exec: apps.path + "/plain").status == 2)
        #expect(add(daemon, exec: apps.path).status == 2)
        #expect(daemon.requests.isEmpty)
        #expect(add(daemon, ["--force"], exec: "/nowhere/handler").status == 0)
    }

    @Test("remove takes the file away first, and puts it back when the daemon refuses")
    func removes() {
        apps.write("old", to: Self.file)
        let daemon = daemon()
        let ran = ringwake(["app", "remove", "com.example.phone"], at: daemon)
        #expect(ran.status == 0 && ran.output.contains("410 Unregistered"))
        #expect(apps.read(Self.file) == nil)
        #expect(daemon.requestLines.last == "DELETE /v1/apps/com.example.phone HTTP/1.1")

        apps.write("old", to: Self.file)
        let directory = apps.path
        let refusing = FakeDaemon { line in
            line.hasPrefix("DELETE")
                ? .json(status: 403, #"{"schema":1,"error":"not-permitted","message":"no"}"#)
                : .json(Sample.status(appsDirectory: directory))
        }
        #expect(ringwake(["app", "remove", "com.example.phone"], at: refusing).status == 4)
        #expect(apps.read(Self.file) == "old")
    }

    @Test("TOML strings escape quotes, backslashes and every control character")
    func tomlStrings() {
        #expect(AppFile.tomlString(#"a"b\c"#) == #""a\"b\\c""#)
        #expect(AppFile.tomlString("a\nb\tc\rd") == #""a\nb\tc\rd""#)
        #expect(AppFile.tomlString("\u{0}\u{1F}\u{7F}é😀") == #""\u0000\u001F\u007Fé😀""#)
        #expect(AppFile.tomlString("a\r\nb") == #""a\r\nb""#)
        #expect(AppFile.tomlString("") == #""""#)
    }
}
