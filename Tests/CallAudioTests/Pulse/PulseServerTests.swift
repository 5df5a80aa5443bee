@testable import CallAudio
import RingwakeCore
import RunLoop
import Testing

/// The mirror and each command, on both servers.
@Suite(.serialized, .withAudioServers)
struct PulseServerTests {
    @Test(
        "It mirrors the server whole: itself, defaults, devices, streams with process and properties",
        arguments: AudioServerKind.allCases)
    func mirror(kind: AudioServerKind) throws {
        let server = try AudioServerUnderTest(kind)
        defer { server.stop() }
        let music = try server.play("media.role=music")
        let recorder = try server.record()
        let client = try PulseClient(server)
        let stream = try client.playing(music)
        let image = try #require(client.image)
        #expect(client.names.first == "connected")
        #expect(image.isPipeWire == (kind == .pipeWire))
        #expect(image.cookie != 0)
        #expect(image.server.name.isEmpty == false && image.server.location.contains("@"))
        #expect(image.defaultSink == "speakers")
        #expect(image.defaultSource == "microphone")
        #expect(Set(image.sinks.values.map(\.name)).isSuperset(of: ["speakers", "headset"]))
        let monitor = try #require(image.sources.values.first { $0.name == "headset.monitor" })
        #expect(monitor.monitors == image.sinks.values.first { $0.name == "headset" }?.index)
        #expect(image.sources.values.first { $0.name == "microphone" }?.monitors == nil)
        #expect(stream.properties["media.role"] == "music")
        #expect(stream.properties["application.process.binary"] == "pacat")
        #expect(stream.volume == [65_536, 65_536])
        // Front left, front right.
        #expect(stream.channels == [1, 2])
        #expect(stream.isVolumeWritable && !stream.isMuted && !stream.isCorked)
        #expect(stream.restoreID == "sink-input-by-media-role:music")
        #expect(stream.device.flatMap { image.sinks[$0]?.name } == "speakers")
        let recording = try client.recording(recorder)
        #expect(recording.device.flatMap { client.image?.sources[$0]?.name } == "microphone")
        client.server.close()
    }
}
