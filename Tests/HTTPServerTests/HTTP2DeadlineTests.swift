import HTTPServer
import RunLoop
import Testing

/// Slow peers, each at another stage: the deadline is a total, and trickling does not extend it.
@MainActor @Suite(.serialized) struct HTTP2DeadlineTests {
    private func trickle(_ loop: TestLoop, until isDone: () -> Bool, _ send: (Int) -> Void) -> Bool {
        for step in 0..<200 {
            if isDone() { return true }
            send(step)
            loop.drive(for: .milliseconds(20))
        }
        return isDone()
    }

    @Test("A peer that is silent, or trickles its ClientHello, is closed")
    func handshake() throws {
        let loop = try TestLoop()
        let server = try H2TestServer(loop) { $0.handshakeDeadline = .milliseconds(150) }
        defer { server.stop() }
        let silent = SocketClient.tcp(port: server.port, loop)
        let trickling = SocketClient.tcp(port: server.port, loop)
        trickling.send([0x16, 3, 1, 2, 0, 1, 0, 1, 0xFC, 3, 3])
        #expect(trickle(loop, until: { silent.isClosed && trickling.isClosed }) { _ in trickling.send([7]) })
        #expect(server.listener.connectionCount == 0)
    }

    @Test("A peer that trickles its preface is told IdleTimeout and closed")
    func preface() throws {
        let loop = try TestLoop()
        let server = try H2TestServer(loop) { $0.prefaceDeadline = .milliseconds(150) }
        defer { server.stop() }
        let client = TLSClient(port: server.port, loop)
        #expect(
            trickle(loop, until: { client.isClosed }) { step in
                if step < 20 { client.send([Frame.preface[step]]) }
            })
        #expect(client.goAway?.debug == "{\"reason\":\"IdleTimeout\"}")
        #expect(client.goAway?.lastStream == 0)
    }

    @Test("A peer that never sends SETTINGS after its preface is closed")
    func missingSettings() throws {
        let loop = try TestLoop()
        let server = try H2TestServer(loop) { $0.prefaceDeadline = .milliseconds(100) }
        defer { server.stop() }
        let client = TLSClient(port: server.port, loop)
        client.send(Frame.preface)
        #expect(loop.drive { client.isClosed })
    }

    @Test("Part of a frame header, and nothing more, ends the connection")
    func halfFrameHeader() throws {
        let loop = try TestLoop()
        let server = try H2TestServer(loop) { $0.requestDeadline = .milliseconds(100) }
        defer { server.stop() }
        let client = TLSClient.http2(server)
        client.send([0, 0])
        #expect(loop.drive { client.isClosed })
        #expect(client.goAway?.debug == "{\"reason\":\"IdleTimeout\"}")
    }

    @Test("A header block trickled in CONTINUATION ends the connection, valid or not", arguments: [0, 0x86] as [UInt8])
    func trickledHeaders(byte: UInt8) throws {
        let loop = try TestLoop()
        let server = try H2TestServer(loop) { $0.requestDeadline = .milliseconds(150) }
        defer { server.stop() }
        let client = TLSClient.http2(server)
        client.send(.push(stream: 1, isHeadEnd: false))
        // Each byte of one CONTINUATION frame that announces 200.
        client.send([0, 0, 200, Frame.Kind.continuation.rawValue, 0] + Frame.big(1))
        #expect(trickle(loop, until: { client.isClosed }) { _ in client.send([byte]) })
        #expect(client.goAway?.debug == "{\"reason\":\"IdleTimeout\"}")
        #expect(server.requests.isEmpty)
        #expect(server.budget.used == 0)
    }

    @Test("A trickled body resets its stream; the others go on")
    func trickledBody() throws {
        let loop = try TestLoop()
        let server = try H2TestServer(loop) { $0.requestDeadline = .milliseconds(150) }
        defer { server.stop() }
        let client = TLSClient.http2(server)
        client.send(.push(stream: 1))
        #expect(
            trickle(loop, until: { client.resetCode(of: 1) != nil }) { _ in
                client.send(Frame(.data, stream: 1, [1]))
            })
        #expect(client.resetCode(of: 1) == 8)
        client.send(.push(stream: 3, isEnd: true))
        #expect(loop.drive { client.frames(on: 3).contains { $0.isEndOfStream } })
        #expect(!client.isClosed)
        #expect(server.budget.used == 0)
    }

    @Test("An answer that the stream's window does not let out is given up")
    func stalledWindow() throws {
        let loop = try TestLoop()
        let server = try H2TestServer(loop) { $0.writeDeadline = .milliseconds(100) }
        defer { server.stop() }
        server.onRequest = { _, exchange in exchange.respond(.refused) }
        let client = TLSClient.http2(server, settings: [(4, 0)])
        client.send(.push(stream: 1, isEnd: true))
        #expect(loop.drive { client.resetCode(of: 1) != nil })
        #expect(client.frames(on: 1).map(\.kind) == [Frame.Kind.headers.rawValue, Frame.Kind.rstStream.rawValue])
        #expect(loop.drive { server.budget.used == 0 })
        #expect(!client.isClosed)
    }

    @Test("A peer that does not fetch its answers is not read from, and closed")
    func unreadAnswers() throws {
        let loop = try TestLoop()
        let server = try H2TestServer(loop) { $0.writeDeadline = .milliseconds(300) }
        defer { server.stop() }
        let body = [UInt8](repeating: 1, count: 64 * 1024)
        server.onRequest = { _, exchange in exchange.respond(HTTPResponse(status: 200, body: body)) }
        let client = TLSClient.http2(server, settings: [(4, 1 << 20)])
        client.send(.windowUpdate(stream: 0, 1 << 30))
        #expect(loop.drive { client.frames.count >= 3 })
        client.isReading = false
        // 64 MiB of answers: more than the kernel buffers.
        for stream in 0..<1000 { client.send(.push(stream: UInt32(2 * stream + 1), isEnd: true)) }
        #expect(loop.drive { server.listener.connectionCount == 0 })
        #expect(server.handlers.first?.isClosed == true)
        #expect(server.budget.used == 0)
        client.close()
    }

    @Test("A peer that fetches its answers late gets every byte of them")
    func lateReader() throws {
        let loop = try TestLoop()
        let server = try H2TestServer(loop)
        defer { server.stop() }
        let body = (0..<60_000).map { UInt8(truncatingIfNeeded: $0 &* 31) }
        server.onRequest = { _, exchange in exchange.respond(HTTPResponse(status: 200, body: body)) }
        let client = TLSClient.http2(server, settings: [(4, 1 << 20)])
        client.send(.windowUpdate(stream: 0, 1 << 30))
        #expect(loop.drive { client.frames.count >= 3 })
        client.isReading = false
        // 18 MB, more than the kernel buffers.
        for index in 0..<300 { client.send(.push(stream: UInt32(2 * index + 1), isEnd: true)) }
        loop.drive(for: .milliseconds(150))
        client.isReading = true
        #expect(loop.drive { client.receivedBytes > 300 * body.count })
        loop.drive(for: .milliseconds(50))
        var bodies: [UInt32: [UInt8]] = [:]
        for frame in client.frames where frame.kind == Frame.Kind.data.rawValue {
            bodies[frame.stream, default: []] += frame.payload
        }
        #expect(bodies.count == 300)
        #expect(bodies.values.allSatisfy { $0 == body })
        #expect(server.budget.used == 0)
    }

    @Test("An unanswered request and an idle connection have no deadline and wake nobody")
    func idle() throws {
        let loop = try TestLoop()
        let server = try H2TestServer(loop) {
            $0.handshakeDeadline = .milliseconds(60)
            $0.prefaceDeadline = .milliseconds(60)
            $0.requestDeadline = .milliseconds(60)
            $0.writeDeadline = .milliseconds(60)
        }
        defer { server.stop() }
        server.onRequest = { _, _ in }
        let busy = TLSClient.http2(server)
        let idle = TLSClient.http2(server)
        busy.send(.push(stream: 1, isEnd: true))
        #expect(loop.drive { server.requests.count == 1 && idle.frames.count >= 3 })
        // The request's deadline fires once, for nothing.
        loop.drive(for: .milliseconds(100))
        let timers = loop.runLoop.statistics.byCause[.timer] ?? 0
        loop.drive(for: .milliseconds(200))
        #expect(loop.runLoop.statistics.byCause[.timer] ?? 0 == timers)
        #expect(!busy.isClosed && !idle.isClosed)
        server.exchanges.first?.respond(.accepted)
        #expect(loop.drive { busy.frames(on: 1).contains { $0.isEndOfStream } })
    }
}
