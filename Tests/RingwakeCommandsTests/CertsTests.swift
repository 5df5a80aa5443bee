import Testing
import VoIPCertificates

@testable import RingwakeCommands

@Suite("ringwake certs")
struct CertsTests {
    private let directory = TemporaryDirectory()

    private func devCA(_ more: [String] = []) -> Ran {
        ringwake(["certs", "dev-ca", "--directory", directory.path] + more)
    }

    @Test("dev-ca lists what it made and the configuration that uses it; a second run keeps it")
    func developmentCA() throws {
        let ran = devCA(["--app", "com.example.phone", "--app", "com.example.door", "--team", "TEAM123456"])
        #expect(ran.status == 0)
        #expect(ran.output.contains("made  \(directory.path)/voip-services-com.example.door.p12"))
        #expect(ran.output.contains("certificate = \"\(directory.path)/server.pem\"\n"))
        #expect(ran.output.contains("[[team]]\nid = \"TEAM123456\"\n"))
        #expect(ran.output.contains("ringwake app add com.example.door --exec"))
        let again = devCA(["--app", "com.example.phone", "--team", "TEAM123456"])
        #expect(again.status == 0 && again.output.contains("kept") && !again.output.contains("made"))
        let otherName = devCA(["--team", "TEAM123456", "--host", "phone.example.net"])
        #expect(otherName.status == 1 && otherName.errors.contains("--force"))
    }

    @Test("each file is listed once, as new when any app made it")
    func merges() throws {
        let ran = devCA(["--json", "--app", "com.example.phone", "--app", "com.example.door"])
        #expect(ran.output.contains(#""schema" : 1"#))
        #expect(ran.output.count(of: "\(directory.path)/server.pem\"\n") == 1)
        #expect(!ran.output.contains(#""isNew" : false"#))
    }

    @Test("show explains each file, and exits with 1 for one that cannot be used")
    func show() {
        directory.write("secret\n", to: "password")
        directory.write("wrong\n", to: "wrong")
        #expect(devCA(["--p12-password-file", directory.path + "/password"]).status == 0)
        let path = { (name: String) in directory.path + "/" + name }
        let pem = path("voip-services-com.example.phone.pem")
        let good = ringwake(["certs", "show", pem, path("ca.pem"), "--json"])
        #expect(good.status == 0)
        #expect(
            good.output.contains(#""kind" : "voip-provider-certificate""#) && good.output.contains(#""schema" : 1"#))
        let pkcs12 = path("voip-services-com.example.phone.p12")
        #expect(ringwake(["certs", "show", pkcs12, "--password-file", path("password")]).status == 0)
        #expect(ringwake(["certs", "show", pkcs12, "--password-file", path("wrong")]).status == 4)
        #expect(ringwake(["certs", "show", pkcs12], environment: ["RINGWAKE_PASSWORD": "secret"]).status == 0)
        #expect(ringwake(["certs", "show", pkcs12]).status == 4)
        #expect(ringwake(["certs", "show", path("none.pem")]).status == 5)
        #expect(ringwake(["certs", "show", "/"]).status == 1)
        directory.write("garbage", to: "garbage")
        #expect(ringwake(["certs", "show", path("garbage")]).status == 1)
        directory.write((directory.read("ca.pem") ?? "") + (directory.read("server.key") ?? ""), to: "mixed.pem")
        let mixed = ringwake(["certs", "show", path("mixed.pem")])
        #expect(mixed.status == 1 && mixed.output.contains("error:"))
    }
}

extension String {
    fileprivate func count(of text: String) -> Int { ranges(of: text).count }
}
