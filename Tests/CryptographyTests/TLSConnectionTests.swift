import Cryptography
import Glibc
import RingwakeCore
import Testing

/// Both ends of this module against each other.
@Suite struct TLSConnectionTests {
    static let label = "EXPERIMENTAL-ringwake-link"

    let fixtures: CertificateFixtures

    init() throws {
        fixtures = try CertificateFixtures()
    }

    private func connect(_ server: TLSServerContext, _ client: TLSClientContext) throws -> TLSConnectionPair {
        let pair = try TLSConnectionPair(server: server, client: client).handshake()
        #expect(pair.isDone, "\(pair.clientProgress) \(pair.serverProgress)")
        return pair
    }

    /// Whether both ends compute the same key material; returns it.
    private func exported(_ pair: TLSConnectionPair, context: [UInt8]? = nil) throws -> [UInt8] {
        let server = try pair.server.exportKeyingMaterial(label: Self.label, context: context, count: 32)
        let client = try pair.client.exportKeyingMaterial(label: Self.label, context: context, count: 32)
        #expect(server == client)
        return client
    }

    @Test("Both ends agree on TLS 1.3 and mqtt, and carry bytes both ways")
    func exchange() throws {
        let pair = try connect(fixtures.gatewayContext(), fixtures.deviceContext())
        for end in [pair.server, pair.client] {
            #expect(end.protocolVersion == "TLSv1.3")
            #expect(end.negotiatedProtocol == "mqtt")
            #expect(!end.isResumed)
        }
        #expect(pair.server.peerCertificate == nil)
        #expect(pair.client.peerCertificate?.certificate.der == fixtures.server.der)
        #expect(pair.client.send("ping") == .bytes(4))
        #expect(pair.server.receive().1 == Array("ping".utf8))
        #expect(pair.server.send("pong") == .bytes(4))
        // The ticket comes first; a read takes one record at a time.
        #expect(pair.settle() == .wantsRead)
        #expect(pair.client.receive().1 == Array("pong".utf8))
    }

    @Test(
        "The server's first choice among those offered wins, and without an offer there is none",
        arguments: [(["mqtt"], "mqtt"), (["h2"], "h2"), (["h2", "mqtt"], "mqtt"), (["x", "h2"], "h2"), ([], nil)])
    func protocols(offered: [String], chosen: String?) throws {
        let pair = try connect(fixtures.gatewayContext(), fixtures.deviceContext(alpn: offered))
        #expect(pair.server.negotiatedProtocol == chosen)
        #expect(pair.client.negotiatedProtocol == chosen)
    }

    @Test("A client that offers only unknown protocols is refused, and a server without ALPN chooses none")
    func otherProtocols() throws {
        let pair = try TLSConnectionPair(
            server: fixtures.gatewayContext(), client: fixtures.deviceContext(alpn: ["x"])
        ).handshake()
        #expect(pair.refusal.contains("no application protocol"))
        let plain = try connect(fixtures.serverContext(alpn: []), fixtures.deviceContext())
        #expect(plain.client.negotiatedProtocol == nil)
    }

    @Test("TLS 1.2 is refused by a client, and by a server with that minimum")
    func versions() throws {
        let old = try TLSPair(context: fixtures.gatewayContext(), client: .init(version: 0x0303, alpn: ["mqtt"]))
        old.handshake()
        #expect(old.serverProgress != .done)
        #expect(old.clientFailure?.contains("protocol version") == true)
        let new = try TLSPair(context: fixtures.gatewayContext(), client: .init(version: 0x0304, alpn: ["mqtt"]))
        new.handshake()
        #expect(new.serverProgress == .done)
    }

    // MARK: Key material

    @Test("Exported key material is equal at both ends, and another for each label, context and connection")
    func export() throws {
        let (server, client) = (try fixtures.gatewayContext(), try fixtures.deviceContext())
        let pair = try connect(server, client)
        let material = try exported(pair)
        #expect(material.count == 32)
        #expect(try exported(pair, context: []) == material)
        #expect(try exported(pair, context: [1]) != material)
        #expect(try pair.client.exportKeyingMaterial(label: "EXPERIMENTAL-x", context: nil, count: 32) != material)
        #expect(try pair.client.exportKeyingMaterial(label: Self.label, context: nil, count: 99).count == 99)
        #expect(try exported(connect(server, client)) != material)
    }

    @Test("Key material is refused before the handshake is done, over TLS 1.2, and in impossible sizes")
    func exportRefused() throws {
        let pair = try TLSConnectionPair(server: fixtures.gatewayContext(), client: fixtures.deviceContext())
        func material(_ end: TLSConnection, count: Int = 32) throws -> [UInt8] {
            try end.exportKeyingMaterial(label: Self.label, context: nil, count: count)
        }
        #expect(throws: RingwakeError.self) { try material(pair.client) }
        _ = pair.client.handshake()
        _ = pair.server.handshake()
        #expect(throws: RingwakeError.self) { try material(pair.client) }
        #expect(throws: RingwakeError.self) { try material(pair.server) }
        pair.handshake()
        for count in [-1, 0, 8161, Int.max] {
            #expect(throws: RingwakeError.self) { try material(pair.client, count: count) }
        }
        #expect(try material(pair.client, count: 8160).count == 8160)
        let old = try TLSPair(context: fixtures.serverContext(), client: .init(version: 0x0303))
        old.handshake()
        #expect(old.serverProgress == .done)
        #expect(throws: RingwakeError.self) { try material(old.server) }
    }

    // MARK: Resumption

    @Test("Later connections resume, also after the earlier one just ended", arguments: [true, false])
    func resumption(takesDeviceKeys: Bool) throws {
        let server = try fixtures.gatewayContext(takesDeviceKeys: takesDeviceKeys)
        let client = try fixtures.deviceContext()
        #expect(!client.hasSession)
        var materials: Set<[UInt8]> = []
        for round in 0..<4 {
            let pair = try connect(server, client)
            #expect(pair.client.isResumed == (round > 0))
            #expect(pair.server.isResumed == (round > 0))
            #expect(pair.client.negotiatedProtocol == "mqtt")
            #expect(pair.client.peerCertificate?.certificate.der == fixtures.server.der)
            try materials.insert(exported(pair))
            // The third connection doesn't live to see its ticket: the former one serves again.
            if round != 2 { #expect(pair.settle() == .wantsRead) }
            #expect(client.hasSession)
            if round == 1 { pair.client.shutdown() }
        }
        #expect(materials.count == 4)
        client.forgetSession()
        #expect(try !connect(server, client).client.isResumed)
    }

    @Test("A session is resumed by its own context only, and a new server context starts anew")
    func otherContext() throws {
        let server = try fixtures.gatewayContext()
        let client = try fixtures.deviceContext()
        #expect(try connect(server, client).settle() == .wantsRead)
        #expect(try !connect(server, fixtures.deviceContext()).client.isResumed)
        let pair = try connect(fixtures.gatewayContext(), client)
        #expect(!pair.client.isResumed)
        #expect(pair.settle() == .wantsRead)
        #expect(client.hasSession)
    }

    @Test("A handshake that fails takes its session with it")
    func failedHandshake() throws {
        let client = try fixtures.deviceContext()
        #expect(try connect(fixtures.gatewayContext(), client).settle() == .wantsRead)
        #expect(client.hasSession)
        let stranger = try CertificateFixtures().gatewayContext()
        let pair = try TLSConnectionPair(server: stranger, client: client).handshake()
        #expect(pair.refusal.contains("its issuer is unknown"))
        #expect(!client.hasSession)
    }

    // MARK: Device keys

    @Test("A device's certificate that signs itself and has expired shows its key", arguments: [true, false])
    func deviceKey(hasProviderCAs: Bool) throws {
        let key = try P256PrivateKey.generate()
        let identity = try fixtures.deviceIdentity(PrivateKey(pem: key.pem))
        let server = try fixtures.gatewayContext(
            takesDeviceKeys: true, providerCAsPEM: hasProviderCAs ? fixtures.authority.pem : nil)
        let client = try fixtures.deviceContext(identity: identity)
        for _ in 0..<2 {
            let pair = try connect(server, client)
            let peer = try #require(pair.server.peerCertificate)
            #expect(peer.subjectPublicKeyInfo == key.subjectPublicKeyInfo)
            #expect(peer.verification != .trusted)
            // No ticket: the next handshake must ask for the certificate again.
            #expect(pair.settle() == .wantsRead)
            #expect(!client.hasSession)
            #expect(!pair.client.isResumed)
            _ = try exported(pair)
        }
    }

    @Test("A provider's certificate is still verified where device keys are taken")
    func provider() throws {
        let key = try PrivateKey.generate(.p256)
        let identity = TLSIdentity(
            chainPEM: try fixtures.provider(key: key).pem, privateKeyPEM: try key.pem)
        let server = try fixtures.gatewayContext(takesDeviceKeys: true, providerCAsPEM: fixtures.authority.pem)
        let pair = try connect(server, fixtures.deviceContext(identity: identity))
        #expect(pair.server.peerCertificate?.verification == .trusted)
    }

    @Test("A client without a certificate is served and gets exactly one ticket, also when it resumes")
    func ticketWithoutCertificate() throws {
        let server = try fixtures.gatewayContext(takesDeviceKeys: true)
        let options = TLSClient.Options(version: 0x0304, alpn: ["mqtt"])
        let first = try TLSPair(context: server, client: options)
        first.handshake()
        #expect(first.serverProgress == .done)
        #expect(first.server.handshake() == .done)
        while first.client.read() != nil {}
        #expect(first.client.tickets.sessions.count == 1)
        var resuming = options
        resuming.session = first.client.tickets.sessions.first
        let second = try TLSPair(context: server, client: resuming)
        second.handshake()
        #expect(second.server.isResumed)
        _ = second.client.read()
        #expect(second.client.tickets.sessions.count == 1)
    }

    @Test("A client's certificate and key that don't belong together are refused")
    func wrongIdentity() throws {
        let key = try PrivateKey.generate(.p256)
        let other = try PrivateKey.generate(.p256)
        let identity = TLSIdentity(
            chainPEM: try fixtures.deviceIdentity(key).chainPEM, privateKeyPEM: try other.pem)
        let error = #expect(throws: RingwakeError.self) { try fixtures.deviceContext(identity: identity) }
        #expect(error?.message.contains("The client's private key does not belong") == true)
    }

    // MARK: The end

    @Test("The end of a connection reads as closed at the client, with and without a close alert")
    func close() throws {
        let polite = try connect(fixtures.gatewayContext(), fixtures.deviceContext())
        polite.server.shutdown()
        #expect(polite.settle() == .wantsRead)
        #expect(polite.client.receive().0 == .closed)

        let sockets = SocketPair()
        let server = try TLSConnection(context: fixtures.gatewayContext(), descriptor: sockets.client)
        let client = try TLSConnection(context: fixtures.deviceContext(), descriptor: sockets.server)
        var progress = (client: TLSProgress.wantsWrite, server: TLSProgress.wantsRead)
        while progress.client.isWaiting || progress.server.isWaiting {
            if progress.client.isWaiting { progress.client = client.handshake() }
            if progress.server.isWaiting { progress.server = server.handshake() }
        }
        #expect(progress == (.done, .done))
        sockets.closeClient()
        #expect(client.receive().0 == .wantsRead)
        #expect(client.receive().0 == .closed)
        #expect(client.send("x") == .closed)
    }

    @Test("A server that goes away during the handshake reads as closed, and its session stays")
    func goneDuringHandshake() throws {
        let context = try fixtures.deviceContext()
        #expect(try connect(fixtures.gatewayContext(), context).settle() == .wantsRead)
        let sockets = SocketPair()
        let client = try TLSConnection(context: context, descriptor: sockets.server)
        #expect(client.handshake() == .wantsRead)
        sockets.closeClient()
        let progress = client.handshake()
        #expect(progress == .closed)
        #expect(context.hasSession)
    }

    @Test("Bytes that are no TLS fail the client's handshake with a reason")
    func garbage() throws {
        let context = try fixtures.deviceContext()
        var random = SeededGenerator(seed: 21)
        for round in 0..<200 {
            let sockets = SocketPair()
            let client = try TLSConnection(context: context, descriptor: sockets.server)
            #expect(client.handshake() == .wantsRead)
            var bytes = random.bytes(upTo: 600)
            if round % 2 == 1 { bytes = [0x16, 3, 3, 0, 100, 2, 0, 0, 96, 3, 3] + bytes }
            _ = write(sockets.client, bytes, bytes.count)
            sockets.closeClient()
            switch client.handshake() {
            case .failed(let reason): #expect(!reason.isEmpty)
            case .closed: break
            case let other: Issue.record("round \(round): \(other)")
            }
        }
    }
}
