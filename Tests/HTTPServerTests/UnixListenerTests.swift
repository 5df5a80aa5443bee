import CRingwakeLinux
import Glibc
import HTTPServer
import RingwakeCore
import Testing

/// The file of a Unix socket: who may have it, and when it goes.
@MainActor @Suite(.serialized) struct UnixListenerTests {
    @Test("The socket has its mode, and is removed with the listener")
    func modeAndRemoval() throws {
        let loop = try TestLoop()
        let server = try UnixTestServer(loop, access: .group(getgid()))
        let status = UnixTestServer.status(of: server.path)
        #expect((status?.st_mode ?? 0) & S_IFMT == S_IFSOCK)
        #expect((status?.st_mode ?? 0) & 0o777 == 0o660)
        server.stop()
        #expect(UnixTestServer.status(of: server.path) == nil)
    }

    @Test("A dead process's socket is replaced, and nothing else is left in the directory")
    func staleSocket() throws {
        let loop = try TestLoop()
        let path = UnixTestServer.freshPath()
        UnixTestServer.makeStaleSocket(at: path)
        let server = try UnixTestServer(loop, path: path)
        defer { server.stop() }
        let client = server.client()
        client.send("GET /a HTTP/1.1\r\nHost: x\r\n\r\n")
        #expect(loop.drive { client.text.hasSuffix("/a") })
        #expect(UnixTestServer.status(of: "\(path).\(getpid())") == nil)
    }

    @Test("A living process's socket is an error, and stays")
    func livingSocket() throws {
        let loop = try TestLoop()
        let server = try UnixTestServer(loop)
        defer { server.stop() }
        let error = #expect(throws: RingwakeError.self) { try UnixTestServer(loop, path: server.path) }
        #expect(error?.code == .inUse)
        #expect(error?.message.contains("another ringwaked answers at '\(server.path)'") == true)
        let client = server.client()
        client.send("GET /a HTTP/1.1\r\nHost: x\r\n\r\n")
        #expect(loop.drive { client.text.hasSuffix("/a") })
    }

    @Test("A file that is no socket is an error, and stays")
    func foreignFile() throws {
        let loop = try TestLoop()
        let path = UnixTestServer.freshPath()
        close(open(path, O_CREAT | O_WRONLY, 0o600))
        let error = #expect(throws: RingwakeError.self) { try UnixTestServer(loop, path: path) }
        #expect(error?.code == .inUse)
        #expect(error?.message.contains("is not a socket") == true)
        #expect(UnixTestServer.status(of: path) != nil)
        unlink(path)
        rmdir(String(path.dropLast("/socket".count)))
    }

    @Test("A path that is too long, empty, or in no directory is a clear error")
    func badPath() throws {
        let loop = try TestLoop()
        let long = "/tmp/" + String(repeating: "a", count: 103)
        let error = #expect(throws: RingwakeError.self) { try UnixTestServer(loop, path: long) }
        #expect(error?.code == .badConfiguration)
        #expect(error?.message.contains("108 bytes") == true)
        #expect(throws: RingwakeError.self) { try UnixTestServer(loop, path: "") }
        let missing = #expect(throws: RingwakeError.self) { try UnixTestServer(loop, path: "/nonexistent/socket") }
        #expect(missing?.message.contains("directory does not exist") == true)
    }

    @Test("A listener that closes leaves the socket of one that came after it")
    func successor() throws {
        let loop = try TestLoop()
        let server = try UnixTestServer(loop)
        unlink(server.path)
        let successor = try UnixTestServer(loop, path: server.path)
        defer { successor.stop() }
        server.stop()
        #expect(UnixTestServer.status(of: successor.path) != nil)
    }

    @Test("The handler learns the peer's process and user")
    func credentials() throws {
        let loop = try TestLoop()
        let server = try UnixTestServer(loop)
        defer { server.stop() }
        let client = server.client()
        client.send("GET / HTTP/1.1\r\nHost: x\r\n\r\n")
        #expect(loop.drive { server.requests.count == 1 })
        let peer = server.handlers.first?.peer
        #expect(peer?.address == "unix")
        let credentials = try #require(peer?.credentials)
        #expect((credentials.processID, credentials.userID, credentials.groupID) == (getpid(), getuid(), getgid()))
    }

    @Test("Of a full house the connection that has been idle for longest goes; one with a request stays")
    func idleConnectionsMakeRoom() throws {
        let loop = try TestLoop()
        let server = try UnixTestServer(loop) { $0.maximumConnections = 3 }
        defer { server.stop() }
        let busy = server.client()
        busy.send("GET /busy HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\n")
        let idle = server.client()
        #expect(loop.drive { server.listener.connectionCount == 2 })
        loop.drive(for: .milliseconds(10))
        let third = server.client()
        third.send("GET /third HTTP/1.1\r\nHost: x\r\n\r\n")
        #expect(loop.drive { idle.isClosed && third.text.hasSuffix("/third") })
        busy.send("123456789")
        #expect(loop.drive { busy.text.hasSuffix("/busy") })
    }

    @Test("One whose request has come stays as well, though nobody has read it; once it is answered it makes room")
    func requestsThatWaitStay() throws {
        let loop = try TestLoop()
        let server = try UnixTestServer(loop) { $0.maximumConnections = 3 }
        defer { server.stop() }
        // All of them before the loop takes the first.
        let clients = (0..<4).map { number in
            let client = server.client()
            client.send("GET /\(number) HTTP/1.1\r\nHost: x\r\n\r\n")
            return client
        }
        #expect(loop.drive { (0..<4).allSatisfy { clients[$0].text.hasSuffix("/\($0)") } })
        #expect(server.requests.count == 4)
    }

    @Test("A connection over the limit waits until another one ends")
    func tooManyConnections() throws {
        let loop = try TestLoop()
        let server = try UnixTestServer(loop) { $0.maximumConnections = 1 }
        defer { server.stop() }
        let first = server.client()
        #expect(loop.drive { server.listener.connectionCount == 1 })
        let second = server.client()
        second.send("GET /b HTTP/1.1\r\nHost: x\r\n\r\n")
        loop.drive(for: .milliseconds(30))
        #expect(server.requests.isEmpty)
        first.close()
        #expect(loop.drive { second.text.hasSuffix("/b") })
    }
}
