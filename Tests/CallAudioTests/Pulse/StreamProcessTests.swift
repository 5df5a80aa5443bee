@testable import CallAudio
import Glibc
import RunLoop
import Testing

/// Whose the streams of real servers are.
@Suite(.serialized, .withAudioServers)
struct StreamProcessTests {
    @Test("A program that is PipeWire's own client says nothing in its streams: the process is its client's")
    func native() throws {
        let server = try AudioServerUnderTest(.pipeWire)
        defer { server.stop() }
        let client = try PulseClient(server)
        // Headers of a WAVE file that is longer than a test, and nothing but silence.
        let silence = server.folder + "/silence.wav"
        try server.runToEnd([
            "/usr/bin/python3", "-c",
            "import sys, wave; f = wave.open(sys.argv[1], 'wb'); f.setparams((1, 2, 8000, 0, 'NONE', '')); "
                + "f.writeframes(bytes(960_000))", silence,
        ])
        let player = try server.run(["/usr/bin/pw-play", silence])
        let recorder = try server.run(["/usr/bin/pw-record", server.folder + "/recorded.wav"])
        defer { for program in [player, recorder] { program.stop() } }
        let playing = try client.playing(player)
        let recording = try client.recording(recorder)
        #expect(playing.properties["application.process.id"] == nil && playing.client != nil)
        #expect(recording.properties["application.process.id"] == nil && recording.client != nil)
        client.server.close()
    }

    @Test("A program that says no process has none, on PipeWire not the translating one either; it has a client")
    func liar() throws {
        for kind in AudioServerKind.allCases {
            let server = try AudioServerUnderTest(kind)
            defer { server.stop() }
            let client = try PulseClient(server)
            _ = try server.play("application.process.id=none")
            let image = try client.wait { $0.playing.values.contains { $0.device != nil && !$0.volume.isEmpty } }
            let stream = try #require(image.playing.values.first)
            #expect(stream.process == nil && stream.client != nil, "\(kind)")
            client.server.close()
        }
    }

    @Test("Clients that come and go and play nothing change nothing", arguments: AudioServerKind.allCases)
    func passing(kind: AudioServerKind) throws {
        let server = try AudioServerUnderTest(kind)
        defer { server.stop() }
        let client = try PulseClient(server)
        server.runLoop.drive(for: .milliseconds(300))
        client.forgetEvents()
        for _ in 0..<5 { try server.pactl("info") }
        server.runLoop.drive(for: .milliseconds(100))
        #expect(client.events.isEmpty)
        client.server.close()
    }

    @Test(
        "What the server itself plays has no client, or is linked to what it records",
        arguments: AudioServerKind.allCases)
    func loopback(kind: AudioServerKind) throws {
        let server = try AudioServerUnderTest(kind)
        defer { server.stop() }
        let client = try PulseClient(server)
        try server.pactl("load-module", "module-loopback", "source=microphone", "sink=headset")
        let image = try client.wait { !$0.playing.isEmpty && !$0.recording.isEmpty }
        for stream in [image.playing.values.first, image.recording.values.first] {
            let stream = try #require(stream)
            #expect(stream.client == nil || stream.properties["node.link-group"] != nil)
        }
        client.server.close()
    }
}
