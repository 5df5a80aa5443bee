import HTTPServer
import RunLoop
import Testing

/// How the connections of a Unix socket share it.
@MainActor @Suite(.serialized) struct UnixPlacesTests {
    private static let get = "GET /a HTTP/1.1\r\nHost: x\r\n\r\n"

    @Test("A client that sends many requests at once has one answered a turn, and others get their turn in between")
    func oneRequestATurn() throws {
        let loop = try TestLoop()
        let server = try UnixTestServer(loop)
        defer { server.stop() }
        var turns: [String: [UInt64]] = [:]
        server.onRequest = { request, exchange in
            turns[request.path, default: []].append(loop.runLoop.turnNumber)
            exchange.respond(HTTPResponse(status: 200, body: Array("ok".utf8)))
        }
        let greedy = server.client()
        let other = server.client()
        #expect(loop.drive { server.listener.connectionCount == 2 })
        greedy.send(String(repeating: Self.get, count: 200))
        other.send("GET /b HTTP/1.1\r\nHost: x\r\n\r\n")
        #expect(loop.drive { turns["/a"]?.count == 200 && other.text.hasSuffix("ok") })
        let greedyTurns = try #require(turns["/a"])
        #expect(Set(greedyTurns).count == 200)
        #expect(try #require(turns["/b"]?.first) <= greedyTurns[1])
    }

    @Test("The many connections of an app have few requests served a turn, and the owner's come in between")
    func requestsOfOne() throws {
        let loop = try TestLoop()
        let server = try UnixTestServer(loop)
        defer { server.stop() }
        var turns: [String: [UInt64]] = [:]
        server.onRequest = { request, exchange in
            turns[request.path, default: []].append(loop.runLoop.turnNumber)
            exchange.respond(HTTPResponse(status: 200))
        }
        server.holder = .app("many")
        let many = (0..<100).map { _ in server.client() }
        #expect(loop.drive { server.listener.connectionCount == 100 })
        server.holder = nil
        let owner = server.client()
        #expect(loop.drive { server.listener.connectionCount == 101 })
        for client in many { client.send(Self.get) }
        owner.send("GET /owner HTTP/1.1\r\nHost: x\r\n\r\n")
        #expect(loop.drive { turns["/a"]?.count == 100 })
        let counts = Dictionary(grouping: turns["/a"] ?? []) { $0 }.mapValues(\.count)
        #expect(counts.values.allSatisfy { $0 <= 8 }, "\(counts)")
        #expect(try #require(turns["/owner"]?.first) <= counts.keys.sorted()[1])
    }

    @Test("A client that does not read its answers makes room, although it has sent more")
    func unreadAnswers() throws {
        let loop = try TestLoop()
        let server = try UnixTestServer(loop) { $0.maximumConnections = 2 }
        defer { server.stop() }
        server.onRequest = { _, exchange in
            exchange.respond(HTTPResponse(status: 200, body: [UInt8](repeating: 97, count: 1 << 20)))
        }
        let deaf = server.client()
        deaf.isReading = false
        deaf.send(String(repeating: Self.get, count: 10_000))
        // Held back, with a part of what it has sent in its socket.
        #expect(loop.drive { !server.requests.isEmpty })
        loop.drive(for: .milliseconds(20))
        let other = server.client()
        #expect(loop.drive { server.handlers.count == 2 })
        other.send(Self.get)
        #expect(loop.drive { server.handlers[0].isClosed && other.received.count > 1 << 20 })
    }

    @Test("Users get half of their places at most, and all of them together leave places for the others")
    func placesOfUsers() throws {
        let loop = try TestLoop()
        let server = try UnixTestServer(loop) { limits in
            (limits.maximumConnectionsOfUsers, limits.maximumStreamsOfUsers) = (6, 4)
        }
        defer { server.stop() }
        server.onRequest = { _, exchange in exchange.beginStream(status: 200, fields: []) }
        var clients: [SocketClient] = []
        let begin = { (holder: PlaceHolder?) in
            server.holder = holder
            let count = server.handlers.count
            let client = server.client()
            client.send(Self.get)
            #expect(loop.drive { server.handlers.count > count && !client.text.isEmpty })
            clients.append(client)
            return client.text.hasPrefix("HTTP/1.1 200")
        }
        // Two streams of each user, and four of all.
        #expect((0..<3).map { _ in begin(.user(1)) } == [true, true, false])
        #expect((0..<2).map { _ in begin(.user(2)) } == [true, true])
        #expect(!begin(.user(3)))
        #expect(begin(.app("one")) && begin(nil))
        #expect(loop.drive { server.listener.connectionCount == 6 })
        // The same for connections: two more, and these are not idle.
        server.onRequest = { _, _ in }
        server.holder = .user(4)
        let last = (0..<2).map { _ in server.client() }
        for client in last { client.send(Self.get) }
        #expect(loop.drive { server.listener.connectionCount == 8 && server.requests.count == 10 })
        #expect(!begin(.user(5)) && clients.last?.text.hasPrefix("HTTP/1.1 429") == true)
        #expect(last.allSatisfy { !$0.isClosed })
    }

    @Test("At a pace, connections and requests of all together take tokens; nobody is refused")
    func pace() throws {
        let loop = try TestLoop()
        let pace = Pace(runLoop: loop.runLoop, perSecond: 200, burst: 4)
        let server = try UnixTestServer(loop, pace: pace)
        defer { server.stop() }
        let start = BootClock.now()
        let clients = (0..<10).map { _ in server.client() }
        for client in clients { client.send(Self.get + Self.get) }
        #expect(loop.drive { clients.allSatisfy { $0.text.ranges(of: "HTTP/1.1 200").count == 2 } })
        // 10 connections and 20 requests, 4 of them at once: 26 tokens of 5 ms.
        #expect(start.duration(to: BootClock.now()) > .milliseconds(26 * 5 - 5))
    }

    @Test("A holder that has all its places loses its idlest; with none idle it is refused, and others get through")
    func placesOfOne() throws {
        let loop = try TestLoop()
        let server = try UnixTestServer(loop) { $0.maximumConnectionsOfOne = 2 }
        defer { server.stop() }
        server.holder = .app("one")
        server.onRequest = { _, _ in }
        let idle = server.client()
        #expect(loop.drive { server.listener.connectionCount == 1 })
        let busy = server.client()
        busy.send(Self.get)
        #expect(loop.drive { server.requests.count == 1 })
        let third = server.client()
        #expect(loop.drive { idle.isClosed })
        third.send(Self.get)
        #expect(loop.drive { server.requests.count == 2 })
        let fourth = server.client()
        #expect(loop.drive { fourth.isClosed })
        #expect(fourth.text.hasPrefix("HTTP/1.1 429") && fourth.text.contains("limit-reached"))
        #expect(!busy.isClosed && !third.isClosed)
    }

    @Test("Streams leave places for requests, and a place comes back with the stream's end")
    func streams() throws {
        let loop = try TestLoop()
        let server = try UnixTestServer(loop) { $0.maximumStreams = 2 }
        defer { server.stop() }
        server.onRequest = { request, exchange in
            guard request.path == "/stream" else { return exchange.respond(HTTPResponse(status: 200)) }
            exchange.beginStream(status: 200, fields: [])
        }
        let stream = "GET /stream HTTP/1.1\r\nHost: x\r\n\r\n"
        let streams = (0..<3).map { _ in server.client() }
        for client in streams { client.send(stream) }
        #expect(loop.drive { streams.filter(\.isClosed).count == 1 })
        #expect(streams.filter { $0.text.hasPrefix("HTTP/1.1 429") }.count == 1)
        let request = server.client()
        request.send(Self.get)
        #expect(loop.drive { request.text.hasPrefix("HTTP/1.1 200") })
        streams.first { !$0.isClosed }?.close()
        #expect(loop.drive { server.listener.connectionCount == 2 })
        let next = server.client()
        next.send(stream)
        #expect(loop.drive { next.text.hasPrefix("HTTP/1.1 200") })
    }

    @Test("Of a full house a request that does not get on is closed for one that does")
    func slowRequests() throws {
        let loop = try TestLoop()
        let server = try UnixTestServer(loop) { $0.maximumConnections = 2 }
        defer { server.stop() }
        let slow = server.client()
        slow.send("GET /slow HTT")
        #expect(loop.drive { server.listener.connectionCount == 1 })
        let other = server.client()
        other.send(Self.get)
        #expect(loop.drive { slow.isClosed && other.text.hasSuffix("/a") })
    }
}
