import CRingwakeLinux
import Glibc
import RunLoop
import Testing

@testable import CallAudio

/// Servers that come late, die, come back, and that let us not in.
@Suite(.serialized, .withAudioServers)
struct PulseLossTests {
    @Test(
        "Without a server it says so once, waits without a wakeup, and connects when one comes",
        arguments: AudioServerKind.allCases)
    func late(kind: AudioServerKind) throws {
        let server = try AudioServerUnderTest(kind, isStarted: false)
        defer { server.stop() }
        let client = PulseClient(server.runLoop, server.address)
        client.server.connect()
        #expect(server.runLoop.drive { !client.events.isEmpty })
        #expect(client.names == ["unavailable: there is no audio server at unix:\(server.socket)"])
        #expect(server.runLoop.comesToRest(for: .seconds(2)))
        try server.start()
        #expect(server.runLoop.drive { client.image != nil })
        #expect(client.names.filter { !$0.hasPrefix("changed") }.count == 2, "\(client.names)")
        client.server.close()
    }

    @Test("The directory of the socket may come later too, and its parent")
    func lateDirectory() throws {
        let server = try AudioServerUnderTest(.pulseAudio, isStarted: false)
        defer { server.stop() }
        rmdir(server.folder + "/run")
        let client = PulseClient(server.runLoop, server.address)
        client.server.connect()
        #expect(server.runLoop.drive { !client.events.isEmpty })
        server.runLoop.drive(for: .milliseconds(20))
        mkdir(server.folder + "/run", 0o700)
        try server.start()
        #expect(server.runLoop.drive { client.image != nil }, "\(client.names)")
        client.server.close()
    }

    @Test(
        "A server that is killed: lost is told, and it is connected to when it is back",
        arguments: AudioServerKind.allCases)
    func restarted(kind: AudioServerKind) throws {
        let server = try AudioServerUnderTest(kind)
        defer { server.stop() }
        let client = try PulseClient(server)
        let cookie = client.image?.cookie
        for _ in 1...3 {
            client.forgetEvents()
            server.kill()
            #expect(server.runLoop.drive { client.names.contains("lost") })
            #expect(client.image == nil)
            try server.start()
            #expect(server.runLoop.drive { client.names.contains("connected") }, "\(client.names)")
            let told = client.names.filter { $0 == "lost" || $0 == "connected" }
            #expect(told == ["lost", "connected"])
        }
        if kind == .pulseAudio { #expect(client.image?.cookie != cookie) }
        client.server.close()
        #expect(client.server.openEvents == 0)
    }

    @Test(
        "A server that is killed in the middle of batches: each ends once, those without an answer as lost, before the loss is told",
        arguments: AudioServerKind.allCases)
    func killedInBatch(kind: AudioServerKind) throws {
        let server = try AudioServerUnderTest(kind)
        defer { server.stop() }
        let client = try PulseClient(server)
        let stream = try client.playing(server.play()).index
        client.forgetEvents()
        // Stopped, so that nothing of it is done.
        server.server?.send(SIGSTOP)
        var done: [[AudioServerFailure.Kind?]] = []
        var wasLost = false
        for number in 1...10 {
            let commands = (0..<UInt32(number)).map { AudioServerCommand.set(.playingVolume(stream), .volume([$0])) }
            client.server.perform(commands) { failures in
                done.append(failures.map { $0?.kind })
                wasLost = wasLost || client.names.contains("lost")
            }
        }
        var stored: [Result<[StoredStream], AudioServerFailure>] = []
        client.server.storedStreams { stored.append($0) }
        server.runLoop.drive(for: .milliseconds(20))
        #expect(done.isEmpty)
        server.kill()
        #expect(server.runLoop.drive { client.names.contains("lost") })
        #expect(done == (1...10).map { Array(repeating: .lost, count: $0) })
        #expect(stored.count == 1)
        #expect(!wasLost)
        let after = try client.perform(.set(.defaultSink, .name("speakers")), .set(.defaultSink, .name("headset")))
        #expect(after.map { $0?.kind } == [.lost, .lost])
        client.server.close()
        #expect(client.server.openEvents == 0)
    }

    @Test(
        "Killed at once after a batch is sent: every completion comes exactly once", arguments: AudioServerKind.allCases
    )
    func killedAtOnce(kind: AudioServerKind) throws {
        let server = try AudioServerUnderTest(kind)
        defer { server.stop() }
        let client = try PulseClient(server)
        let stream = try client.playing(server.play()).index
        var counts = Array(repeating: 0, count: 50)
        for number in counts.indices {
            client.server.perform([.set(.playingMute(stream), .muted(number % 2 == 0))]) { _ in counts[number] += 1 }
            if number == 25 { server.runLoop.runOnce(timeout: .zero) }
        }
        server.kill()
        #expect(server.runLoop.drive { client.names.contains("lost") })
        #expect(counts.allSatisfy { $0 == 1 }, "\(counts)")
        client.server.close()
    }

    @Test(
        "After close nothing is told, whatever was open, and nothing of libpulse is left",
        arguments: AudioServerKind.allCases)
    func closed(kind: AudioServerKind) throws {
        let server = try AudioServerUnderTest(kind)
        defer { server.stop() }
        let client = try PulseClient(server)
        let stream = try client.playing(server.play()).index
        client.forgetEvents()
        var isTold = false
        client.server.perform([.set(.playingMute(stream), .muted(true))]) { _ in isTold = true }
        client.server.storedStreams { _ in isTold = true }
        client.server.close()
        client.server.close()
        // Without a connection the answer is on its way already.
        client.server.perform([.set(.playingMute(stream), .muted(true))]) { _ in isTold = true }
        client.server.close()
        server.runLoop.drive(for: .milliseconds(50))
        #expect(!isTold && client.events.isEmpty && client.image == nil)
        #expect(client.server.openEvents == 0)
        // It can be used again.
        client.server.connect()
        #expect(server.runLoop.drive { client.image != nil })
        client.server.close()
    }

    @Test("It may be closed in each of its callbacks", arguments: AudioServerKind.allCases)
    func closedInCallback(kind: AudioServerKind) throws {
        let server = try AudioServerUnderTest(kind)
        defer { server.stop() }
        let first = PulseServer(runLoop: server.runLoop, address: server.address)
        var told = 0
        first.onEvent = { [unowned first] _ in
            told += 1
            first.close()
        }
        first.connect()
        #expect(server.runLoop.drive { told > 0 })
        let client = try PulseClient(server)
        let stream = try client.playing(server.play()).index
        var isDone = false
        client.server.perform([.set(.playingMute(stream), .muted(true))]) { _ in
            client.server.close()
            isDone = true
        }
        #expect(server.runLoop.drive { isDone })
        server.runLoop.drive(for: .milliseconds(50))
        #expect(told == 1)
        #expect(first.openEvents == 0 && client.server.openEvents == 0)
    }

    @Test("Another user's server: who may, and what would help", .enabled(if: getuid() == 0, "needs root"))
    func anotherUser() throws {
        let server = try AudioServerUnderTest(.pulseAudio, isStarted: false)
        defer { server.stop() }
        for folder in ["", "/run", "/home"] { chown(server.folder + folder, 65_534, 65_534) }
        let program = try server.run([
            "/usr/bin/setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups", "/usr/bin/pulseaudio", "-n",
            "--daemonize=no", "--exit-idle-time=-1", "--use-pid-file=no", "-L", "module-native-protocol-unix",
        ])
        defer { program.stop() }
        try #require(server.runLoop.drive { access(server.socket, F_OK) == 0 }, "\(program.output)")
        let client = PulseClient(server.runLoop, server.address)
        client.server.connect()
        #expect(server.runLoop.drive { client.names.contains { $0.contains("refuses the user 0") } }, "\(client.names)")
        server.runLoop.drive(for: .milliseconds(100))
        #expect(client.names.count { $0.contains("refuses") } == 1)
        client.server.close()
    }

    @Test("A server over a network is tried once for each call of connect")
    func network() throws {
        let loop = try RunLoop()
        // Port 9: nothing listens there.
        let client = PulseClient(loop, .server("tcp:127.0.0.1:9"))
        for _ in 1...2 {
            client.forgetEvents()
            client.server.connect()
            #expect(loop.drive { !client.events.isEmpty })
            #expect(
                client.names.first?.hasPrefix("unavailable: there is no audio server at") == true, "\(client.names)")
        }
        client.server.close()
    }
}
