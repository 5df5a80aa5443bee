import HTTP1
import Testing

@testable import RingwakeKit

@Suite("The unix socket")
struct UnixTransportTests {
    private let server: SocketServer

    init() throws {
        server = try SocketServer()
    }

    private func open(_ number: UInt64 = 1) throws {
        server.transport.openStream(number, ControlRequest(.handler, "GET", "/v1/apps/a/handler", secret: "s"))
        try server.settle()
    }

    private func connection(_ index: Int) throws -> SocketServer.Connection {
        try #require(server.connections.dropFirst(index).first)
    }

    private func get(_ number: UInt64, _ sender: ControlRequest.Sender = .handler) -> ControlRequest {
        ControlRequest(sender, "GET", "/v1/\(number)")
    }

    // MARK: - The stream

    @Test("lines are told as they come, in whatever pieces")
    func lines() throws {
        try open()
        let connection = try #require(server.connections.first)
        let request = try #require(connection.requests.first)
        #expect(request.target == "/v1/apps/a/handler")
        #expect(request.values(of: "authorization") == ["Bearer s"])
        connection.beginStream()
        connection.send(HTTP1Writer.chunk(Array("one\ntw".utf8)))
        try server.settle()
        #expect(server.said == ["opened 1", "line 1 one"])
        for byte in HTTP1Writer.chunk(Array("o\nthree\n".utf8)) {
            connection.send([byte])
            try server.settle()
        }
        #expect(server.said.suffix(2) == ["line 1 two", "line 1 three"])
    }

    @Test("the end of the stream is told once, however it comes")
    func ends() throws {
        try open(1)
        try connection(0).beginStream()
        try connection(0).line("one")
        try connection(0).close()
        try server.settle()
        #expect(server.said == ["opened 1", "line 1 one", "ended 1 unreachable"])
        try open(2)
        try connection(1).beginStream()
        try connection(1).send(HTTP1Writer.lastChunk)
        try server.settle()
        try connection(1).close()
        try server.settle()
        #expect(server.said.suffix(2) == ["opened 2", "ended 2 unreachable"])
    }

    @Test(
        "bytes that are no stream end it",
        arguments: [
            "SSH-2.0-OpenSSH\r\n", "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\nzz\r\n",
            "HTTP/1.1 200 OK\r\ntransfer-encoding: gzip\r\n\r\n", "HTTP/1.1 101 Switching\r\n\r\n",
            "HTTP/1.1 200 OK\nx: y\n\n", "\0\0\0\0\n",
        ])
    func badBytes(_ bytes: String) throws {
        try open()
        try connection(0).send(bytes)
        try server.settle()
        #expect(server.said.last == "ended 1 bad-answer")
    }

    @Test("a line that does not end ends the stream at its limit")
    func endlessLine() throws {
        try open()
        try connection(0).beginStream()
        let piece = HTTP1Writer.chunk([UInt8](repeating: 0x61, count: 1 << 16))
        for _ in 0...16 {
            try connection(0).send(piece)
            try server.settle()
        }
        #expect(server.said == ["opened 1", "ended 1 bad-answer"])
    }

    @Test("a refusal is told with what the daemon says")
    func refused() throws {
        try open()
        try connection(0).answer(403, #"{"error":"not-permitted","message":"no","schema":1}"#)
        try server.settle()
        #expect(server.said == ["refused 1 403"])
    }

    @Test("a stream that was closed tells nothing more, and the next one takes its place")
    func closed() throws {
        try open(1)
        try connection(0).beginStream()
        server.transport.closeStream(1)
        try connection(0).line("one")
        try server.settle()
        #expect(server.said == [])
        try open(2)
        try connection(1).beginStream()
        try server.settle()
        #expect(server.said == ["opened 2"])
    }

    @Test("a handler's requests go with its stream, one after the other, and a user's do not")
    func shared() throws {
        try open()
        let stream = try connection(0)
        #expect(stream.requests.first?.values(of: "upgrade") == ["ringwake-lines"])
        stream.beginSharedStream()
        try server.settle()
        for number: UInt64 in 1...4 { server.transport.send(number, get(number)) }
        server.transport.send(9, get(9, .user))
        try server.settle()
        #expect(stream.requests.map(\.target) == ["/v1/apps/a/handler", "/v1/1"])
        #expect(try connection(1).requests.map(\.target) == ["/v1/9"])
        server.transport.cancel(1)
        server.transport.cancel(3)
        stream.send(#"{"event":"x"}"# + "\n" + #"{"answer":200,"body":{}}"# + "\n")
        try server.settle()
        stream.send(#"{"answer":404,"body":{"a":{"b":[]}}}"# + "\n")
        try server.settle()
        #expect(stream.requests.dropFirst(2).map(\.target) == ["/v1/2", "/v1/4"])
        stream.send(#"{"answer":200,"octets":"AP8K"}"# + "\n")
        try server.settle()
        #expect(server.said.prefix(3) == ["opened 1", #"line 1 {"event":"x"}"#, #"answered 2 404 {"a":{"b":[]}}"#])
        guard case .answered(4, let answer) = server.told.last else { throw SocketServer.Unexpected() }
        #expect(answer.body == [0, 255, 10])
    }

    @Test("a user's stream is beside the handler's, no request goes with it, and its end touches nothing else")
    func twoStreams() throws {
        try open(1)
        try connection(0).beginSharedStream()
        server.transport.openStream(2, ControlRequest(.user, "GET", "/v1/events"))
        try server.settle()
        let events = try connection(1)
        #expect(events.requests.map(\.target) == ["/v1/events"])
        events.beginSharedStream()
        events.send("one\n")
        try server.settle()
        server.transport.send(8, get(8))
        server.transport.send(9, get(9, .user))
        try server.settle()
        #expect(try connection(0).requests.map(\.target) == ["/v1/apps/a/handler", "/v1/8"])
        #expect(try connection(2).requests.map(\.target) == ["/v1/9"])
        #expect(events.requests.count == 1)
        server.transport.closeStream(2)
        events.send("two\n")
        try connection(0).send("three\n")
        try server.settle()
        #expect(server.said == ["opened 1", "opened 2", "line 2 one", "line 1 three"])
    }

    @Test(
        "requests that a stream leaves without an answer fail, and only one may have been done",
        arguments: [true, false])
    func sharedEnd(isClosedHere: Bool) throws {
        try open()
        try connection(0).beginSharedStream()
        try server.settle()
        for number: UInt64 in 1...2 { server.transport.send(number, get(number)) }
        try server.settle()
        if isClosedHere { server.transport.closeStream(1) } else { try connection(0).close() }
        try server.settle()
        let ended = isClosedHere ? [] : ["ended 1 unreachable"]
        #expect(server.said == ["opened 1"] + ended + ["failed 1 unreachable sent", "failed 2 unreachable"])
        server.transport.send(3, get(3))
        try server.settle()
        #expect(try connection(1).requests.map(\.target) == ["/v1/3"])
    }

    @Test("an answer that nobody asked for, or without a status, ends a shared stream", arguments: [0, 1])
    func sharedNonsense(requests: UInt64) throws {
        try open()
        try connection(0).beginSharedStream()
        try server.settle()
        for number in 0..<requests { server.transport.send(number, get(number)) }
        try server.settle()
        try connection(0).send(#"{"answer":\#(requests == 0 ? "200" : "null")}"# + "\n")
        try server.settle()
        #expect(server.said.contains("ended 1 bad-answer"))
    }

    @Test("where nobody listens that is said, and a daemon that comes is found")
    func noDaemon() throws {
        let server = try SocketServer(isListening: false)
        server.transport.openStream(1, get(1))
        server.transport.send(2, get(2))
        try server.settle()
        #expect(Set(server.said) == ["ended 1 daemon-not-running", "failed 2 daemon-not-running"])
        server.listen()
        server.transport.send(3, get(3))
        try server.settle()
        #expect(server.connections.first?.requests.map(\.target) == ["/v1/3"])
    }

    @Test("a path that no socket can have is refused")
    func paths() {
        for path in ["", String(repeating: "a", count: 108), "a\0b"] {
            let error = #expect(throws: RingwakeKitError.self) { try UnixTransport.check(path) }
            #expect(error?.code == .invalidRequest)
        }
    }

    // MARK: - Requests

    @Test("requests of a sender go one after the other, on one connection that is kept")
    func inOrder() throws {
        server.transport.send(1, get(1))
        server.transport.send(2, get(2))
        try server.settle()
        let connection = try #require(server.connections.first)
        #expect(connection.requests.map(\.target) == ["/v1/1"])
        connection.answer(200, "one")
        try server.settle()
        #expect(connection.requests.map(\.target) == ["/v1/1", "/v1/2"])
        connection.answer(200, "two")
        try server.settle()
        server.transport.send(3, get(3))
        try server.settle()
        #expect(server.connections.count == 1)
        #expect(server.said == ["answered 1 200 one", "answered 2 200 two"])
    }

    @Test("a user's request does not wait for a handler's")
    func lanes() throws {
        server.transport.send(1, get(1))
        server.transport.send(2, get(2, .user))
        try server.settle()
        #expect(server.connections.map { $0.requests.map(\.target) } == [["/v1/1"], ["/v1/2"]])
    }

    @Test("a connection that the daemon closes in between is made anew")
    func idleClose() throws {
        server.transport.send(1, get(1))
        try server.settle()
        try connection(0).answer(200, "one")
        try server.settle()
        try connection(0).close()
        try server.settle()
        server.transport.send(2, get(2))
        try server.settle()
        #expect(server.said == ["answered 1 200 one"])
        #expect(server.connections.last?.requests.map(\.target) == ["/v1/2"])
    }

    @Test("where the daemon breaks off, only the request that it had may have been done")
    func breaksOff() throws {
        server.transport.send(1, get(1))
        server.transport.send(2, get(2))
        try server.settle()
        try connection(0).send("HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nhalf")
        try connection(0).close()
        try server.settle()
        #expect(server.said == ["failed 1 unreachable sent", "failed 2 unreachable"])
    }

    @Test(
        "an answer that is none, or too long, is told as such",
        arguments: ["nonsense\r\n", "HTTP/1.1 200 OK\r\ncontent-length: 8388609\r\n\r\n"])
    func badAnswer(_ bytes: String) throws {
        server.transport.send(1, get(1))
        try server.settle()
        try connection(0).send(bytes)
        try server.settle()
        #expect(server.said == ["failed 1 bad-answer sent"])
    }

    @Test("bytes that nobody asked for end the connection, and not the sender")
    func unasked() throws {
        server.transport.send(1, get(1))
        try server.settle()
        try connection(0).answer(200, "one")
        try server.settle()
        try connection(0).answer(200, "nobody asked")
        try server.settle()
        server.transport.send(2, get(2))
        try server.settle()
        #expect(server.connections.count == 2)
        try connection(1).answer(200, "two")
        try server.settle()
        #expect(server.said == ["answered 1 200 one", "answered 2 200 two"])
    }

    @Test("one that is given up takes its connection along, and the next goes on")
    func cancelled() throws {
        for number: UInt64 in 1...3 { server.transport.send(number, get(number)) }
        try server.settle()
        server.transport.cancel(2)
        server.transport.cancel(1)
        try server.settle()
        try connection(0).answer(200, "one")
        #expect(try connection(1).requests.map(\.target) == ["/v1/3"])
        try connection(1).answer(200, "three")
        try server.settle()
        #expect(server.said == ["answered 3 200 three"])
    }
}
