import HTTPServer
import Testing

/// A stream and requests on one connection.
@MainActor @Suite(.serialized) struct SharedStreamTests {
    private let loop: TestLoop
    private let server: UnixTestServer
    private static let head = " HTTP/1.1\r\nHost: localhost\r\n"
    private static let upgraded =
        "HTTP/1.1 101 Switching Protocols\r\nconnection: upgrade\r\nupgrade: ringwake-lines\r\n\r\n"

    init() throws {
        loop = try TestLoop()
        server = try UnixTestServer(loop)
    }

    /// A client with a stream, and the stream.
    private func stream() throws -> (SocketClient, any HTTPExchange) {
        server.onRequest = { _, exchange in exchange.beginStream(status: 200, fields: []) }
        let client = server.client()
        client.send("GET /stream\(Self.head)Connection: Upgrade\r\nUpgrade: other, ringwake-lines\r\n\r\n")
        #expect(loop.drive { client.text == Self.upgraded })
        return (client, try #require(server.exchanges.last))
    }

    private func text(_ client: SocketClient) -> String { String(client.text.dropFirst(Self.upgraded.count)) }

    @Test("Answers are lines between those of the stream, in the order of the requests")
    func answers() throws {
        defer { server.stop() }
        let (client, stream) = try stream()
        var late: (any HTTPExchange)?
        server.onRequest = { request, exchange in
            switch request.path {
            case "/late": late = exchange
            case "/octets": exchange.respond(HTTPResponse(status: 200, body: [0, 255, 10]))
            case "/stream": exchange.beginStream(status: 200, fields: [])
            default:
                exchange.respond(
                    HTTPResponse(
                        status: 201, fields: [HTTPField(name: "content-type", value: "application/json")],
                        body: request.body))
            }
        }
        #expect(stream.send(Array("one\n".utf8)))
        client.send(
            "GET /late\(Self.head)\r\nPOST /x\(Self.head)Expect: 100-continue\r\nContent-Length: 8\r\n\r\n{\"a\":1}\n"
                + "GET /octets\(Self.head)\r\nGET /stream\(Self.head)\r\nHEAD /none\(Self.head)\r\n")
        #expect(loop.drive { late != nil })
        #expect(stream.send(Array("two\n".utf8)))
        #expect(loop.drive { text(client) == "one\ntwo\n" })
        late?.respond(HTTPResponse(status: 404))
        let lines = [
            #"{"answer":404}"#, #"{"answer":201,"body":{"a":1}}"#, #"{"answer":200,"octets":"AP8K"}"#,
            #"{"answer":409,"body":{"error":"conflict","message":"this connection has a stream; ask for another one on a "#
                + #"connection of its own","schema":1}}"#, #"{"answer":201}"#,
        ]
        #expect(loop.drive { text(client) == "one\ntwo\n" + lines.map { $0 + "\n" }.joined() }, "\(text(client))")
        #expect(stream.isOpen && !client.isClosed)
        client.close()
        #expect(loop.drive { !stream.isOpen && server.listener.connectionCount == 0 })
    }

    @Test("What is no request is answered in a line, and ends the connection and its stream")
    func malformed() throws {
        defer { server.stop() }
        let (client, stream) = try stream()
        var wasClosed = false
        stream.onClose = { wasClosed = true }
        client.send("nonsense\r\n\r\n")
        #expect(loop.drive { client.isClosed && wasClosed })
        #expect(
            text(client).hasPrefix(#"{"answer":400,"body":{"error":"invalid-request","#)
                && text(client).hasSuffix("}}\n"))
    }

    @Test("A server that stops answers the request that it has, and ends the stream")
    func drain() throws {
        defer { server.stop() }
        let (client, stream) = try stream()
        server.onRequest = { _, _ in }
        client.send("GET /last\(Self.head)\r\n")
        #expect(loop.drive { server.exchanges.count == 2 })
        server.listener.drain()
        #expect(!stream.isOpen)
        loop.drive(for: .milliseconds(20))
        #expect(!client.isClosed)
        server.exchanges.last?.respond(HTTPResponse(status: 200))
        #expect(loop.drive { client.isClosed && text(client) == "{\"answer\":200}\n" })
    }

    @Test("A request that arrives with the end of the client, or just before the server stops, is carried out")
    func lastWords() throws {
        defer { server.stop() }
        let (leaving, stream) = try stream()
        server.onRequest = { _, exchange in exchange.respond(HTTPResponse(status: 200)) }
        let post = { (path: String) in "POST \(path)\(Self.head)Content-Length: 0\r\n\r\n" }
        leaving.send(post("/first") + post("/ended"))
        leaving.close()
        #expect(loop.drive { server.requests.last?.path == "/ended" && !stream.isOpen })
        #expect(loop.drive { server.listener.connectionCount == 0 })
        let (staying, _) = try self.stream()
        server.onRequest = { _, exchange in exchange.respond(HTTPResponse(status: 200)) }
        staying.send(post("/one") + post("/two"))
        server.listener.drain()
        #expect(loop.drive { staying.isClosed && text(staying) == "{\"answer\":200}\n{\"answer\":200}\n" })
    }

    @Test("A request that comes with its stream and the end of the client is carried out")
    func allAtOnce() throws {
        defer { server.stop() }
        server.onRequest = { request, exchange in
            guard request.path == "/stream" else { return exchange.respond(HTTPResponse(status: 200)) }
            exchange.beginStream(status: 200, fields: [])
        }
        let client = server.client()
        client.send(
            "GET /stream\(Self.head)Connection: upgrade\r\nUpgrade: ringwake-lines\r\n\r\n"
                + "POST /last\(Self.head)Content-Length: 0\r\n\r\n")
        client.finishSending()
        #expect(loop.drive { client.isClosed && server.listener.connectionCount == 0 })
        #expect(server.requests.map(\.path) == ["/stream", "/last"])
    }

    @Test("A stream that the server ends closes the connection, after the answer to the request that it has")
    func finished() throws {
        defer { server.stop() }
        let (client, stream) = try stream()
        server.onRequest = { _, _ in }
        client.send("GET /last\(Self.head)\r\n")
        #expect(loop.drive { server.exchanges.count == 2 })
        stream.finish()
        loop.drive(for: .milliseconds(20))
        #expect(!client.isClosed)
        server.exchanges.last?.respond(HTTPResponse(status: 200))
        #expect(loop.drive { client.isClosed && text(client) == "{\"answer\":200}\n" })
    }

    @Test("Streams that share their connection are counted as others are")
    func places() throws {
        defer { server.stop() }
        let server = try UnixTestServer(loop) { $0.maximumStreams = 1 }
        defer { server.stop() }
        server.onRequest = { _, exchange in exchange.beginStream(status: 200, fields: []) }
        let request = "GET /stream\(Self.head)Connection: upgrade\r\nUpgrade: ringwake-lines\r\n\r\n"
        let first = server.client()
        first.send(request)
        #expect(loop.drive { first.text == Self.upgraded })
        let second = server.client()
        second.send(request)
        #expect(loop.drive { second.isClosed && second.text.hasPrefix("HTTP/1.1 429 ") })
        first.close()
        let third = server.client()
        #expect(loop.drive { server.listener.connectionCount == 1 })
        third.send(request)
        #expect(loop.drive { third.text == Self.upgraded })
    }
}
