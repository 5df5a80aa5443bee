import Testing

@testable import RingwakeDaemon

@Suite("The socket of ringwake-audio")
struct AudioEndpointTests {
    @Test("Whoever listens on the socket is told of calls: root, the daemon's own user, or the one in its name")
    func listeners() {
        let path = "/run/ringwake-audio/1000.sock"
        #expect(AudioEndpoint.isTrusted(1000, at: path, own: 5))
        #expect(AudioEndpoint.isTrusted(0, at: path, own: 5) && AudioEndpoint.isTrusted(5, at: path, own: 5))
        #expect(!AudioEndpoint.isTrusted(1001, at: path, own: 5))
        #expect(!AudioEndpoint.isTrusted(1000, at: "/run/ringwake-audio/11000.sock", own: 5))
    }
}
