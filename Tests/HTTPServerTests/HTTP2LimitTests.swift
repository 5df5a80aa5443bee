import HTTPServer
import RunLoop
import Testing

/// What peers may ask for at most.
@MainActor @Suite(.serialized) struct HTTP2LimitTests {
    @Test("Bytes that are not HTTP/2 close the connection")
    func garbage() throws {
        let loop = try TestLoop()
        let server = try H2TestServer(loop)
        defer { server.stop() }
        let client = TLSClient(port: server.port, alpn: nil, loop)
        client.send(Array("GET / HTTP/1.1\r\nHost: a\r\n\r\n".utf8))
        #expect(loop.drive { client.isClosed && server.listener.connectionCount == 0 })
        #expect(server.handlers.first?.isClosed == true)
        let plain = SocketClient.tcp(port: server.port, loop)
        plain.send("GET / HTTP/1.1\r\n\r\n")
        #expect(loop.drive { plain.isClosed && server.listener.connectionCount == 0 })
    }

    @Test("A field list over the limit is answered 431, and the connection goes on")
    func largeFieldList() throws {
        let loop = try TestLoop()
        let server = try H2TestServer(loop)
        defer { server.stop() }
        let client = TLSClient.http2(server)
        let large = (0..<4).map { ("x-\($0)", String(repeating: "a", count: 3500)) }
        client.send(.push(stream: 1, fields: large, isEnd: true))
        #expect(loop.drive { client.frames(on: 1).contains { $0.isEndOfStream } })
        #expect(server.requests.count == 1)
        // The third and the fourth field, and more of them, in CONTINUATION.
        client.send(.push(stream: 3, fields: large, isEnd: true, isHeadEnd: false))
        client.send(Frame(.continuation, flags: Frame.endHeaders, stream: 3, Frame.fieldBlock(large)))
        #expect(loop.drive { client.frames(on: 3).contains { $0.isEndOfStream } })
        #expect(server.requests.count == 1)
        let many = (0..<200).map { ("x-\($0)", "") }
        client.send(.push(stream: 5, fields: many, isEnd: true))
        #expect(loop.drive { client.frames(on: 5).first?.isEndOfStream == true })
        #expect(server.requests.count == 1)
        client.send(.push(stream: 7, isEnd: true))
        #expect(loop.drive { client.frames(on: 7).contains { $0.isEndOfStream } })
        #expect(server.budget.used == 0)
    }

    @Test("A field block that stands for far more than it has bytes resets its stream, and the connection goes on")
    func compressionBomb() throws {
        let loop = try TestLoop()
        let server = try H2TestServer(loop)
        defer { server.stop() }
        let client = TLSClient.http2(server)
        // Indexed once (RFC 7541 section 6.2.1), it is one byte ever after (section 6.1).
        var indexed = Frame.fieldBlock([("x", String(repeating: "a", count: 4000))])
        indexed[0] = 0x40
        let again: UInt8 = 0x80 | 62
        let request = Frame.push(stream: 1).payload
        client.send(Frame(.headers, flags: 5, stream: 1, request + indexed))
        client.send(Frame(.headers, flags: 5, stream: 3, request + [UInt8](repeating: again, count: 15_000)))
        // In trailers too.
        client.send(Frame(.headers, flags: Frame.endHeaders, stream: 5, request))
        client.send(Frame(.headers, flags: 5, stream: 5, [UInt8](repeating: again, count: 15_000)))
        // The rest of the blocks was decoded nevertheless: the table is what the client thinks it is.
        client.send(Frame(.headers, flags: 5, stream: 7, request + [again]))
        #expect(loop.drive { client.resetCode(of: 5) != nil && server.requests.count == 2 })
        #expect(client.resetCode(of: 3) == 2)
        #expect(client.frames(on: 3).count == 1)
        #expect(server.requests.map { $0.values(of: "x").map(\.utf8.count) } == [[4000], [4000]])
        #expect(server.budget.used == 0)
    }

    @Test("A body over the limit is cut, and the request says so")
    func longBody() throws {
        let loop = try TestLoop()
        let server = try H2TestServer(loop) { $0.maximumBodyBytes = 10 }
        defer { server.stop() }
        let client = TLSClient.http2(server)
        client.send(
            .push(stream: 1), Frame(.data, stream: 1, Array("0123456".utf8)),
            Frame(.data, flags: Frame.endStream, stream: 1, Array("789abc".utf8)),
            .push(stream: 3), Frame(.data, flags: Frame.endStream, stream: 3, Array("0123456789".utf8)))
        #expect(loop.drive { server.requests.count == 2 })
        #expect(server.requests.first?.body == Array("0123456789".utf8))
        #expect(server.requests.map(\.isBodyTruncated) == [true, false])
    }

    @Test("An endless body is answered before its end and reset with NO_ERROR")
    func endlessBody() throws {
        let loop = try TestLoop()
        let server = try H2TestServer(loop) {
            $0.maximumBodyBytes = 10
            $0.maximumDiscardedBodyBytes = 20000
        }
        defer { server.stop() }
        server.onRequest = { _, exchange in exchange.respond(.refused) }
        let client = TLSClient.http2(server)
        let piece = [UInt8](repeating: 1, count: 16000)
        client.send(.push(stream: 1), Frame(.data, stream: 1, piece), Frame(.data, stream: 1, piece))
        #expect(loop.drive { client.resetCode(of: 1) != nil })
        #expect(client.frames(on: 1).map(\.kind).filter { $0 != Frame.Kind.windowUpdate.rawValue } == [1, 0, 3])
        #expect(client.resetCode(of: 1) == 0)
        #expect(server.requests.map(\.isBodyTruncated) == [true])
        #expect(server.budget.used == 0)
    }

    @Test("A stream over the limit is refused, also after the client has acknowledged it; the others are served")
    func tooManyStreams() throws {
        let loop = try TestLoop()
        let server = try H2TestServer(loop) { $0.maximumConcurrentStreams = 2 }
        defer { server.stop() }
        server.onRequest = { _, _ in }
        let client = TLSClient.http2(server)
        client.send(Frame(.settings, flags: Frame.acknowledge))
        for stream in [1, 3, 5, 7] as [UInt32] { client.send(.push(stream: stream, isEnd: true)) }
        #expect(loop.drive { client.resetCode(of: 5) != nil && client.resetCode(of: 7) != nil })
        #expect(client.resetCode(of: 5) == 7)
        #expect(server.requests.count == 2)
        for exchange in server.exchanges { exchange.respond(.accepted) }
        #expect(loop.drive { client.frames(on: 3).contains { $0.isEndOfStream } })
        client.send(.push(stream: 9, isEnd: true))
        #expect(loop.drive { server.requests.count == 3 })
    }

    @Test("Bytes over the server's budget refuse the stream, and are given back")
    func budget() throws {
        let loop = try TestLoop()
        let server = try H2TestServer(loop, budget: BufferBudget(capacity: 8 * 1024))
        defer { server.stop() }
        server.onRequest = { _, _ in }
        let client = TLSClient.http2(server)
        let piece = [UInt8](repeating: 1, count: 3000)
        for stream in [1, 3, 5] as [UInt32] {
            client.send(.push(stream: stream), Frame(.data, flags: Frame.endStream, stream: stream, piece))
        }
        #expect(loop.drive { client.resetCode(of: 5) != nil })
        #expect(client.resetCode(of: 5) == 7)
        #expect(server.requests.count == 1)
        for exchange in server.exchanges { exchange.respond(.accepted) }
        #expect(loop.drive { server.budget.used == 0 })
        client.send(.push(stream: 7), Frame(.data, flags: Frame.endStream, stream: 7, piece))
        #expect(loop.drive { server.requests.count == 2 })
        client.close()
        #expect(loop.drive { server.listener.connectionCount == 0 })
        #expect(server.budget.used == 0)
    }

    @Test("A client that resets what it opens, again and again, is sent away")
    func rapidReset() throws {
        let loop = try TestLoop()
        let server = try H2TestServer(loop) { $0.maximumGlitches = 50 }
        defer { server.stop() }
        var closed = 0
        server.onRequest = { _, exchange in exchange.onClose = { closed += 1 } }
        let client = TLSClient.http2(server)
        for index in 0..<100 {
            let stream = UInt32(2 * index + 1)
            client.send(.push(stream: stream, isEnd: true), .reset(stream))
        }
        // What it goes on sending must not destroy the GOAWAY on its way.
        var unknown = Frame(.data, [UInt8](repeating: 0, count: 16_000))
        unknown.kind = 0xAA
        client.send(Array(repeatElement(unknown.bytes, count: 500).joined()))
        #expect(loop.drive { client.isClosed })
        #expect(!client.hasFailed)
        #expect(client.goAway?.code == 11)
        #expect(client.goAway?.debug == "{\"reason\":\"TooManyResets\"}")
        #expect(closed == server.requests.count)
        #expect(server.budget.used == 0)
    }

    @Test("A client that resets each stream after its answer, as libcurl does, is served on and on")
    func resetAfterAnswer() throws {
        let loop = try TestLoop()
        let server = try H2TestServer(loop) { $0.maximumGlitches = 50 }
        defer { server.stop() }
        let client = TLSClient.http2(server)
        for index in 0..<200 {
            let stream = UInt32(2 * index + 1)
            client.send(.push(stream: stream, isEnd: true))
            try #require(loop.drive { client.frames(on: stream).contains { $0.isEndOfStream } })
            client.send(.reset(stream, code: 5))
        }
        #expect(client.goAway == nil)
    }

    @Test("A client whose errors make the server reset, again and again, is sent away too")
    func madeYouReset() throws {
        let loop = try TestLoop()
        let server = try H2TestServer(loop) { $0.maximumGlitches = 50 }
        defer { server.stop() }
        server.onRequest = { _, _ in }
        let client = TLSClient.http2(server)
        for index in 0..<100 {
            let stream = UInt32(2 * index + 1)
            // Overflows the stream's window; nothing that the client does looks like a reset.
            client.send(.push(stream: stream, isEnd: true), .windowUpdate(stream: stream, 0x7FFF_FFFF))
        }
        #expect(loop.drive { client.isClosed })
        #expect(client.goAway?.debug == "{\"reason\":\"TooManyResets\"}")
    }

    @Test("A request that is refused by its head keeps no body, and is answered at its end")
    func refusedByHead() throws {
        let loop = try TestLoop()
        let server = try H2TestServer(loop)
        defer { server.stop() }
        server.onConnect = { $0.onHead = { _ in .refused } }
        let client = TLSClient.http2(server)
        let body = Array("{\"aps\":{}}".utf8)
        client.send(.push(stream: 1), Frame(.data, stream: 1, body), Frame(.ping, [UInt8](repeating: 0, count: 8)))
        #expect(loop.drive { client.frames.contains { $0.kind == Frame.Kind.ping.rawValue } })
        #expect(client.frames(on: 1).isEmpty)
        #expect(server.budget.used == 1024)
        client.send(Frame(.data, flags: Frame.endStream, stream: 1, body))
        #expect(loop.drive { client.frames(on: 1).contains { $0.isEndOfStream } })
        #expect(client.frames(on: 1).map(\.kind) == [1, 0])
        #expect(server.requests.isEmpty)
        #expect(loop.drive { server.budget.used == 0 })
    }

    @Test("A refused request whose body doesn't end is answered at its deadline")
    func refusedWithoutEnd() throws {
        let loop = try TestLoop()
        let server = try H2TestServer(loop) { $0.requestDeadline = .milliseconds(50) }
        defer { server.stop() }
        server.onConnect = { $0.onHead = { _ in .refused } }
        let client = TLSClient.http2(server)
        client.send(.push(stream: 1))
        #expect(loop.drive { client.resetCode(of: 1) == 0 })
        #expect(client.frames(on: 1).map(\.kind) == [1, 0, 3])
    }

    @Test("Strangers hold few bytes, whatever window they leave for the answers, and a sender has its own")
    func bytesOfStrangers() throws {
        let loop = try TestLoop()
        let server = try H2TestServer(loop, budget: BufferBudget(capacity: 160 * 1024))
        defer { server.stop() }
        server.onConnect = { $0.onHead = { _ in .refused } }
        let strangers = (0..<3).map { _ in
            // No window: the answers stay here.
            let client = TLSClient(port: server.port, loop)
            client.send(Frame.preface + Frame.settings([(4, 0)]).bytes)
            for stream in 0..<20 { client.send(.push(stream: UInt32(2 * stream + 1), isEnd: true)) }
            return client
        }
        #expect(loop.drive { strangers.contains { $0.isClosed } })
        #expect(server.budget.used <= 10 * 1024)
        #expect(server.bounds.counts[.unprovenBytes] ?? 0 >= 1)
        server.onConnect = { $0.account = "team" }
        let sender = TLSClient.http2(server)
        sender.send(.push(stream: 1, isEnd: true))
        #expect(loop.drive { sender.frames(on: 1).contains { $0.isEndOfStream } })
    }

    @Test("A stranger whose requests are refused again and again is sent away, a sender is not")
    func refusals() throws {
        let loop = try TestLoop()
        let server = try H2TestServer(loop) { $0.maximumGlitches = 10 }
        defer { server.stop() }
        server.onConnect = { $0.onHead = { _ in .refused } }
        func send() -> TLSClient {
            let client = TLSClient.http2(server)
            for stream in 0..<20 { client.send(.push(stream: UInt32(2 * stream + 1), isEnd: true)) }
            return client
        }
        let stranger = send()
        #expect(loop.drive { stranger.isClosed })
        #expect(stranger.goAway?.debug == "{\"reason\":\"TooManyRequests\"}")
        #expect(server.bounds.counts == [.refusals: 1])
        server.onConnect = {
            $0.account = "team"
            $0.onHead = { _ in .refused }
        }
        let sender = send()
        #expect(loop.drive { sender.frames(on: 39).contains { $0.isEndOfStream } })
        #expect(!sender.isClosed)
    }

    @Test(
        "A client that floods with frames is sent away before they are answered",
        arguments: [
            (ConnectionBound.pings, "TooManyPings"), (.settings, "TooManySettings"),
            (.otherFrames, "TooManyFrames"), (.dataFrames, "TooManyFrames"),
        ])
    func floods(bound: ConnectionBound, reason: String) throws {
        let frame =
            switch bound {
            case .pings: Frame(.ping, [UInt8](repeating: 0, count: 8))
            case .settings: Frame.settings()
            case .otherFrames: Frame.windowUpdate(stream: 0, 1)
            default: Frame(.data, stream: 1)
            }
        let loop = try TestLoop()
        let server = try H2TestServer(loop)
        defer { server.stop() }
        let client = TLSClient.http2(server)
        client.send(.push(stream: 1))
        #expect(loop.drive { server.handlers.count == 1 && client.frames.count >= 3 })
        for _ in 0..<20 { client.send(Array(repeatElement(frame.bytes, count: 100).joined())) }
        #expect(loop.drive { client.isClosed })
        #expect(client.goAway?.code == 11)
        #expect(client.goAway?.debug == "{\"reason\":\"\(reason)\"}")
        #expect(server.bounds.counts == [bound: 1])
        #expect(client.frames.count { $0.kind == Frame.Kind.ping.rawValue } <= 300)
    }

    @Test("A stream id that is used again, or falls, ends the connection; trailers of a stream that was reset do not")
    func reusedStream() throws {
        for again in [1, 3] as [UInt32] {
            let loop = try TestLoop()
            let server = try H2TestServer(loop)
            defer { server.stop() }
            let client = TLSClient.http2(server)
            client.send(.push(stream: 5, isEnd: true))
            #expect(loop.drive { client.frames(on: 5).contains { $0.isEndOfStream } })
            client.send(.push(stream: again == 1 ? 5 : again, isEnd: true))
            #expect(loop.drive { client.isClosed })
            #expect(client.goAway?.code == 1)
            #expect(client.goAway?.debug == "{\"reason\":\"StreamClosed\"}")
            #expect(client.goAway?.lastStream == 5)
        }
        let loop = try TestLoop()
        let server = try H2TestServer(loop) { $0.maximumConcurrentStreams = 1 }
        defer { server.stop() }
        server.onRequest = { _, _ in }
        let client = TLSClient.http2(server)
        client.send(.push(stream: 1), .push(stream: 3))
        #expect(loop.drive { client.resetCode(of: 3) == 7 })
        client.send(Frame(.headers, flags: 5, stream: 3, Frame.fieldBlock([("x", "y")])))
        client.send(Frame(.data, flags: Frame.endStream, stream: 1, []))
        #expect(loop.drive { server.requests.count == 1 })
        #expect(client.goAway == nil)
    }

    @Test("The answer to HEAD has no body")
    func head() throws {
        let loop = try TestLoop()
        let server = try H2TestServer(loop)
        defer { server.stop() }
        server.onRequest = { _, exchange in exchange.respond(.refused) }
        let client = TLSClient.http2(server)
        client.send(.push(stream: 1, method: "HEAD", isEnd: true))
        #expect(loop.drive { client.frames(on: 1).contains { $0.isEndOfStream } })
        #expect(client.frames(on: 1).map(\.kind) == [1])
    }

    @Test("Damaged frames never trap", arguments: 0..<4)
    func damagedFrames(seed: UInt64) throws {
        let loop = try TestLoop()
        let server = try H2TestServer(loop)
        defer { server.stop() }
        var state = seed &* 0x9E37_79B9_7F4A_7C15 &+ 1
        func random(_ bound: Int) -> Int {
            state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
            return Int((state >> 33) % UInt64(bound))
        }
        let valid =
            Frame.push(stream: 1).bytes + Frame(.data, flags: Frame.endStream, stream: 1, Array("{}".utf8)).bytes
            + Frame.push(stream: 3, isEnd: true).bytes + Frame.windowUpdate(stream: 0, 1000).bytes
            + Frame.settings([(4, 100), (1, 0)]).bytes + Frame.reset(3).bytes
            + Frame(.ping, [UInt8](repeating: 0, count: 8)).bytes
            + Frame(.goAway, [UInt8](repeating: 0, count: 8)).bytes
        for _ in 0..<40 {
            var bytes = valid
            for _ in 0..<(1 + random(4)) { bytes[random(bytes.count)] = UInt8(random(256)) }
            let client = TLSClient(port: server.port, loop)
            client.send(Frame.preface + Frame.settings().bytes + bytes)
            #expect(loop.drive { client.isConnected || client.isClosed })
            loop.drive(for: .milliseconds(5))
            client.close()
        }
        #expect(loop.drive { server.listener.connectionCount == 0 })
        #expect(server.budget.used == 0)
    }
}
