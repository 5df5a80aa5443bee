import RingwakeCore
import Testing

@Suite("URLs of webhooks")
struct WebhookURLTests {
    @Test(
        "https goes anywhere, http to this machine only",
        arguments: [
            ("https://example.org", "example.org", false), ("https://Example.org:8443/a?b#c", "example.org", false),
            ("HTTPS://10.0.0.1/x", "10.0.0.1", false), ("https://[2001:db8::1]:443/", "[2001:db8::1]", false),
            ("http://127.0.0.1:8080/x", "127.0.0.1", true), ("http://127.9.9.9", "127.9.9.9", true),
            ("http://[::1]:1/", "[::1]", true), ("http://localhost", "localhost", true),
            ("https://localhost:1/", "localhost", true),
        ])
    func good(text: String, host: String, isLocal: Bool) throws {
        let url = try #require(WebhookURL(text))
        #expect(url.text == text && url.host == host && url.isLocal == isLocal)
    }

    @Test(
        "Anything else is refused",
        arguments: [
            "", "https", "https:", "https://", "https:///x", "example.org", "ftp://localhost/", "http://example.org/",
            "http://127.0.0.1.example.org/", "http://127.example.org/", "http://127.0.0.256/",
            "http://127.0.0.1@example.org/",
            "http://localhost@example.org", "https://user:secret@example.org/", "http://localhost.example.org/",
            "http://example.org\\@127.0.0.1/", "https://example.org:0/", "https://example.org:70000/",
            "https://example.org:x/",
            "https://[::1", "http://[::1]x/", "https://exa mple.org/", "https://example.org/\u{e9}",
            "https://example.org/\n",
            "https://example.org/" + String(repeating: "x", count: 2048),
        ])
    func bad(text: String) { #expect(WebhookURL(text) == nil) }
}
