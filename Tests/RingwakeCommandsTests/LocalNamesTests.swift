import Testing

@testable import RingwakeCommands

@Suite("Names, addresses and folders that setup takes")
struct LocalNamesTests {
    @Test("Its addresses are IPv4, each once, and none is loopback or link-local")
    func addresses() {
        let names = LocalNames()
        for address in names.addresses {
            #expect(address.split(separator: ".").count == 4, "\(address)")
            #expect(!address.hasPrefix("127.") && !address.hasPrefix("169.254."), "\(address)")
        }
        #expect(Set(names.addresses).count == names.addresses.count)
        #expect(names.all.count == names.addresses.count + (names.hostName == nil ? 0 : 1))
        #expect(names.preferred.map(names.all.contains) ?? true)
    }

    @Test(
        "A listener is a numeric address and a port",
        arguments: [
            ("127.0.0.1:2197", true), ("[::]:0", true), ("0.0.0.0:65535", true), ("localhost:2197", false),
            ("1.2.3.4", false),
            ("::1:2197", false), ("[1.2.3.4]:1", false), ("1.2.3.4:65536", false), ("1.2.3.4:", false), ("", false),
        ])
    func listeners(text: String, isGood: Bool) {
        #expect((ListenAddress(argument: text) != nil) == isGood)
    }

    @Test("The standard folder is the system's for root, else in the user's configuration home")
    func folders() {
        func folder(_ variables: [String: String], _ user: UInt32 = 1000) -> String {
            StandardDirectory.configuration(
                in: CommandContext(output: Output(), errors: Output(), environment: { variables[$0] }, userID: user))
        }
        #expect(folder(["XDG_CONFIG_HOME": "/x"], 0) == "/etc/ringwake")
        #expect(folder(["XDG_CONFIG_HOME": "/x", "HOME": "/h"]) == "/x/ringwake")
        #expect(folder(["XDG_CONFIG_HOME": "x", "HOME": "/h"]) == "/h/.config/ringwake")
    }
}
