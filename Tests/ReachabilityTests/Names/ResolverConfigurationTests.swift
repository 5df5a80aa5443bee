import Glibc
import Testing

@testable import Reachability

@Suite("Resolver configuration")
struct ResolverConfigurationTests {
    private func servers(_ text: String) -> [String] {
        ResolverConfiguration(parsing: Array(text.utf8)).nameServers.map(\.description)
    }

    @Test(
        "takes the addresses of nameserver lines",
        arguments: [
            ("nameserver 192.0.2.1\n", ["192.0.2.1"]),
            ("nameserver 192.0.2.1", ["192.0.2.1"]),
            ("nameserver\t 2001:db8::1 \n", ["2001:db8::1"]),
            ("nameserver fe80::1%eth0\n", ["fe80::1%eth0"]),
            (
                "nameserver 192.0.2.1#53\nnameserver 192.0.2.2;x\nnameserver 192.0.2.3 # ours\n",
                [
                    "192.0.2.1", "192.0.2.2", "192.0.2.3",
                ]
            ),
            ("# nameserver 192.0.2.9\n; nameserver 192.0.2.8\nsearch a b\noptions edns0\nnameserver ::1\n", ["::1"]),
            ("nameserver 10.1\n", ["10.0.0.1"]),
            ("nameserver 0.0.0.0\nnameserver ::\n", ["127.0.0.1", "::1"]),
        ])
    func nameServers(_ text: String, _ expected: [String]) {
        #expect(servers(text) == expected)
    }

    @Test(
        "what glibc does not take is no name server, and without one the machine itself is asked",
        arguments: [
            "", "\n\n", "nameserver", "nameserver \n", "nameserver192.0.2.1\n", " nameserver 192.0.2.1\n",
            "NAMESERVER 192.0.2.1\n", "nameserver 192.0.2.256\n", "nameserver dns.example\n", "nameserver [::1]\n",
            "nameserver 192.0.2.1\r\n", "nameserver \0\n", "nameserver 192.0.2.1\01\n", "nameservers 192.0.2.1\n",
        ])
    func noNameServer(_ text: String) {
        #expect(servers(text) == ["127.0.0.1"])
    }

    @Test("no more than the three that glibc asks")
    func atMostThree() {
        let text = "nameserver bad\n" + (1...5).map { "nameserver 192.0.2.\($0)\n" }.joined()
        #expect(servers(text) == ["192.0.2.1", "192.0.2.2", "192.0.2.3"])
    }

    @Test("bytes that are no text do no harm")
    func notText() {
        let bytes = Array("nameserver ".utf8) + [0xff, 0xfe, 0x80] + Array("\nnameserver 192.0.2.1\n".utf8)
        #expect(ResolverConfiguration(parsing: bytes).nameServers == [IPAddress(ipv4: 0xc000_0201)])
    }

    @Test("a file is read; one that is missing, a directory or too long counts as empty")
    func files() throws {
        let directory = try TemporaryDirectory()
        try directory.write("nameserver 192.0.2.7\n", to: "resolv.conf")
        let server = IPAddress(ipv4: 0xc000_0207)
        #expect(ResolverConfiguration(path: directory.file("resolv.conf")).nameServers == [server])
        let local = [ResolverConfiguration.local]
        #expect(ResolverConfiguration(path: directory.file("missing")).nameServers == local)
        #expect(ResolverConfiguration(path: directory.path).nameServers == local)
        let long = "nameserver 192.0.2.7\n" + String(repeating: "#", count: ResolverConfiguration.maximumSize)
        try directory.write(long, to: "long")
        #expect(ResolverConfiguration(path: directory.file("long")).nameServers == local)
        #expect(mkfifo(directory.file("pipe"), 0o600) == 0)
        #expect(ResolverConfiguration(path: directory.file("pipe")).nameServers == local)
    }
}
