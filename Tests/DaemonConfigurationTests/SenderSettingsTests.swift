import RingwakeCore
import Testing

@testable import DaemonConfiguration

@Suite("[senders]: where senders reach this device")
struct SenderSettingsTests {
    @Test("Without it nothing is known")
    func absent() throws {
        let configuration = try ConfigurationTests.Folder("").load()
        #expect(configuration.senders == SenderSettings())
        #expect(PushEnvironment.allCases.allSatisfy { configuration.senders.address(in: $0) == nil })
    }

    @Test("Each environment has its own, and the CA's path starts at the file's folder")
    func whole() throws {
        let folder = try ConfigurationTests.Folder(
            """
            [senders]
            development = "192.0.2.1:2197"
            production = "Phone.example.org"
            ca = "certs/ca.pem"
            """)
        let senders = try folder.load().senders
        #expect(senders.address(in: .development) == SenderAddress("192.0.2.1:2197"))
        #expect(senders.production?.host == "phone.example.org")
        #expect(senders.production?.port == nil)
        #expect(senders.authoritiesFile == folder.path + "/certs/ca.pem")
    }

    @Test("A change needs no restart")
    func reload() throws {
        let old = try ConfigurationTests.Folder("").load()
        let new = try ConfigurationTests.Folder("[senders]\nproduction = \"h:1\"").load()
        let change = Configuration.change(from: old, to: new)
        #expect(!change.needsRestart.contains("senders"))
        #expect(change.configuration.senders == new.senders)
    }

    @Test(
        "An address is a host name or an address, and perhaps a port",
        arguments: [
            ("phone.example.org", "phone.example.org", nil), ("phone:443", "phone", 443),
            ("192.0.2.1", "192.0.2.1", nil), ("192.0.2.1:65535", "192.0.2.1", 65_535),
            ("[2001:DB8::1]", "2001:db8::1", nil), ("[2001:db8::1]:1", "2001:db8::1", 1),
        ] as [(String, String, UInt16?)])
    func address(text: String, host: String, port: UInt16?) throws {
        let address = try #require(SenderAddress(text))
        #expect(address.host == host && address.port == port)
        #expect(SenderAddress(address.description) == address)
    }

    @Test(
        "Anything else is refused, with the line and the form",
        arguments: [
            "", ":443", "phone:", "phone:0", "phone:65536", "phone:+1", "phone:1:2", "2001:db8::1", "[2001:db8::1",
            "[2001:db8::1]2197", "[phone]:443", "[192.0.2.1]:443", "[]:443", "0.0.0.0:443", "[::]:443",
            "[fe80::1%eth0]:443", "phone.example.org.", "https://phone.example.org", "a b", "any",
            "192.0.2.1,192.0.2.2", "300.1.1.1",
        ])
    func refused(text: String) throws {
        #expect(SenderAddress(text) == nil)
        let folder = try ConfigurationTests.Folder("[senders]\nproduction = \"\(text)\"")
        #expect {
            try folder.load()
        } throws: { error in
            let message = (error as? RingwakeError)?.message ?? ""
            return message.contains(":2: 'senders.production' has to be a host name or an address")
        }
    }
}
