import Reachability
import Testing

@Suite("IP addresses")
struct IPAddressTests {
    @Test(
        "are written as they are read",
        arguments: ["192.0.2.1", "0.0.0.0", "2001:db8::1", "::", "fe80::1%eth0", "fe80::1%3", "ff02::1"])
    func roundTrip(_ text: String) throws {
        #expect(try #require(IPAddress(text)).description == text)
    }

    @Test(
        "are nothing else",
        arguments: [
            "", "192.0.2", "192.0.2.1.", "192.0.2.256", "192.0.2.1%eth0", "2001:db8::1%", "2001:db8::g", "[::1]",
            "::1:80000", "fe80::1%a-name-of-16-byt", "1.2.3.4\0", " 1.2.3.4", "fe80::1%eth0%eth1\0",
        ])
    func refuse(_ text: String) {
        #expect(IPAddress(text) == nil)
    }

    @Test("an IPv4-mapped address is the IPv4 address")
    func mapped() throws {
        let address = try #require(IPAddress("::ffff:192.0.2.1"))
        #expect(address.family == .ipv4)
        #expect(address == IPAddress("192.0.2.1"))
        #expect(address.bytes == [192, 0, 2, 1])
    }

    @Test("bytes make the address that they came from", arguments: ["198.51.100.7", "2001:db8:1:2:3:4:5:6"])
    func bytes(_ text: String) throws {
        let address = try #require(IPAddress(text))
        #expect(IPAddress(bytes: address.bytes) == address)
        #expect(IPAddress(bytes: address.bytes.dropLast()) == nil)
    }

    @Test("know what they are")
    func kinds() throws {
        #expect(try #require(IPAddress("127.8.9.1")).isLoopback)
        #expect(try #require(IPAddress("::1")).isLoopback)
        #expect(try !#require(IPAddress("::2")).isLoopback)
        #expect(try #require(IPAddress("fe80::1")).isLinkLocal)
        #expect(try #require(IPAddress("febf::1")).isLinkLocal)
        #expect(try !#require(IPAddress("fec0::1")).isLinkLocal)
        #expect(try #require(IPAddress("169.254.1.1")).isLinkLocal)
        #expect(try #require(IPAddress("239.1.1.1")).isMulticast)
        #expect(try #require(IPAddress("ff05::2")).isMulticast)
        #expect(try #require(IPAddress("::")).isUnspecified)
    }
}
