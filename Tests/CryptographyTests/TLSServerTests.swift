import CRingwakeOpenSSL
import Cryptography
import Glibc
import RingwakeCore
import Testing

@Suite struct TLSServerTests {
    static let versions = [TLS1_2_VERSION, TLS1_3_VERSION]

    let fixtures: CertificateFixtures

    init() throws {
        fixtures = try CertificateFixtures()
    }

    @Test("A handshake over each version agrees on h2 and carries bytes both ways", arguments: versions)
    func handshake(version: Int32) throws {
        let pair = try TLSPair(context: fixtures.serverContext(), client: .init(version: version))
        pair.handshake()
        #expect(pair.serverProgress == .done)
        #expect(pair.server.protocolVersion == (version == TLS1_2_VERSION ? "TLSv1.2" : "TLSv1.3"))
        #expect(pair.server.negotiatedProtocol == "h2")
        #expect(pair.server.peerCertificate == nil)
        #expect(!pair.server.isResumed)

        #expect(pair.serverReads().0 == .wantsRead)
        #expect(pair.client.write(Array("ping".utf8)) == 4)
        #expect(pair.serverReads().1 == Array("ping".utf8))
        #expect(pair.serverWrites(Array("pong".utf8)) == .bytes(4))
        #expect(try pair.client.read()?.get() == Array("pong".utf8))
    }

    @Test("An RSA server certificate works with each version", arguments: versions)
    func rsa(version: Int32) throws {
        let fixtures = try CertificateFixtures(kind: .rsa2048)
        let pair = try TLSPair(context: fixtures.serverContext(), client: .init(version: version))
        pair.handshake()
        #expect(pair.serverProgress == .done)
    }

    @Test("TLS 1.1 is refused")
    func oldVersion() throws {
        let pair = try TLSPair(context: fixtures.serverContext(), client: .init(version: TLS1_1_VERSION))
        pair.handshake()
        #expect(pair.serverProgress != .done)
        #expect(pair.clientFailure != nil)
    }

    @Test("A client without ALPN is served", arguments: versions)
    func withoutALPN(version: Int32) throws {
        let pair = try TLSPair(context: fixtures.serverContext(), client: .init(version: version, alpn: []))
        pair.handshake()
        #expect(pair.serverProgress == .done)
        #expect(pair.server.negotiatedProtocol == nil)
    }

    @Test("h2 is chosen among others that the client likes better", arguments: versions)
    func manyProtocols(version: Int32) throws {
        let pair = try TLSPair(
            context: fixtures.serverContext(), client: .init(version: version, alpn: ["http/1.1", "h2-16", "h2"]))
        pair.handshake()
        #expect(pair.server.negotiatedProtocol == "h2")
    }

    @Test("A client that offers only other protocols gets the no_application_protocol alert", arguments: versions)
    func wrongALPN(version: Int32) throws {
        let pair = try TLSPair(
            context: fixtures.serverContext(), client: .init(version: version, alpn: ["http/1.1"]))
        pair.handshake()
        guard case .failed(let reason) = pair.serverProgress else {
            Issue.record("the handshake went on: \(pair.serverProgress)")
            return
        }
        #expect(reason.contains("no application protocol"))
        #expect(pair.clientFailure?.contains("no application protocol") == true)
    }

    @Test("A close alert reads as closed, and so does a connection that just ends", arguments: versions, [true, false])
    func close(version: Int32, politely: Bool) throws {
        let pair = try TLSPair(context: fixtures.serverContext(), client: .init(version: version))
        pair.handshake()
        if politely { SSL_shutdown(pair.client.ssl) }
        pair.sockets.closeClient()
        #expect(pair.serverReads().0 == .closed)
    }

    @Test("A read takes one record without data at a time, so that a peer that sends only such keeps nobody waiting")
    func keyUpdates() throws {
        let pair = try TLSPair(context: fixtures.serverContext())
        pair.handshake()
        for _ in 0..<3 {
            #expect(SSL_key_update(pair.client.ssl, SSL_KEY_UPDATE_NOT_REQUESTED) == 1)
            #expect(SSL_do_handshake(pair.client.ssl) == 1)
        }
        #expect(pair.client.write([1]) == 1)
        for _ in 0..<3 {
            #expect(pair.serverReads().0 == .wantsRead)
        }
        #expect(pair.serverReads().1 == [1])
    }

    @Test("The server's shutdown reaches the client")
    func shutdown() throws {
        let pair = try TLSPair(context: fixtures.serverContext())
        pair.handshake()
        pair.server.shutdown()
        #expect(throws: TLSClient.Failure.self) { try pair.client.read()?.get() }
    }

    @Test("A shutdown before the handshake is done does nothing")
    func earlyShutdown() throws {
        let pair = try TLSPair(context: fixtures.serverContext())
        pair.server.shutdown()
        pair.handshake()
        #expect(pair.serverProgress == .done)
    }

    @Test("A peer that goes away during the handshake reads as closed")
    func goneDuringHandshake() throws {
        let pair = try TLSPair(context: fixtures.serverContext())
        _ = pair.client.handshake()
        #expect(pair.server.handshake() == .wantsRead)
        pair.sockets.closeClient()
        #expect(pair.server.handshake() == .closed)
    }

    @Test("Writing to a peer that has gone reads as closed, without a signal")
    func writeToNobody() throws {
        let pair = try TLSPair(context: fixtures.serverContext())
        pair.handshake()
        pair.sockets.closeClient()
        #expect(pair.serverWrites([1, 2, 3]) == .closed)
        pair.server.shutdown()
    }

    @Test("A full socket asks to wait, takes the rest from another address, and loses nothing")
    func backPressure() throws {
        let pair = try TLSPair(context: fixtures.serverContext())
        pair.handshake()
        let sent = (0..<2_000_000).map { UInt8(truncatingIfNeeded: $0 &* 31 >> 3) }
        var offset = 0
        var waits = 0
        var last: [UInt8] = []
        var received: [UInt8] = []
        while offset < sent.count || received.count < sent.count {
            if offset < sent.count {
                // The last copy is still alive, so that a retried write has another address.
                let copy = Array(sent[offset...].prefix(100_000))
                defer { last = copy }
                switch pair.serverWrites(copy) {
                case .bytes(let count): offset += count
                case .wantsWrite:
                    waits += 1
                    while case .success(let bytes)? = pair.client.read() { received += bytes }
                case let other:
                    Issue.record("\(other)")
                    return
                }
            } else {
                guard case .success(let bytes)? = pair.client.read() else { break }
                received += bytes
            }
        }
        #expect(waits > 0 && !last.isEmpty)
        #expect(received == sent)
    }

    @Test("A small buffer gets a large record piece by piece")
    func smallReads() throws {
        let pair = try TLSPair(context: fixtures.serverContext())
        pair.handshake()
        let sent = [UInt8](repeating: 7, count: 10_000)
        #expect(pair.client.write(sent) == sent.count)
        var received: [UInt8] = []
        while case (.bytes, let bytes) = pair.serverReads(capacity: 333) { received += bytes }
        #expect(received == sent)
    }

    @Test("Bytes that are no TLS fail the handshake with a reason")
    func garbage() throws {
        let context = try fixtures.serverContext()
        var random = SeededGenerator(seed: 11)
        let plain = Array("GET / HTTP/1.1\r\nHost: x\r\n\r\n".utf8)
        for round in 0..<300 {
            let sockets = SocketPair()
            let server = try TLSConnection(context: context, descriptor: sockets.server)
            var bytes = random.bytes(upTo: 600)
            if round == 0 { bytes = plain }
            // Half of them look like a handshake record at first.
            if round % 2 == 1 { bytes = [0x16, 3, 1, 1, 0, 1] + bytes }
            _ = write(sockets.client, bytes, bytes.count)
            sockets.closeClient()
            var progress = server.handshake()
            if progress == .wantsRead { progress = server.handshake() }
            switch progress {
            case .failed(let reason): #expect(!reason.isEmpty)
            case .closed: break
            default: Issue.record("round \(round): \(progress)")
            }
        }
    }

    @Test("Client hellos with flipped bytes never do worse than fail")
    func mutatedHello() throws {
        let context = try fixtures.serverContext()
        let recording = SocketPair()
        let client = try TLSClient(descriptor: recording.client, options: .init())
        _ = client.handshake()
        var hello = [UInt8](repeating: 0, count: 4096)
        hello = Array(hello.prefix(read(recording.server, &hello, hello.count)))
        #expect(hello.count > 100)
        var random = SeededGenerator(seed: 12)
        for _ in 0..<1000 {
            var bytes = hello
            for _ in 0..<Int.random(in: 1...4, using: &random) {
                bytes[Int.random(in: 5..<bytes.count, using: &random)] = UInt8.random(in: 0...255, using: &random)
            }
            let sockets = SocketPair()
            let server = try TLSConnection(context: context, descriptor: sockets.server)
            _ = write(sockets.client, bytes, bytes.count)
            #expect(server.handshake() != .done)
        }
    }

    @Test("Configuration errors say what is wrong")
    func configuration() throws {
        let other = try PrivateKey.generate(.p256)
        let server = try fixtures.server.pem
        let key = try fixtures.serverKey.pem
        func message(_ chain: [UInt8], _ key: [UInt8], _ authorities: [UInt8]?) -> String {
            do {
                _ = try TLSServerContext(
                    certificateChainPEM: chain, privateKeyPEM: key, providerCAsPEM: authorities, alpn: ["h2"])
                return "no error"
            } catch {
                #expect(error.code == .badCredential)
                return error.message
            }
        }
        #expect(message(server, key, nil) == "no error")
        #expect(try message(server, other.pem, nil).contains("does not belong to its certificate"))
        #expect(message(key, key, nil).contains("The server certificate PEM holds no certificate"))
        #expect(message(server, server, nil).contains("holds no private key"))
        #expect(message(server, key, []).contains("The provider CA PEM holds no certificate"))
        #expect(message(server, Array(key.dropLast(60)), nil).contains("cannot be read"))
        #expect(message(Array(server.dropLast(60)), key, nil).contains("cannot be read"))
        let broken = Array(server.prefix(200)) + Array("!!!".utf8) + Array(server.dropFirst(203))
        #expect(message(broken, key, nil).contains("cannot be read"))
    }
}
