import Cryptography
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

    @Test("a request, what a CA makes of it, and the files for senders")
    func request() throws {
        let path = { (name: String) in directory.path + "/" + name }
        let made = ringwake(["certs", "request", "--app", "com.example.phone", "--directory", directory.path])
        #expect(made.status == 0)
        let stem = path("voip-services-com.example.phone")
        #expect(made.output.contains("made  \(stem).certSigningRequest"))
        #expect(made.output.contains("ringwake certs import voip_services.cer --directory \(directory.path)\n"))
        #expect(!made.output.contains("p256"))
        let again = [
            "certs", "request", "--app", "com.example.phone", "--directory", directory.path, "--key-type", "p256",
        ]
        #expect(ringwake(again).status == 1)
        let forced = ringwake(again + ["--force", "--json"])
        #expect(forced.status == 0 && forced.output.contains(#""keyType" : "EC P-256""#))
        #expect(forced.output.contains(#""schema" : 1"#))

        let key = try PrivateKey(pem: Array((directory.read("voip-services-com.example.phone.key") ?? "").utf8))
        let now = WallClock.seconds()
        let template = CertificateTemplate(
            subject: .init(
                userID: "com.example.phone.voip", commonName: "VoIP Services: com.example.phone",
                organizationalUnit: "TEAM123456"),
            role: .provider(
                AppleExtensions(
                    isDevelopment: true, isProduction: true, isVoIP: true,
                    topics: [.init(topic: "com.example.phone.voip", purposes: ["voip"])])),
            notBefore: now - 60, notAfter: now + 100 * 86_400)
        directory.write(
            String(decoding: try CertificateIssuer.selfSigned(template, key: key).pem, as: UTF8.self), to: "portal.pem")
        let imported = ringwake(["certs", "import", path("portal.pem"), "--directory", directory.path])
        #expect(imported.status == 0, "\(imported.errors)")
        #expect(imported.output.hasPrefix("made  \(stem).pem  "))
        #expect(imported.output.contains("key from        \(stem).key"))
        #expect(imported.output.contains("ringwake team add TEAM123456 --topic com.example.phone.voip\n"))
        let json = ringwake(["certs", "import", path("portal.pem"), "--directory", directory.path, "--json"])
        #expect(json.status == 0 && json.output.contains(#""isNew" : false"#))

        directory.write("secret\n", to: "password")
        let export = ["certs", "export", stem + ".pem", path("new.p12"), "--p12-password-file", path("password")]
        #expect(ringwake(export).status == 0)
        #expect(ringwake(export).status == 1)
        #expect(ringwake(export + ["--legacy", "--force"]).status == 0)
        #expect(ringwake(["certs", "import", path("new.p12"), "--directory", directory.path]).status == 4)
        let known = ["RINGWAKE_PASSWORD": "secret"]
        #expect(
            ringwake(["certs", "import", path("new.p12"), "--directory", directory.path], environment: known).status
                == 0)
        #expect(ringwake(["certs", "export", path("new.p12"), path("new.pem")], environment: known).status == 0)
        #expect(directory.read("new.pem") == directory.read("voip-services-com.example.phone.pem"))
        #expect(ringwake(["certs", "import", path("portal.pem"), "--directory", path("elsewhere")]).status == 5)
        for arguments in [["new.txt"], ["new2.pem", "--legacy"], ["new2.pem", "--p12-password-file", "x"]] {
            #expect(ringwake(["certs", "export", stem + ".pem"] + arguments).status == 2, "\(arguments)")
        }
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
