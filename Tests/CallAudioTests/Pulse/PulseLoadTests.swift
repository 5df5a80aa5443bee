import Glibc
import RingwakeCore
import RunLoop
import Testing

@testable import CallAudio

/// Many streams, streams that come and go, what it costs when nothing happens, and servers that lie.
@Suite(.serialized, .withAudioServers)
struct PulseLoadTests {
    @Test("Connected, and nothing changes: no wakeup", arguments: AudioServerKind.allCases)
    func idle(kind: AudioServerKind) throws {
        let server = try AudioServerUnderTest(kind)
        defer { server.stop() }
        let client = try PulseClient(server)
        _ = try client.playing(server.play())
        _ = try client.recording(server.record())
        #expect(server.runLoop.comesToRest(for: .seconds(3)), "\(server.runLoop.statistics.byCause)")
        client.server.close()
    }

    @Test(
        "Many streams at a time, 200 of PulseAudio: all mirrored, changed in one batch, and gone",
        arguments: AudioServerKind.allCases)
    func manyStreams(kind: AudioServerKind) throws {
        let server = try AudioServerUnderTest(kind)
        defer { server.stop() }
        let client = try PulseClient(server)
        // PipeWire 0.3.65 fails those beyond about a hundred, fewer on a busy machine.
        let count = kind == .pulseAudio ? 200 : 50
        let program = try server.streams("hold", "\(count)")
        try #require(
            server.runLoop.drive { program.output.contains("ready") }, "\(program.output)")
        let image = try client.wait { $0.playing.count == count && $0.playing.values.allSatisfy { !$0.volume.isEmpty } }
        client.forgetEvents()
        var failures: [AudioServerFailure?]?
        client.server.perform(image.playing.keys.map { .set(.playingVolume($0), .volume([13_107])) }) { failures = $0 }
        #expect(server.runLoop.drive { failures != nil })
        #expect(failures == Array(repeating: nil, count: count))
        let volumes = Set(client.image?.playing.values.flatMap(\.volume) ?? [])
        #expect(volumes.allSatisfy { abs(Int($0) - 13_107) <= 2 }, "\(volumes)")
        server.runLoop.drive(for: .milliseconds(200))
        // Not one for each change.
        #expect(client.names.count < count / 2, "\(client.names.count)")
        program.stop()
        _ = try client.wait { $0.playing.isEmpty }
        #expect(server.runLoop.drive { client.server.openRequests == 0 })
        client.server.close()
        #expect(client.server.openEvents == 0)
    }

    @Test("A stream that comes and goes 1,000 times leaves nothing behind", arguments: AudioServerKind.allCases)
    func comingAndGoing(kind: AudioServerKind) throws {
        let server = try AudioServerUnderTest(kind)
        defer { server.stop() }
        let client = try PulseClient(server)
        let program = try server.streams("cycle", "1000")
        try #require(server.runLoop.drive { program.isAtEnd }, "\(program.output)")
        #expect(program.output == "done\n")
        _ = try client.wait { $0.playing.isEmpty }
        #expect(server.runLoop.drive { client.image?.playing.isEmpty == true && client.server.openRequests == 0 })
        // The connection's own descriptors and deferred work; no timer of a question.
        #expect(client.server.openEvents <= 4, "\(client.server.openEvents)")
        client.server.close()
        #expect(client.server.openEvents == 0)
    }

    @Test("What another program changes is told once", arguments: AudioServerKind.allCases)
    func toldOnce(kind: AudioServerKind) throws {
        let server = try AudioServerUnderTest(kind)
        defer { server.stop() }
        let client = try PulseClient(server)
        let stream = try client.playing(server.play()).index
        // PipeWire tells of a new stream in several steps.
        server.runLoop.drive(for: .milliseconds(300))
        client.forgetEvents()
        try server.pactl("set-sink-input-mute", "\(stream)", "1")
        #expect(server.runLoop.drive { client.image?.playing[stream]?.isMuted == true })
        server.runLoop.drive(for: .milliseconds(100))
        #expect(client.names == ["changed"])
        client.forgetEvents()
        #expect(try client.perform(.set(.playingMute(stream), .muted(false))) == [nil])
        server.runLoop.drive(for: .milliseconds(100))
        #expect(client.names == ["changed"])
        client.server.close()
    }

    // MARK: - Servers that lie

    @Test("Far too many streams, names that are no text or endless: bounded and repaired")
    func hostile() throws {
        let server = try ImitatedServer(HostileServerScript.Behaviour.hostile)
        defer { server.stop() }
        let client = server.client
        client.server.connect()
        try #require(server.runLoop.drive { client.image != nil }, "\(client.names)")
        let image = try #require(client.image)
        #expect(image.playing.count == 4_096)
        // 1,024 bytes would end in the middle of a character.
        #expect(image.playing[1]?.name == "x" + String(repeating: "ä", count: 511))
        #expect(image.playing[2]?.name == "")
        #expect(image.playing[2]?.process == nil)
        #expect(image.playing[100]?.name == "\u{fffd}\u{fffd}\u{fffd} 100")
        #expect(image.playing.values.allSatisfy { $0.device == nil })
        #expect(image.server.name == "\u{fffd}\u{fffd}")
        #expect(image.defaultSink == nil && image.defaultSource == nil)
        client.server.close()
        #expect(client.server.openEvents == 0)
    }

    @Test("20,000 changes of one stream are few questions, and the loop stays alive")
    func storm() throws {
        let server = try ImitatedServer(HostileServerScript.Behaviour.storm)
        defer { server.stop() }
        let client = server.client
        client.server.connect()
        try #require(server.runLoop.drive { client.image != nil && server.program.output.contains("sent") })
        #expect(server.runLoop.drive { client.server.openRequests == 0 })
        // Where the machine stood still meanwhile, the server seemed not to answer, and was connected to anew.
        #expect(client.names.filter { !$0.hasSuffix(" does not answer") } == ["connected"], "\(client.names)")
        client.server.close()
    }

    @Test("A stream that changes without end is asked for a hundred times a second at most")
    func restless() throws {
        let server = try ImitatedServer(HostileServerScript.Behaviour.restless)
        defer { server.stop() }
        server.client.server.connect()
        try #require(server.runLoop.drive { server.client.image != nil })
        server.runLoop.drive(for: .milliseconds(500))
        server.client.server.close()
        // A slow machine asks less often, and none more often.
        let count = server.program.output.split(separator: "\n").count { $0 == "asked" }
        #expect((2...52).contains(count))
    }

    @Test(
        "A server that lets nobody in, closes at once or sends what is no message is unavailable",
        arguments: [HostileServerScript.Behaviour.refuse, .garbage, .close])
    func unusable(behaviour: HostileServerScript.Behaviour) throws {
        let server = try ImitatedServer(behaviour)
        defer { server.stop() }
        let client = server.client
        client.server.connect()
        #expect(server.runLoop.drive { !client.events.isEmpty })
        server.runLoop.drive(for: .seconds(2))
        #expect(client.names.count == 1 && client.names.first?.hasPrefix("unavailable: ") == true, "\(client.names)")
        #expect(server.program.output.split(separator: "\n").count <= 7, "\(server.program.output)")
        client.server.close()
        #expect(client.server.openEvents == 0)
    }

    @Test("A server that does not answer is unavailable after a while, and nothing turns meanwhile")
    func mute() throws {
        let server = try ImitatedServer(HostileServerScript.Behaviour.mute)
        defer { server.stop() }
        let client = server.client
        client.server.connect()
        server.runLoop.drive(for: .milliseconds(100))
        let before = server.runLoop.statistics.caused
        while client.events.isEmpty, server.runLoop.statistics.caused - before < 10 {
            server.runLoop.runOnce(timeout: .seconds(10))
        }
        #expect(client.names == ["unavailable: the audio server at unix:\(server.socket) does not answer"])
        #expect(server.runLoop.statistics.caused - before <= 1)
        client.server.close()
        #expect(client.server.openEvents == 0)
    }

    @Test("A server that failed us once and works now is connected to by itself, though its socket was there all along")
    func recovering() throws {
        let server = try ImitatedServer(HostileServerScript.Behaviour.recovering)
        defer { server.stop() }
        let client = server.client
        client.server.connect()
        #expect(server.runLoop.drive { client.image != nil }, "\(client.names)")
        #expect(client.names.count { $0.hasPrefix("unavailable: ") } == 1, "\(client.names)")
        client.server.close()
        #expect(client.server.openEvents == 0)
    }

    @Test("A server that hangs until its queue is full is connected to by itself when it goes on")
    func hanging() throws {
        let server = try ImitatedServer(HostileServerScript.Behaviour.full)
        defer { server.stop() }
        let client = server.client
        client.server.connect()
        // Longer than a new server is waited for.
        #expect(server.runLoop.comesToRest(for: PulseServer.retries.reduce(.milliseconds(200), +)))
        #expect(client.image == nil && client.names.count == 1, "\(client.names)")
        server.program.tell("go on")
        #expect(server.runLoop.drive { client.image != nil }, "\(client.names)")
        client.server.close()
        #expect(client.server.openEvents == 0)
    }

    @Test("A socket that a dead server left behind is tried a few times, and then nothing wakes us")
    func leftBehind() throws {
        let server = try ImitatedServer(HostileServerScript.Behaviour.mute)
        defer { server.stop() }
        server.program.stop()
        let client = server.client
        client.server.connect()
        #expect(server.runLoop.comesToRest(for: .seconds(3)))
        #expect(client.names.count == 1, "\(client.names)")
        client.server.close()
    }

    @Test("A server that breaks each connection is come back to later and later")
    func fragile() throws {
        let server = try ImitatedServer(HostileServerScript.Behaviour.fragile)
        defer { server.stop() }
        let client = server.client
        client.server.onEvent = { [unowned client] event in
            client.note(event)
            if case .connected = event { client.server.perform([.set(.playingVolume(1), .volume([1]))]) { _ in } }
        }
        client.server.connect()
        server.runLoop.drive(for: .milliseconds(2_500))
        // At once, after one second, after two.
        #expect(client.names.count { $0 == "lost" } <= 3, "\(client.names)")
        #expect(server.runLoop.drive { client.names.count { $0 == "lost" } >= 2 }, "\(client.names)")
        client.server.close()
    }
}
