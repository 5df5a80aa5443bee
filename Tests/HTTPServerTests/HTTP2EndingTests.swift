import HTTPServer
import Testing

/// How connections, listeners and exchanges end.
@MainActor @Suite(.serialized) struct HTTP2EndingTests {
    @Test("Closing the listener inside received ends the session without freeing it under nghttp2")
    func closeInsideCallback() throws {
        let loop = try TestLoop()
        let server = try H2TestServer(loop)
        var closed = 0
        server.onRequest = { [unowned server] _, exchange in
            exchange.onClose = { closed += 1 }
            server.stop()
            // On a closed stream: ignored.
            exchange.respond(.accepted)
            #expect(!exchange.isOpen)
        }
        let client = TLSClient.http2(server)
        // Many in one read: after the first, nghttp2 goes on with the rest inside the same call.
        client.send((0..<50).flatMap { Frame.push(stream: UInt32(2 * $0 + 1), isEnd: true).bytes })
        #expect(loop.drive { client.isClosed })
        #expect(server.requests.count == 1)
        #expect(closed == 1)
        #expect(server.handlers.first?.isClosed == true)
        #expect(server.budget.used == 0)
    }

    @Test("A drain inside received answers this request, takes no other, and closes")
    func drainInsideReceived() throws {
        let loop = try TestLoop()
        let server = try H2TestServer(loop)
        defer { server.stop() }
        server.onRequest = { _, exchange in
            server.listener.drain(reason: "BadCertificate\"\r\n")
            exchange.respond(.refused)
        }
        let client = TLSClient.http2(server)
        client.send(.push(stream: 1, isEnd: true))
        #expect(loop.drive { client.isClosed })
        #expect(client.frames(on: 1).map(\.kind) == [1, 0])
        #expect(client.goAway?.lastStream == 1)
        #expect(client.goAway?.code == 0)
        #expect(client.goAway?.debug == "{\"reason\":\"BadCertificate\"}")
    }

    @Test("A handler ends the connection: its open requests are answered, then GOAWAY says why")
    func endedByHandler() throws {
        let loop = try TestLoop()
        let server = try H2TestServer(loop)
        defer { server.stop() }
        server.onRequest = { _, exchange in exchange.endConnection(reason: "Shutdown") }
        let client = TLSClient.http2(server)
        client.send(.push(stream: 1, isEnd: true))
        #expect(loop.drive { server.exchanges.count == 1 })
        loop.drive(for: .milliseconds(50))
        // Client libraries forget their open requests at a GOAWAY.
        #expect(client.goAway == nil)
        server.exchanges.first?.respond(.accepted)
        #expect(loop.drive { client.isClosed })
        #expect(client.frames(on: 1).last?.isEndOfStream == true)
        #expect(client.goAway?.lastStream == 1 && client.goAway?.debug == "{\"reason\":\"Shutdown\"}")
    }

    @Test("A handler resets a stream: INTERNAL_ERROR, and the connection goes on")
    func abortedByHandler() throws {
        let loop = try TestLoop()
        let server = try H2TestServer(loop)
        defer { server.stop() }
        var closed = 0
        server.onRequest = { _, exchange in
            guard server.requests.count == 1 else { return exchange.respond(.accepted) }
            exchange.onClose = { closed += 1 }
            exchange.abort()
            #expect(!exchange.isOpen)
            exchange.respond(.accepted)
        }
        let client = TLSClient.http2(server)
        client.send(.push(stream: 1, isEnd: true))
        client.send(.push(stream: 3, isEnd: true))
        #expect(loop.drive { client.frames(on: 3).last?.isEndOfStream == true })
        #expect(client.frames(on: 1).map(\.kind) == [3])
        #expect(client.frames(on: 1).first?.payload == [0, 0, 0, 2])
        #expect(closed == 1 && server.budget.used == 0)
    }

    @Test("A client that closes its direction right after its request still gets the answer")
    func halfClose() throws {
        let loop = try TestLoop()
        let server = try H2TestServer(loop)
        defer { server.stop() }
        let client = TLSClient.http2(server)
        #expect(loop.drive { client.frames.count >= 3 })
        client.send(.push(stream: 1, isEnd: true))
        client.closeSending()
        #expect(loop.drive { client.isClosed })
        #expect(client.frames(on: 1).last?.isEndOfStream == true)
    }

    @Test("A reset by the client closes the exchange, and a late answer is ignored")
    func resetByClient() throws {
        let loop = try TestLoop()
        let server = try H2TestServer(loop)
        defer { server.stop() }
        var closed = 0
        server.onRequest = { _, exchange in exchange.onClose = { closed += 1 } }
        let client = TLSClient.http2(server)
        client.send(.push(stream: 1, isEnd: true))
        #expect(loop.drive { server.requests.count == 1 })
        client.send(.reset(1))
        #expect(loop.drive { closed == 1 })
        #expect(server.exchanges.first?.isOpen == false)
        server.exchanges.first?.respond(.accepted)
        client.send(Frame(.ping, [UInt8](repeating: 0, count: 8)))
        #expect(loop.drive { client.frames.contains { $0.kind == Frame.Kind.ping.rawValue } })
        #expect(client.frames(on: 1).isEmpty)
    }

    @Test("A client that vanishes closes its exchanges, then its handler")
    func vanishedClient() throws {
        let loop = try TestLoop()
        let server = try H2TestServer(loop)
        defer { server.stop() }
        var order: [String] = []
        server.onRequest = { [unowned server] _, exchange in
            exchange.onClose = { order.append(server.handlers[0].isClosed ? "late" : "exchange") }
        }
        let client = TLSClient.http2(server)
        client.send(.push(stream: 1, isEnd: true), .push(stream: 3, isEnd: true))
        #expect(loop.drive { server.requests.count == 2 })
        client.close()
        #expect(loop.drive { server.listener.connectionCount == 0 })
        #expect(order == ["exchange", "exchange"])
        #expect(server.handlers.first?.isClosed == true)
    }

    @Test("Draining serves what arrives until all is answered, and says goodbye then")
    func drain() throws {
        let loop = try TestLoop()
        let server = try H2TestServer(loop) { $0.drainGrace = .seconds(60) }
        defer { server.stop() }
        server.onRequest = { _, _ in }
        let client = TLSClient.http2(server)
        client.send(.push(stream: 1, isEnd: true), .push(stream: 3, isEnd: true))
        #expect(loop.drive { server.requests.count == 2 })
        var isDrained = false
        server.listener.drain { isDrained = true }
        // A client that forgets its requests at a GOAWAY would lose the two, and can't know of the end yet.
        client.send(.push(stream: 5, isEnd: true))
        #expect(loop.drive { server.requests.count == 3 })
        #expect(client.goAway == nil && !isDrained && !client.isClosed)
        for exchange in server.exchanges { exchange.respond(.accepted) }
        #expect(loop.drive { client.isClosed && isDrained })
        #expect(!client.hasFailed)
        #expect(client.goAway?.lastStream == 5)
        #expect(client.goAway?.code == 0)
        #expect(client.goAway?.debug == "{\"reason\":\"Shutdown\"}")
        for stream in [1, 3, 5] as [UInt32] {
            #expect(client.frames(on: stream).contains { $0.isEndOfStream })
        }
        let late = SocketClient.tcp(port: server.port, loop)
        #expect(loop.drive { late.isClosed })
    }

    @Test("A client that is never idle is drained after the grace period, and nothing above the last stream is served")
    func drainBusy() throws {
        let loop = try TestLoop()
        let server = try H2TestServer(loop) { $0.drainGrace = .milliseconds(20) }
        defer { server.stop() }
        server.onRequest = { _, _ in }
        let client = TLSClient.http2(server)
        client.send(.push(stream: 1, isEnd: true), .push(stream: 3, isEnd: true))
        #expect(loop.drive { server.requests.count == 2 })
        var isDrained = false
        server.listener.drain { isDrained = true }
        #expect(loop.drive { client.goAway != nil })
        #expect(client.goAway?.lastStream == 3)
        client.send(.push(stream: 5, isEnd: true))
        loop.drive(for: .milliseconds(30))
        #expect(!isDrained && !client.isClosed)
        #expect(server.requests.count == 2)
        for exchange in server.exchanges { exchange.respond(.accepted) }
        #expect(loop.drive { client.isClosed && isDrained })
        for stream in [1, 3] as [UInt32] {
            #expect(client.frames(on: stream).contains { $0.isEndOfStream })
        }
    }

    @Test("A client whose handshake has begun, and one that has sent nothing yet, get their first request served")
    func drainNew() throws {
        let loop = try TestLoop()
        let server = try H2TestServer(loop) { $0.drainGrace = .seconds(60) }
        defer { server.stop() }
        server.onRequest = { _, exchange in exchange.respond(.accepted) }
        let quiet = TLSClient.http2(server)
        #expect(loop.drive { quiet.frames.count >= 3 })
        let beginning = TLSClient.http2(server)
        #expect(loop.drive { server.listener.connectionCount == 2 })
        var isDrained = false
        server.listener.drain { isDrained = true }
        for client in [quiet, beginning] {
            client.send(.push(stream: 1, isEnd: true))
            #expect(loop.drive { client.isClosed })
            #expect(client.frames(on: 1).contains { $0.isEndOfStream })
            #expect(client.goAway?.lastStream == 1)
        }
        #expect(loop.drive { isDrained })
    }

    @Test("Draining waits for answers only until its deadline")
    func drainDeadline() throws {
        let loop = try TestLoop()
        let server = try H2TestServer(loop) {
            $0.drainGrace = .milliseconds(20)
            $0.drainDeadline = .milliseconds(50)
            $0.lingerDeadline = .milliseconds(50)
        }
        defer { server.stop() }
        var closed = 0
        server.onRequest = { _, exchange in exchange.onClose = { closed += 1 } }
        let client = TLSClient.http2(server)
        let stuck = TLSClient.http2(server)
        let silent = SocketClient.tcp(port: server.port, loop)
        client.send(.push(stream: 1, isEnd: true))
        #expect(loop.drive { server.requests.count == 1 && stuck.frames.count >= 3 })
        // Does not even notice the end.
        stuck.isReading = false
        var isDrained = false
        server.listener.drain { isDrained = true }
        #expect(loop.drive { isDrained && client.isClosed && silent.isClosed })
        #expect(closed == 1)
        stuck.close()
    }

    @Test("An idle client that does not look at its connection is not waited for, and finds the GOAWAY later")
    func drainUnwatched() throws {
        let loop = try TestLoop()
        let server = try H2TestServer(loop) {
            $0.drainGrace = .milliseconds(1)
            $0.drainDeadline = .seconds(60)
            $0.lingerDeadline = .seconds(60)
        }
        defer { server.stop() }
        server.onRequest = { _, exchange in exchange.respond(.accepted) }
        let used = TLSClient.http2(server)
        used.send(.push(stream: 1, isEnd: true))
        // Has sent no request, but is not new either.
        let unused = TLSClient.http2(server)
        #expect(loop.drive { used.frames(on: 1).contains { $0.isEndOfStream } && unused.frames.count >= 3 })
        loop.drive(for: .milliseconds(2))
        for client in [used, unused] { client.isReading = false }
        var isDrained = false
        server.listener.drain { isDrained = true }
        #expect(loop.drive { isDrained })
        for client in [used, unused] { client.isReading = true }
        #expect(loop.drive { used.isClosed && unused.isClosed })
        #expect([used, unused].allSatisfy { $0.goAway?.code == 0 && !$0.hasFailed })
    }

    @Test("Draining a listener without connections is done at once")
    func drainIdle() throws {
        let loop = try TestLoop()
        let server = try H2TestServer(loop)
        var isDrained = false
        server.listener.drain { isDrained = true }
        #expect(isDrained)
    }

    @Test("A new TLS context serves new connections; open ones go on")
    func replaceTLS() throws {
        let loop = try TestLoop()
        let server = try H2TestServer(loop)
        defer { server.stop() }
        let old = TLSClient.http2(server)
        #expect(loop.drive { old.frames.count >= 3 })
        server.listener.replaceTLS(try TLSFixture.context())
        let new = TLSClient.http2(server)
        for client in [old, new] { client.send(.push(stream: 1, isEnd: true)) }
        #expect(loop.drive { [old, new].allSatisfy { $0.frames(on: 1).contains { $0.isEndOfStream } } })
    }
}
