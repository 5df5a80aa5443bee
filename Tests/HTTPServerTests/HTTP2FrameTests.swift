import HTTPServer
import Testing

/// What stands on the wire, frame by frame.
@MainActor @Suite(.serialized) struct HTTP2FrameTests {
    @Test("An answer without body is one HEADERS with END_STREAM")
    func emptyAnswer() throws {
        let loop = try TestLoop()
        let server = try H2TestServer(loop)
        defer { server.stop() }
        let client = TLSClient.http2(server)
        client.send(.push(stream: 1), Frame(.data, flags: Frame.endStream, stream: 1, Array("{}".utf8)))
        #expect(loop.drive { client.frames(on: 1).contains { $0.isEndOfStream } })
        loop.drive(for: .milliseconds(20))
        #expect(client.frames(on: 1).map(\.kind) == [Frame.Kind.headers.rawValue])
        #expect(client.frames(on: 1).first?.flags == Frame.endStream | Frame.endHeaders)
    }

    @Test("An answer with body is HEADERS, then one DATA with all of it and END_STREAM")
    func answerWithBody() throws {
        let loop = try TestLoop()
        let server = try H2TestServer(loop)
        defer { server.stop() }
        let body = [UInt8](repeating: UInt8(ascii: "x"), count: 16384)
        server.onRequest = { _, exchange in exchange.respond(HTTPResponse(status: 400, body: body)) }
        let client = TLSClient.http2(server)
        client.send(.push(stream: 1, isEnd: true))
        #expect(loop.drive { client.frames(on: 1).contains { $0.isEndOfStream } })
        loop.drive(for: .milliseconds(20))
        #expect(client.frames(on: 1).map(\.kind) == [Frame.Kind.headers.rawValue, Frame.Kind.data.rawValue])
        #expect(client.frames(on: 1).first?.flags == Frame.endHeaders)
        #expect(client.frames(on: 1).last?.payload == body)
        #expect(client.frames(on: 1).last?.isEndOfStream == true)
    }

    @Test("A body that the connection's window would cut waits for the window, and is one DATA then")
    func connectionWindow() throws {
        let loop = try TestLoop()
        let server = try H2TestServer(loop)
        defer { server.stop() }
        // The window of a connection begins with 65,535 bytes (RFC 9113 section 6.9.2).
        let body = [UInt8](repeating: UInt8(ascii: "x"), count: 16_000)
        server.onRequest = { _, exchange in exchange.respond(HTTPResponse(status: 400, body: body)) }
        let client = TLSClient.http2(server)
        for stream in [1, 3, 5, 7, 9, 11] as [UInt32] { client.send(.push(stream: stream, isEnd: true)) }
        #expect(loop.drive { client.frames(on: 11).count == 1 })
        loop.drive(for: .milliseconds(20))
        #expect(client.frames(on: 7).map(\.kind) == [1, 0])
        #expect(client.frames(on: 9).map(\.kind) == [1])
        client.send(.windowUpdate(stream: 0, 100))
        loop.drive(for: .milliseconds(20))
        #expect(client.frames(on: 9).map(\.kind) == [1])
        client.send(.windowUpdate(stream: 0, 32_000))
        #expect(loop.drive { client.frames(on: 11).contains { $0.isEndOfStream } })
        for stream in [9, 11] as [UInt32] {
            #expect(client.frames(on: stream).map(\.kind) == [1, 0])
            #expect(client.frames(on: stream).last?.payload.count == body.count)
        }
    }

    @Test("A body that the stream's own window cuts is sent piece by piece")
    func streamWindow() throws {
        let loop = try TestLoop()
        let server = try H2TestServer(loop)
        defer { server.stop() }
        server.onRequest = { _, exchange in exchange.respond(HTTPResponse(status: 400, body: [1, 2, 3])) }
        let client = TLSClient.http2(server, settings: [(4, 2)])
        client.send(.push(stream: 1, isEnd: true))
        #expect(loop.drive { client.frames(on: 1).count == 2 })
        client.send(.windowUpdate(stream: 1, 2))
        #expect(loop.drive { client.frames(on: 1).contains { $0.isEndOfStream } })
        #expect(client.frames(on: 1).dropFirst().map(\.payload) == [[1, 2], [3]])
    }

    @Test("A late answer has the same shape, and many leave in the order they were given")
    func lateAnswers() throws {
        let loop = try TestLoop()
        let server = try H2TestServer(loop)
        defer { server.stop() }
        server.onRequest = { _, _ in }
        let client = TLSClient.http2(server)
        for stream in [1, 3, 5] as [UInt32] { client.send(.push(stream: stream, isEnd: true)) }
        #expect(loop.drive { server.requests.count == 3 })
        for exchange in server.exchanges.reversed() {
            #expect(exchange.isOpen)
            exchange.respond(.refused)
            #expect(!exchange.isOpen)
            exchange.respond(.accepted)
        }
        #expect(loop.drive { client.frames(on: 1).contains { $0.isEndOfStream } })
        let answers = client.frames.filter { $0.stream > 0 }
        #expect(answers.filter { $0.kind == Frame.Kind.headers.rawValue }.map(\.stream) == [5, 3, 1])
        for stream in [1, 3, 5] as [UInt32] {
            #expect(client.frames(on: stream).map(\.kind) == [1, 0])
        }
    }

    @Test("Our SETTINGS are Apple's, and the connection window is raised")
    func settings() throws {
        let loop = try TestLoop()
        let server = try H2TestServer(loop)
        defer { server.stop() }
        let client = TLSClient.http2(server)
        #expect(loop.drive { client.frames.count >= 3 })
        let payload = client.frames.first?.payload ?? []
        var settings: [UInt32: UInt32] = [:]
        for start in stride(from: 0, to: payload.count, by: 6) {
            settings[Frame.number(payload[start..<(start + 2)])] = Frame.number(payload[(start + 2)..<(start + 6)])
        }
        #expect(client.frames.first?.kind == Frame.Kind.settings.rawValue)
        #expect(settings == [1: 4096, 3: 1000, 4: 65535, 5: 16384, 6: 8000])
        let window = client.frames.first { $0.kind == Frame.Kind.windowUpdate.rawValue }
        let raise: UInt32 = 8 * 1024 * 1024 - 65535
        #expect(window.map { Frame.number($0.payload) } == raise)
    }

    @Test("The connection window is replenished as bytes arrive")
    func windowIsReplenished() throws {
        let loop = try TestLoop()
        let server = try H2TestServer(loop)
        defer { server.stop() }
        let client = TLSClient.http2(server)
        let piece = [UInt8](repeating: 1, count: 16384)
        for index in 0..<160 {
            let stream = UInt32(2 * index + 1)
            client.send(
                .push(stream: stream), Frame(.data, stream: stream, piece), Frame(.data, stream: stream, piece),
                Frame(.data, flags: Frame.endStream, stream: stream, piece))
        }
        #expect(loop.drive { server.requests.count == 160 })
        #expect(
            loop.drive {
                client.frames.filter { $0.stream == 0 && $0.kind == Frame.Kind.windowUpdate.rawValue }.count > 1
            })
        #expect(server.requests.allSatisfy { $0.body.count == 3 * 16384 })
    }

    @Test("A client without ALPN, and with host instead of :authority, is served")
    func withoutALPN() throws {
        let loop = try TestLoop()
        let server = try H2TestServer(loop)
        defer { server.stop() }
        let client = TLSClient(port: server.port, alpn: nil, loop)
        client.send(Frame.preface + Frame.settings().bytes + Frame.push(stream: 1, isEnd: true).bytes)
        #expect(loop.drive { client.frames(on: 1).contains { $0.isEndOfStream } })
        #expect(server.requests.first?.values(of: "host") == ["localhost"])
    }

    @Test("A client whose ALPN has no h2 is refused in the handshake")
    func foreignALPN() throws {
        let loop = try TestLoop()
        let server = try H2TestServer(loop)
        defer { server.stop() }
        let client = TLSClient(port: server.port, alpn: [8] + Array("http/1.1".utf8), loop)
        #expect(loop.drive { client.isClosed && server.listener.connectionCount == 0 })
        #expect(!client.isConnected)
        #expect(server.handlers.isEmpty)
    }

    @Test("PING is answered, unknown frames and PRIORITY are ignored, trailers are dropped")
    func otherFrames() throws {
        let loop = try TestLoop()
        let server = try H2TestServer(loop)
        defer { server.stop() }
        let client = TLSClient.http2(server)
        var unknown = Frame(.data, [1, 2, 3])
        unknown.kind = 0xAA
        client.send(
            Frame(.ping, [1, 2, 3, 4, 5, 6, 7, 8]), unknown, Frame(.priority, stream: 9, [0, 0, 0, 0, 1]),
            .push(stream: 1), Frame(.data, stream: 1, Array("{}".utf8)),
            Frame(
                .headers, flags: Frame.endHeaders | Frame.endStream, stream: 1, Frame.fieldBlock([("x-late", "1")])))
        #expect(loop.drive { client.frames(on: 1).contains { $0.isEndOfStream } })
        let pong = client.frames.first { $0.kind == Frame.Kind.ping.rawValue }
        #expect(pong?.flags == Frame.acknowledge)
        #expect(pong?.payload == [1, 2, 3, 4, 5, 6, 7, 8])
        #expect(server.requests.first?.values(of: "x-late").isEmpty == true)
        #expect(server.requests.first?.body == Array("{}".utf8))
    }

    @Test("A content-length that does not match resets the stream and nothing else")
    func wrongContentLength() throws {
        let loop = try TestLoop()
        let server = try H2TestServer(loop)
        defer { server.stop() }
        let client = TLSClient.http2(server)
        client.send(
            .push(stream: 1, fields: [("content-length", "3")]),
            Frame(.data, flags: Frame.endStream, stream: 1, Array("{}".utf8)), .push(stream: 3, isEnd: true))
        #expect(loop.drive { client.frames(on: 3).contains { $0.isEndOfStream } })
        #expect(client.resetCode(of: 1) == 1)
        #expect(server.requests.count == 1)
    }

    @Test("A stream in pieces leaves as one answer on HTTP/2")
    func gatheredStream() throws {
        let loop = try TestLoop()
        let server = try H2TestServer(loop)
        defer { server.stop() }
        server.onRequest = { _, exchange in
            exchange.beginStream(status: 200, fields: [])
            #expect(exchange.send(Array("ab".utf8)))
            #expect(exchange.send(Array("c".utf8)))
            exchange.finish()
        }
        let client = TLSClient.http2(server)
        client.send(.push(stream: 1, isEnd: true))
        #expect(loop.drive { client.frames(on: 1).contains { $0.isEndOfStream } })
        #expect(client.frames(on: 1).last?.payload == Array("abc".utf8))
    }
}
