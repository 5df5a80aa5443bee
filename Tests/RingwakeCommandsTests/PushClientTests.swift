import CRingwakeLinux
import Cryptography
import Glibc
import PushClient
import RingwakeCore
import Testing

@testable import RingwakeCommands

@Suite("Push client against peers that are no push service")
struct PushClientTests {
    init() {
        // As the program does: a peer that closes early must not end the test.
        signal(SIGPIPE, SIG_IGN)
    }

    private func send(
        port: UInt16, caFile: String? = nil, credential: ProviderCredential = .none, timeout: Duration = .seconds(10)
    ) -> RingwakeError? {
        do throws(RingwakeError) {
            let server = PushServer(host: "127.0.0.1", port: port, caFile: caFile, timeout: timeout)
            let client = try PushClient(server: server, credential: credential, userAgent: "test", wallClock: { 0 })
            _ = try client.send(PushRequest(token: "00ff", payload: Array("{}".utf8)))
            return nil
        } catch {
            return error
        }
    }

    /// Runs `body` with the port of a server that does `serve` to each connection.
    private func withServer(
        _ serve: @escaping @Sendable (Int32) -> Void, _ body: (UInt16) throws -> Void
    ) rethrows {
        let (listener, port) = ScriptedServer.tcpListener()
        let server = ScriptedServer(listener: listener, serve: serve)
        defer { server.stop() }
        try body(port)
    }

    @Test("a closed port is unreachable, and the message says that nothing listens there")
    func closedPort() {
        let (listener, port) = ScriptedServer.tcpListener()
        close(listener)
        let error = send(port: port)
        #expect(error?.code == .unreachable && error?.message.contains("nothing listens there") == true)
        let ran = ringwake(["push", "--token", "00ff", "--host", "127.0.0.1", "--port", "\(port)"])
        #expect(ran.status == 8)
    }

    @Test("a port that does not speak TLS is unreachable, and the message says so")
    func plainPort() {
        withServer({ connection in
            let text = Array("HTTP/1.1 400 Bad Request\r\n\r\n".utf8)
            _ = text.withUnsafeBytes { Glibc.send(connection, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL)) }
            shutdown(connection, Int32(SHUT_WR))
            var byte: UInt8 = 0
            while recv(connection, &byte, 1, 0) > 0 {}
        }) { port in
            let error = send(port: port)
            #expect(error?.code == .unreachable && error?.message.contains("does not speak TLS") == true)
        }
    }

    @Test("a server that says nothing times out")
    func silentServer() {
        withServer({ connection in
            var byte: UInt8 = 0
            while recv(connection, &byte, 1, 0) > 0 {}
        }) { port in
            #expect(send(port: port, timeout: .milliseconds(100))?.code == .timedOut)
        }
    }

    @Test("a server of a CA that is not trusted is unreachable, and the message names --ca")
    func untrustedServer() throws {
        let directory = TemporaryDirectory()
        #expect(ringwake(["certs", "dev-ca", "--directory", directory.path]).status == 0)
        let chain = Array(try #require(directory.read("server.pem")).utf8)
        let key = Array(try #require(directory.read("server.key")).utf8)
        let server: @Sendable (Int32) -> Void = { connection in TLSPeer.shakeHands(connection, chain: chain, key: key) }
        try withServer(server) { port in
            let error = try #require(send(port: port))
            #expect(error.code == .unreachable && error.message.contains("--ca"))
        }
        // The same server when it is trusted: TLS is agreed, and then it closes.
        try withServer(server) { port in
            let error = try #require(send(port: port, caFile: directory.path + "/ca.pem"))
            #expect(error.code == .unreachable && error.message.contains("broke before the answer"))
        }
    }

    @Test("certificate and key are read from PEM and P12, and must belong together")
    func credentials() throws {
        let directory = TemporaryDirectory()
        let arguments = [
            "certs", "dev-ca", "--directory", directory.path, "--p12-password-file", directory.path + "/password",
        ]
        directory.write("secret\nmore\n", to: "password")
        directory.write("wrong", to: "wrong")
        #expect(ringwake(arguments).status == 0)
        let file = "voip-services-com.example.phone"
        let path = { (name: String) in directory.path + "/" + name }
        let push = { (options: [String]) in
            ringwake(["push", "--token", "00", "--host", "127.0.0.1", "--port", "1", "--timeout", "2s"] + options)
        }
        #expect(push(["--cert", path(file + ".pem")]).status == 8)
        #expect(push(["--cert", path(file + ".p12"), "--password-file", path("password")]).status == 8)
        let wrong = push(["--cert", path(file + ".p12"), "--password-file", path("wrong")])
        #expect(wrong.status == 4 && wrong.errors.contains("password"))
        let mismatch = push(["--cert", path(file + ".pem"), "--cert-key", path("server.key")])
        #expect(mismatch.status == 1 && mismatch.errors.contains("does not belong"))
        let missing = push(["--cert", path("server.pem")])
        #expect(missing.status == 1 && missing.errors.contains("no private key"))
        #expect(push(["--cert", path("nothing.pem")]).status == 5)
        directory.write("garbage", to: "garbage")
        #expect(push(["--cert", path("garbage")]).status == 1)
        #expect(push(["--key", path("garbage"), "--key-id", "K", "--team", "T"]).status == 1)
    }

    @Test("a control character in a header is refused, and no line is added to the request")
    func headerInjection() {
        let ran = ringwake([
            "push", "--token", "00", "--host", "127.0.0.1", "--port", "1", "--topic", "a\r\nauthorization: bearer x",
        ])
        #expect(ran.status == 2 && ran.errors.contains("apns-topic"))
    }

    @Test("a host that is more than a name is refused")
    func badHost() {
        for host in ["", "a/b", "a b", "user@host", "host?x"] {
            #expect(ringwake(["push", "--token", "00", "--host", host]).status == 2, "\(host)")
        }
    }
}

/// A TLS server that closes after the handshake.
enum TLSPeer {
    static func shakeHands(_ connection: Int32, chain: [UInt8], key: [UInt8]) {
        ringwake_set_nonblocking(connection)
        guard
            let context = try? TLSServerContext(
                certificateChainPEM: chain, privateKeyPEM: key, providerCAsPEM: nil, alpn: ["h2"]),
            let tls = try? TLSConnection(context: context, descriptor: connection)
        else { return }
        while true {
            var entry = pollfd(fd: connection, events: 0, revents: 0)
            switch tls.handshake() {
            case .wantsRead: entry.events = Int16(POLLIN)
            case .wantsWrite: entry.events = Int16(POLLOUT)
            default: return
            }
            guard poll(&entry, 1, 10_000) > 0 else { return }
        }
    }
}
