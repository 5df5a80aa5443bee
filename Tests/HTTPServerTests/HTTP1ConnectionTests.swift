import HTTPServer
import RunLoop
import Testing

/// HTTP/1.1 on the Unix socket.
@MainActor @Suite(.serialized) struct HTTP1ConnectionTests {
    private static let head = " HTTP/1.1\r\nHost: localhost\r\n"

    @Test("curl is answered, and its body arrives whole")
    func curl() throws {
        let loop = try TestLoop()
        let server = try UnixTestServer(loop)
        defer { server.stop() }
        server.onRequest = { request, exchange in
            exchange.respond(
                HTTPResponse(status: 201, fields: [HTTPField(name: "x-a", value: "1")], body: request.body))
        }
        let child = try TestChild(
            [
                "/usr/bin/curl", "-si", "--unix-socket", server.path, "-H", "Expect: 100-continue", "--data-binary",
                "{\"a\":1}", "http://localhost/v1/apps?q=1",
            ], loop)
        #expect(loop.drive { child.isDone })
        #expect(child.output.hasPrefix("HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 201 Created\r\n"))
        #expect(child.output.hasSuffix("content-length: 7\r\n\r\n{\"a\":1}"))
        #expect(server.requests.first?.path == "/v1/apps?q=1")
        #expect(server.requests.first?.values(of: "host") == ["localhost"])
        #expect(loop.drive { server.listener.connectionCount == 0 })
        #expect(server.handlers.first?.isClosed == true)
    }

    @Test("A connection is kept, and pipelined requests are answered in order, late answers too")
    func keepAliveAndPipelining() throws {
        let loop = try TestLoop()
        let server = try UnixTestServer(loop)
        defer { server.stop() }
        var waiting: (any HTTPExchange)?
        server.onRequest = { request, exchange in
            if request.path == "/late" {
                waiting = exchange
            } else {
                exchange.respond(HTTPResponse(status: 200, body: Array(request.path.utf8)))
            }
        }
        let client = server.client()
        client.send(["/1", "/late", "/3", "/4"].map { "GET \($0)\(HTTP1ConnectionTests.head)\r\n" }.joined())
        #expect(loop.drive { waiting != nil && client.text.hasSuffix("/1") })
        loop.drive(for: .milliseconds(20))
        #expect(server.requests.map(\.path) == ["/1", "/late"])
        waiting?.respond(HTTPResponse(status: 200, body: Array("/late".utf8)))
        #expect(loop.drive { client.text.hasSuffix("/4") })
        let answer = "HTTP/1.1 200 OK\r\ncontent-length: "
        #expect(client.text == "\(answer)2\r\n\r\n/1\(answer)5\r\n\r\n/late\(answer)2\r\n\r\n/3\(answer)2\r\n\r\n/4")
        #expect(server.listener.connectionCount == 1)
    }

    @Test("Ten thousand pipelined requests of a client that reads late are all answered")
    func deepPipeline() throws {
        let loop = try TestLoop()
        let server = try UnixTestServer(loop)
        defer { server.stop() }
        server.onRequest = { _, exchange in
            exchange.respond(HTTPResponse(status: 200, body: [UInt8](repeating: 1, count: 100)))
        }
        let client = server.client()
        client.isReading = false
        client.send(String(repeating: "GET /\(HTTP1ConnectionTests.head)\r\n", count: 10000))
        var taken = -1
        while taken < server.requests.count {
            taken = server.requests.count
            loop.drive(for: .milliseconds(60))
        }
        // They wait in the kernel and at the client, not in our memory.
        #expect(taken > 0 && taken < 10000)
        client.isReading = true
        #expect(loop.drive { server.requests.count == 10000 && client.received.count == 10000 * (40 + 100) })
    }

    @Test("Connection: close, and HTTP/1.0, are answered and closed")
    func close() throws {
        let loop = try TestLoop()
        let server = try UnixTestServer(loop)
        defer { server.stop() }
        for request in ["GET /a\(HTTP1ConnectionTests.head)Connection: close\r\n\r\n", "GET /a HTTP/1.0\r\n\r\n"] {
            let client = server.client()
            client.send(request)
            #expect(loop.drive { client.isClosed })
            #expect(client.text == "HTTP/1.1 200 OK\r\ncontent-length: 2\r\nconnection: close\r\n\r\n/a")
        }
    }

    @Test("A malformed request is answered with its status as JSON, and the connection is closed")
    func malformed() throws {
        let loop = try TestLoop()
        let server = try UnixTestServer(loop)
        defer { server.stop() }
        let client = server.client()
        client.send("GET /a\(HTTP1ConnectionTests.head)\r\n")
        client.send("POST /\(HTTP1ConnectionTests.head)Content-Length: 9999999\r\n\r\n")
        client.send([UInt8](repeating: 1, count: 100_000))
        #expect(loop.drive { client.isClosed })
        #expect(client.text.contains("\r\n\r\n/aHTTP/1.1 413 Content Too Large\r\n"))
        // Its members in alphabetical order, as in every answer of the control API.
        #expect(client.text.contains("{\"error\":\"invalid-request\",\"message\":\"the body has 9999999"))
        #expect(client.text.hasSuffix("\",\"schema\":1}\n"))
        #expect(server.requests.count == 1)
    }

    @Test("A request that does not arrive in time is answered 408; an idle connection has no deadline")
    func slowRequest() throws {
        let loop = try TestLoop()
        let server = try UnixTestServer(loop) { $0.requestDeadline = .milliseconds(100) }
        defer { server.stop() }
        let idle = server.client()
        let slow = server.client()
        slow.send("GET /a\(HTTP1ConnectionTests.head)\r\n")
        #expect(loop.drive { slow.text.hasSuffix("/a") })
        for _ in 0..<50 where !slow.isClosed {
            slow.send("G")
            loop.drive(for: .milliseconds(10))
        }
        #expect(slow.isClosed)
        #expect(slow.text.contains("HTTP/1.1 408 Request Timeout"))
        #expect(!idle.isClosed)
        let timers = loop.runLoop.statistics.byCause[.timer] ?? 0
        loop.drive(for: .milliseconds(250))
        #expect(loop.runLoop.statistics.byCause[.timer] ?? 0 == timers)
    }

    @Test("A stream reaches curl in pieces, and its end")
    func streamToCurl() throws {
        let loop = try TestLoop()
        let server = try UnixTestServer(loop)
        defer { server.stop() }
        server.onRequest = { _, exchange in
            exchange.beginStream(status: 200, fields: [HTTPField(name: "content-type", value: "application/x-ndjson")])
            #expect(exchange.send(Array("{\"n\":1}\n".utf8)))
        }
        let child = try TestChild(["/usr/bin/curl", "-sN", "--unix-socket", server.path, "http://localhost/e"], loop)
        #expect(loop.drive { child.output == "{\"n\":1}\n" })
        let exchange = server.exchanges.first
        #expect(exchange?.isOpen == true)
        #expect(exchange?.send(Array("{\"n\":2}\n".utf8)) == true)
        exchange?.finish()
        #expect(exchange?.isOpen == false)
        #expect(loop.drive { child.isDone })
        #expect(child.output == "{\"n\":1}\n{\"n\":2}\n")
        #expect(child.exit == .exited(0))
    }

    @Test("A client of HTTP/1.0 gets a stream without chunks")
    func streamToHTTP10() throws {
        let loop = try TestLoop()
        let server = try UnixTestServer(loop)
        defer { server.stop() }
        server.onRequest = { _, exchange in
            exchange.beginStream(status: 200, fields: [])
            _ = exchange.send(Array("abc".utf8))
            exchange.finish()
        }
        let client = server.client()
        client.send("GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n")
        #expect(loop.drive { client.isClosed })
        #expect(client.text == "HTTP/1.1 200 OK\r\nconnection: close\r\n\r\nabc")
    }

    @Test("A reader that is too slow is dropped, and the sender learns it")
    func streamBackPressure() throws {
        let loop = try TestLoop()
        let server = try UnixTestServer(loop)
        defer { server.stop() }
        var closed = 0
        server.onRequest = { _, exchange in
            exchange.onClose = { closed += 1 }
            exchange.beginStream(status: 200, fields: [])
        }
        let client = server.client()
        client.isReading = false
        client.send("GET /\(HTTP1ConnectionTests.head)\r\n")
        #expect(loop.drive { server.requests.count == 1 })
        let exchange = server.exchanges.first
        let line = [UInt8](repeating: UInt8(ascii: "x"), count: 10000)
        var sent = 0
        while exchange?.send(line) == true, sent < 1000 {
            sent += 1
            loop.drive(for: .zero)
        }
        #expect(sent > 25 && sent < 200)
        #expect(exchange?.isOpen == false)
        #expect(closed == 1)
        #expect(server.listener.connectionCount == 0)
        client.close()
    }

    @Test("A client that leaves, or stops sending, during a stream ends it", arguments: [true, false])
    func streamClientLeaves(isHalf: Bool) throws {
        let loop = try TestLoop()
        let server = try UnixTestServer(loop)
        defer { server.stop() }
        var closed = 0
        server.onRequest = { _, exchange in
            exchange.onClose = { closed += 1 }
            exchange.beginStream(status: 200, fields: [])
        }
        let client = server.client()
        client.send("GET /\(HTTP1ConnectionTests.head)\r\n")
        #expect(loop.drive { client.text.contains("200 OK") })
        if isHalf { client.finishSending() } else { client.close() }
        #expect(loop.drive { closed == 1 })
        #expect(server.exchanges.first?.isOpen == false)
        #expect(server.exchanges.first?.send([1]) == false)
        #expect(server.handlers.first?.isClosed == true)
    }

    @Test(
        "A client that sends on and on while it is streamed to is closed: it would not be seen leaving",
        arguments: [true, false])
    func streamClientSendsOn(isEarly: Bool) throws {
        let loop = try TestLoop()
        let server = try UnixTestServer(loop)
        defer { server.stop() }
        var closed = 0
        server.onRequest = { _, exchange in
            exchange.onClose = { closed += 1 }
            exchange.beginStream(status: 200, fields: [])
        }
        let client = server.client()
        let further = String(repeating: "x", count: 128 * 1024)
        client.send("GET /\(HTTP1ConnectionTests.head)\r\n" + (isEarly ? further : ""))
        #expect(loop.drive { server.requests.count == 1 })
        client.send(further)
        #expect(loop.drive { closed == 1 && server.listener.connectionCount == 0 })
    }

    @Test("A client that stopped sending before its stream began is closed")
    func halfClosedStream() throws {
        let loop = try TestLoop()
        let server = try UnixTestServer(loop)
        defer { server.stop() }
        server.onRequest = { _, _ in }
        let client = server.client()
        client.send("GET /\(HTTP1ConnectionTests.head)\r\n")
        client.finishSending()
        #expect(loop.drive { server.requests.count == 1 })
        loop.drive(for: .milliseconds(20))
        var closed = 0
        server.exchanges.first?.onClose = { closed += 1 }
        server.exchanges.first?.beginStream(status: 200, fields: [])
        #expect(closed == 1)
        #expect(loop.drive { client.isClosed })
    }

    @Test("A client that stops sending before its answer still gets it")
    func halfClose() throws {
        let loop = try TestLoop()
        let server = try UnixTestServer(loop)
        defer { server.stop() }
        server.onRequest = { _, _ in }
        let client = server.client()
        client.send("GET /\(HTTP1ConnectionTests.head)\r\n")
        client.finishSending()
        #expect(loop.drive { server.requests.count == 1 })
        loop.drive(for: .milliseconds(20))
        server.exchanges.first?.respond(HTTPResponse(status: 204))
        #expect(loop.drive { client.isClosed })
        #expect(client.text.hasPrefix("HTTP/1.1 204 No Content"))
    }

    @Test("Closing the listener inside received closes the exchange")
    func closeInsideReceived() throws {
        let loop = try TestLoop()
        let server = try UnixTestServer(loop)
        var closed = 0
        server.onRequest = { [unowned server] _, exchange in
            exchange.onClose = { closed += 1 }
            server.stop()
            exchange.respond(HTTPResponse(status: 200))
        }
        let client = server.client()
        client.send(String(repeating: "GET /\(HTTP1ConnectionTests.head)\r\n", count: 3))
        #expect(loop.drive { client.isClosed })
        #expect(closed == 1 && server.requests.count == 1)
    }

    @Test("Draining answers what is under way, ends streams, and closes the idle")
    func drain() throws {
        let loop = try TestLoop()
        let server = try UnixTestServer(loop)
        var ended = 0
        server.onRequest = { request, exchange in
            if request.path == "/stream" {
                exchange.onClose = { ended += 1 }
                exchange.beginStream(status: 200, fields: [])
            } else if request.path == "/done" {
                exchange.respond(HTTPResponse(status: 200))
            }
        }
        let idle = server.client()
        let waiting = server.client()
        let streaming = server.client()
        waiting.send("GET /wait\(HTTP1ConnectionTests.head)\r\n")
        streaming.send("GET /stream\(HTTP1ConnectionTests.head)\r\n")
        idle.send("GET /done\(HTTP1ConnectionTests.head)\r\n")
        #expect(loop.drive { server.requests.count == 3 && !idle.text.isEmpty })
        var isDrained = false
        server.listener.drain { isDrained = true }
        #expect(loop.drive { idle.isClosed && streaming.isClosed })
        #expect(streaming.text.hasSuffix("\r\n\r\n0\r\n\r\n"))
        #expect(ended == 1)
        #expect(!isDrained)
        server.exchanges.first { $0.isOpen }?.respond(HTTPResponse(status: 202))
        #expect(loop.drive { isDrained && waiting.isClosed })
        #expect(waiting.text == "HTTP/1.1 202 Accepted\r\ncontent-length: 0\r\nconnection: close\r\n\r\n")
    }

    @Test("Draining serves a client that has just connected, or whose request is on its way")
    func drainNew() throws {
        let loop = try TestLoop()
        let server = try UnixTestServer(loop) { $0.drainGrace = .seconds(60) }
        server.onRequest = { _, exchange in exchange.respond(HTTPResponse(status: 202)) }
        let new = server.client()
        let half = server.client()
        half.send("GET /half HT")
        #expect(loop.drive { server.handlers.count == 2 })
        var isDrained = false
        server.listener.drain { isDrained = true }
        new.send("GET /new\(HTTP1ConnectionTests.head)\r\n")
        #expect(loop.drive { new.isClosed })
        half.send("TP/1.1\r\nHost: ringwake\r\n\r\n")
        #expect(loop.drive { half.isClosed && isDrained })
        for client in [new, half] {
            #expect(client.text == "HTTP/1.1 202 Accepted\r\ncontent-length: 0\r\nconnection: close\r\n\r\n")
        }
    }

    @Test("A client that has connected and sends nothing is closed after the grace period")
    func drainSilent() throws {
        let loop = try TestLoop()
        let server = try UnixTestServer(loop) { $0.drainGrace = .milliseconds(20) }
        let silent = server.client()
        #expect(loop.drive { server.handlers.count == 1 })
        var isDrained = false
        server.listener.drain { isDrained = true }
        #expect(loop.drive { silent.isClosed && isDrained })
    }
}
