import HTTPServer
import RunLoop
import Testing

/// Which connections have a place, and which lose it.
@MainActor @Suite(.serialized) struct HTTP2PlacesTests {
    private static let few: (inout ConnectionLimits) -> Void = {
        $0.maximumConnections = 6
        $0.maximumUnprovenConnections = 4
    }

    private func strangers(_ count: Int, _ server: H2TestServer, _ loop: TestLoop) -> [TLSClient] {
        (0..<count).map { _ in
            let client = TLSClient.http2(server)
            #expect(loop.drive { client.frames.count >= 3 })
            return client
        }
    }

    @Test("A stranger takes the place of the oldest stranger, never that of a proven sender")
    func oldestStranger() throws {
        let loop = try TestLoop()
        let server = try H2TestServer(loop, limits: Self.few)
        defer { server.stop() }
        let sender = TLSClient.http2(server)
        #expect(loop.drive { sender.frames.count >= 3 })
        server.onConnect = { _ in }
        let clients = strangers(4, server, loop)
        let fifth = TLSClient.http2(server)
        #expect(loop.drive { clients[0].isClosed && fifth.frames.count >= 3 })
        #expect(clients[0].goAway?.debug == "{\"reason\":\"TooManyConnections\"}")
        #expect(clients[0].goAway?.code == 0)
        #expect(clients[1...].allSatisfy { !$0.isClosed })
        sender.send(.push(stream: 1, isEnd: true))
        #expect(loop.drive { sender.frames(on: 1).contains { $0.isEndOfStream } })
        #expect(server.bounds.counts == [.unprovenPlaces: 1])
    }

    @Test("A stranger that never ends its handshake loses its place too")
    func silent() throws {
        let loop = try TestLoop()
        let server = try H2TestServer(loop, limits: Self.few)
        defer { server.stop() }
        server.onConnect = { _ in }
        let silent = (0..<4).map { _ in SocketClient.tcp(port: server.port, loop) }
        #expect(loop.drive { server.listener.connectionCount == 4 })
        let fifth = TLSClient.http2(server)
        #expect(loop.drive { fifth.frames.count >= 3 && silent[0].isClosed })
        #expect(silent[1...].allSatisfy { !$0.isClosed })
    }

    @Test("A herd of many networks is served whole, whatever the places, and nobody is sent away")
    func herd() throws {
        let loop = try TestLoop()
        let server = try H2TestServer(loop) {
            $0.maximumUnprovenConnections = 32
            $0.maximumUnprovenConnectionsOfNetwork = 4
        }
        defer { server.stop() }
        let herd = (1...200).map { TLSClient.http2(server, from: "127.0.1.\($0)") }
        #expect(loop.drive { herd.allSatisfy { $0.isClosed || $0.frames.count >= 3 } })
        #expect(herd.filter(\.isClosed).isEmpty)
        #expect(server.bounds.counts == [:])
    }

    @Test("A flood of one network doesn't keep another one out")
    func flood() throws {
        let loop = try TestLoop()
        let server = try H2TestServer(loop) {
            $0.maximumUnprovenConnections = 32
            $0.maximumUnprovenConnectionsOfNetwork = 16
        }
        defer { server.stop() }
        server.onConnect = { _ in }
        let flood = (1...300).map { _ in TLSClient(port: server.port, loop) }
        let honest = TLSClient.http2(server, from: "127.0.1.1")
        #expect(loop.drive { honest.isClosed || honest.frames.count >= 3 })
        #expect(!honest.isClosed)
        #expect(loop.drive { flood.filter(\.isClosed).count >= 300 - 16 })
    }

    @Test("The strangers of one network share a few places")
    func network() throws {
        let loop = try TestLoop()
        let server = try H2TestServer(loop) {
            Self.few(&$0)
            $0.maximumUnprovenConnectionsOfNetwork = 2
        }
        defer { server.stop() }
        server.onConnect = { _ in }
        let clients = strangers(3, server, loop)
        #expect(loop.drive { clients[0].isClosed })
        #expect(server.bounds.counts == [.unprovenPlacesOfNetwork: 1])
    }

    @Test("A sender that proves itself with a request leaves its place to the next stranger")
    func proven() throws {
        let loop = try TestLoop()
        let server = try H2TestServer(loop, limits: Self.few)
        defer { server.stop() }
        server.onConnect = { handler in
            handler.onHead = { [unowned handler] _ in
                handler.account = "team"
                return nil
            }
        }
        let clients = strangers(4, server, loop)
        clients[0].send(.push(stream: 1, isEnd: true))
        #expect(loop.drive { clients[0].frames(on: 1).contains { $0.isEndOfStream } })
        let more = strangers(2, server, loop)
        #expect(loop.drive { clients[1].isClosed })
        #expect(!clients[0].isClosed && more.allSatisfy { !$0.isClosed })
    }

    @Test("A sender without a place left loses its oldest idle connection, and other senders lose none")
    func placesOfSender() throws {
        let loop = try TestLoop()
        let server = try H2TestServer(loop) {
            $0.maximumConnections = 8
            $0.maximumUnprovenConnections = 4
        }
        defer { server.stop() }
        server.listener.divide(among: 2)
        let first = strangers(3, server, loop)
        server.onConnect = { $0.account = "other" }
        let other = strangers(1, server, loop)
        server.onConnect = { $0.account = "team" }
        let fourth = strangers(1, server, loop)
        #expect(loop.drive { first[0].isClosed })
        #expect((first[1...] + other + fourth).allSatisfy { !$0.isClosed })
        #expect(server.bounds.counts == [.placesOfSender: 1])
    }

    @Test("A stranger may wait for long while places are free, and not once half of them are taken")
    func idle() throws {
        let loop = try TestLoop()
        let server = try H2TestServer(loop) {
            Self.few(&$0)
            $0.maximumUnprovenConnections = 3
            $0.unprovenIdleTime = .milliseconds(100)
        }
        defer { server.stop() }
        server.onConnect = { _ in }
        let first = strangers(1, server, loop)
        loop.drive(for: .milliseconds(200))
        #expect(!first[0].isClosed)
        let second = strangers(1, server, loop)
        #expect(loop.drive { first[0].isClosed })
        #expect(first[0].goAway?.debug == "{\"reason\":\"IdleTimeout\"}")
        loop.drive(for: .milliseconds(200))
        #expect(!second[0].isClosed)
        #expect(server.bounds.counts == [.unprovenIdle: 1])
    }

    @Test("A revoked sender is sent away when it has its answers, and others stay")
    func revoked() throws {
        let loop = try TestLoop()
        let server = try H2TestServer(loop)
        defer { server.stop() }
        server.onRequest = { _, _ in }
        let clients = strangers(2, server, loop)
        clients[0].send(.push(stream: 1, isEnd: true))
        #expect(loop.drive { server.exchanges.count == 1 })
        server.handlers[0].revocation = "InvalidProviderToken"
        server.listener.drainRevoked()
        #expect(loop.drive { clients[0].goAway?.debug == "{\"reason\":\"InvalidProviderToken\"}" })
        #expect(!clients[0].isClosed)
        server.exchanges[0].respond(.accepted)
        #expect(loop.drive { clients[0].isClosed })
        #expect(clients[0].frames(on: 1).contains { $0.isEndOfStream })
        #expect(!clients[1].isClosed)
    }
}
