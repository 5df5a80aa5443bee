import HTTPServer
import RingwakeCore
import RunLoop
import Testing

/// Clients that nobody here wrote, over real TLS.
@MainActor @Suite(.serialized) struct HTTP2ClientTests {
    @Test("curl posts over HTTP/2 and reads status, fields and body")
    func curl() throws {
        let loop = try TestLoop()
        let server = try H2TestServer(loop)
        defer { server.stop() }
        server.onRequest = { _, exchange in exchange.respond(.refused) }
        let child = try TestChild(
            [
                "/usr/bin/curl", "-sik", "--http2", "-w", "%{http_version} %{http_code}", "-H", "apns-topic: a.voip",
                "--data-binary", "{\"a\":1}", "https://localhost:\(server.port)/3/device/00ff?x=%20",
            ], loop)
        #expect(loop.drive { child.isDone })
        #expect(child.output.hasPrefix("HTTP/2 400"))
        #expect(child.output.contains("content-type: application/json"))
        #expect(child.output.hasSuffix("{\"reason\":\"BadDeviceToken\"}2 400"))
        let request = server.requests.first
        #expect(request?.method == "POST")
        #expect(request?.path == "/3/device/00ff?x=%20")
        #expect(request?.values(of: "apns-topic") == ["a.voip"])
        #expect(request?.body == Array("{\"a\":1}".utf8))
        #expect(server.handlers.first?.peer.address.hasPrefix("127.0.0.1:") == true)
    }

    @Test("nghttp with 100 requests on one connection gets 100 answers")
    func nghttp() throws {
        let loop = try TestLoop()
        let server = try H2TestServer(loop, address: "[::1]:0")
        defer { server.stop() }
        let child = try TestChild(
            ["/usr/bin/nghttp", "-nsy", "-m", "100", "https://[::1]:\(server.port)/"], loop)
        #expect(loop.drive { child.isDone })
        #expect(child.exit == .exited(0))
        #expect(server.requests.count == 100)
        #expect(server.handlers.count == 1)
        #expect(loop.drive { server.listener.connectionCount == 0 })
        #expect(server.handlers.allSatisfy { $0.isClosed })
        #expect(server.budget.used == 0)
    }

    @Test("openssl s_client without ALPN is answered with our SETTINGS")
    func openssl() throws {
        let loop = try TestLoop()
        let server = try H2TestServer(loop) { $0.prefaceDeadline = .milliseconds(200) }
        defer { server.stop() }
        let child = try TestChild(
            ["/usr/bin/openssl", "s_client", "-connect", "127.0.0.1:\(server.port)", "-ign_eof"], loop)
        #expect(loop.drive { child.isDone })
        #expect(child.output.contains("No ALPN negotiated"))
        #expect(child.output.contains("{\"reason\":\"IdleTimeout\"}"))
    }

    @Test("A taken port is an error that names the address")
    func takenPort() throws {
        let loop = try TestLoop()
        let server = try H2TestServer(loop)
        defer { server.stop() }
        let error = #expect(throws: RingwakeError.self) {
            try H2TestServer(loop, address: "127.0.0.1:\(server.port)")
        }
        #expect(error?.code == .inUse)
        #expect(error?.message.contains("127.0.0.1:\(server.port)") == true)
    }

    @Test(
        "What is not an address to listen on is refused",
        arguments: [
            "", "8443", "localhost:8443", "127.0.0.1", "127.0.0.1:", "127.0.0.1:65536", "127.0.0.1:+1", "::1:443",
            "[::1]", "[127.0.0.1]:1", "[::1:443", "1.2.3:4",
        ])
    func malformedAddress(text: String) {
        let error = #expect(throws: RingwakeError.self) { try SocketAddress(parsing: text) }
        #expect(error?.code == .badConfiguration)
    }

    @Test("Addresses are written as they are parsed")
    func addressRoundTrip() throws {
        for text in ["127.0.0.1:8443", "[::1]:0", "0.0.0.0:65535", "[::]:443"] {
            #expect(try SocketAddress(parsing: text).description == text)
        }
    }
}
