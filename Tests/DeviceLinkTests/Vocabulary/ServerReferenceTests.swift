import DeviceLink
import Testing

@Suite struct ServerReferenceTests {
    @Test(
        "A reference is a host with a port, or with the standard one; of several the first counts",
        arguments: [
            ("push.example.com:443", "push.example.com:443"), ("push.example.com", "push.example.com:8883"),
            ("192.0.2.7:8883 other:1", "192.0.2.7:8883"), ("[2001:db8::7]", "[2001:db8::7]:8883"),
            ("[2001:db8::7]:443", "[2001:db8::7]:443"),
        ])
    func valid(text: String, read: String) {
        #expect(ServerReference(text)?.description == read)
    }

    @Test(
        "What is no host and port is no reference",
        arguments: [
            "", " ", ":443", "host:", "host:0", "host:65536", "host:1:2", "2001:db8::7", "[::1", "[]:1", "[host]:1",
            "[::1]1", "ho/st", "häuser:1", "host\n:1", String(repeating: "a", count: 254),
        ])
    func invalid(text: String) {
        #expect(ServerReference(text) == nil)
    }
}
