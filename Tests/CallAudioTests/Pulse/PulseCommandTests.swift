@testable import CallAudio
import Glibc
import RunLoop
import Testing

/// Each command, on both servers: done, seen in the image at once, seen by another program, refused where it cannot be.
@Suite(.serialized, .withAudioServers)
struct PulseCommandTests {
    @Test(
        "Volumes: of each channel, of all by one value; the image shows them when the batch is done",
        arguments: AudioServerKind.allCases)
    func volume(kind: AudioServerKind) throws {
        let server = try AudioServerUnderTest(kind)
        defer { server.stop() }
        let client = try PulseClient(server)
        let stream = try client.playing(server.play())
        #expect(try client.perform(.set(.playingVolume(stream.index), .volume([13_107, 20_000]))) == [nil])
        #expect(client.image?.playing[stream.index]?.volume.isClose(to: [13_107, 20_000]) == true)
        #expect(try server.pactl("list", "sink-inputs").contains("front-right: 20000 "))
        #expect(try client.perform(.set(.playingVolume(stream.index), .volume([6_554]))) == [nil])
        #expect(client.image?.playing[stream.index]?.volume.isClose(to: [6_554, 6_554]) == true)
        client.server.close()
    }

    @Test("Mutes: of a stream that plays, of one that records, of a source", arguments: AudioServerKind.allCases)
    func mute(kind: AudioServerKind) throws {
        let server = try AudioServerUnderTest(kind)
        defer { server.stop() }
        let client = try PulseClient(server)
        let playing = try client.playing(server.play())
        let recording = try client.recording(server.record())
        for isMuted in [true, false] {
            let failures = try client.perform(
                .set(.playingMute(playing.index), .muted(isMuted)),
                .set(.recordingMute(recording.index), .muted(isMuted)),
                .set(.sourceMute("microphone"), .muted(isMuted)))
            #expect(failures == [nil, nil, nil])
            let image = try #require(client.image)
            #expect(image.playing[playing.index]?.isMuted == isMuted)
            #expect(image.recording[recording.index]?.isMuted == isMuted)
            #expect(image.sources.values.first { $0.name == "microphone" }?.isMuted == isMuted)
            #expect(try server.pactl("list", "sink-inputs").contains(isMuted ? "Mute: yes" : "Mute: no"))
            #expect(try server.pactl("get-source-mute", "microphone").contains(isMuted ? "Mute: yes" : "Mute: no"))
        }
        client.server.close()
    }

    @Test("Moves, and defaults", arguments: AudioServerKind.allCases)
    func route(kind: AudioServerKind) throws {
        let server = try AudioServerUnderTest(kind)
        defer { server.stop() }
        let client = try PulseClient(server)
        let playing = try client.playing(server.play())
        let recording = try client.recording(server.record())
        let failures = try client.perform(
            .set(.playingDevice(playing.index), .name("headset")),
            .set(.recordingDevice(recording.index), .name("headset.monitor")), .set(.defaultSink, .name("headset")),
            .set(.defaultSource, .name("headset.monitor")))
        #expect(failures == [nil, nil, nil, nil])
        // PipeWire links streams anew after a new default.
        #expect(
            client.runLoop.drive {
                client.image.map { image in
                    image.playing[playing.index]?.device.flatMap { image.sinks[$0]?.name } == "headset"
                        && image.recording[recording.index]?.device.flatMap { image.sources[$0]?.name }
                            == "headset.monitor"
                } ?? false
            })
        // Not each connection to PipeWire hears of it.
        if kind == .pulseAudio {
            #expect(client.image?.defaultSink == "headset")
            #expect(client.image?.defaultSource == "headset.monitor")
        }
        #expect(server.runLoop.drive { (try? server.pactl("get-default-sink")) == "headset\n" })
        #expect(server.runLoop.drive { (try? server.pactl("get-default-source")) == "headset.monitor\n" })
        client.server.close()
    }

    @Test(
        "What is not there is not found, what cannot be is refused, and the rest of the batch is done",
        arguments: AudioServerKind.allCases)
    func refused(kind: AudioServerKind) throws {
        let server = try AudioServerUnderTest(kind)
        defer { server.stop() }
        let client = try PulseClient(server)
        let stream = try client.playing(server.play()).index
        let before = client.image
        let failures = try client.perform(
            .set(.playingVolume(99_999), .volume([1])), .set(.playingVolume(stream), .volume([UInt32.max])),
            .set(.playingVolume(stream), .volume([])), .set(.playingVolume(stream), .volume([1, 2, 3])),
            .set(.playingMute(99_999), .muted(true)), .set(.playingMute(.max), .muted(true)),
            .set(.playingDevice(stream), .name("nowhere")), .set(.playingDevice(stream), .name("")),
            .set(.playingDevice(stream), .name("headset\0")), .set(.recordingDevice(99_999), .name("microphone")),
            .set(.profile(card: "no-card"), .name("off")), .set(.sinkPort("speakers"), .name("no-port")),
            .set(.sourcePort("no-source"), .name("port")), .set(.sourceMute("no-source"), .muted(true)),
            .set(.defaultSink, .name(String(repeating: "x", count: 5_000))), .forget(stored: ""),
            .store(StoredStream(name: "x", volume: [1], channels: [], isMuted: false, device: nil)))
        #expect(failures.allSatisfy { $0 != nil && $0?.kind != .lost }, "\(failures)")
        #expect(failures[0]?.kind == .notFound)
        #expect(failures[4]?.kind == .notFound)
        #expect(failures[6]?.kind == .notFound)
        #expect(client.image == before)
        let mixed = try client.perform(
            .set(.playingMute(99_999), .muted(true)), .set(.playingMute(stream), .muted(true)),
            .set(.defaultSink, .name("headset")))
        #expect(mixed.map { $0?.kind } == [.notFound, nil, nil], "\(mixed)")
        #expect(client.image?.playing[stream]?.isMuted == true)
        client.server.close()
    }

    @Test(
        "An empty batch is done too, and batches that contradict each other end in their order",
        arguments: AudioServerKind.allCases)
    func order(kind: AudioServerKind) throws {
        let server = try AudioServerUnderTest(kind)
        defer { server.stop() }
        let client = try PulseClient(server)
        let stream = try client.playing(server.play()).index
        var done: [Int] = []
        client.server.perform([]) { _ in done.append(0) }
        for number in 1...20 {
            client.server.perform([.set(.playingMute(stream), .muted(number % 2 == 0))]) { failures in
                #expect(failures == [nil])
                done.append(number)
            }
        }
        #expect(client.runLoop.drive { done.count == 21 })
        #expect(done == Array(0...20))
        #expect(client.image?.playing[stream]?.isMuted == true)
        client.server.close()
    }

    @Test("What is stored for streams: written, given to none that runs, to the next, and forgotten")
    func store() throws {
        let server = try AudioServerUnderTest(.pulseAudio)
        defer { server.stop() }
        let client = try PulseClient(server)
        let running = try client.playing(server.play("media.role=music"))
        let entry = StoredStream(
            name: "sink-input-by-media-role:music", volume: [13_107], channels: [0], isMuted: true, device: "headset")
        #expect(try client.perform(.store(entry)) == [nil])
        #expect(try client.stored().contains(entry))
        client.runLoop.drive(for: .milliseconds(50))
        #expect(client.image?.playing[running.index]?.isMuted == false)
        #expect(client.image?.playing[running.index]?.volume == [65_536, 65_536])
        let next = try client.playing(server.play("media.role=music"))
        #expect(next.volume == [13_107, 13_107] && next.isMuted)
        #expect(try client.perform(.forget(stored: entry.name)) == [nil])
        #expect(try !client.stored().contains { $0.name == entry.name })
        client.server.close()
    }

    @Test("What was read of the store is known until the server stores something, whoever has it do so")
    func knownStore() throws {
        let server = try AudioServerUnderTest(.pulseAudio)
        defer { server.stop() }
        let (client, other) = (try PulseClient(server), try PulseClient(server))
        #expect(client.server.knownStored == nil, "nothing was read")
        let stream = try client.playing(server.play("media.role=music"))
        let read = try client.knownStore()
        // A stream that the user mutes, and an entry that another program writes.
        #expect(try other.perform(.set(.playingMute(stream.index), .muted(true))) == [nil])
        #expect(client.runLoop.drive { client.server.knownStored == nil })
        #expect(client.runLoop.drive { client.image?.playing[stream.index]?.isMuted == true })
        #expect(try client.knownStore() != read)
        let entry = StoredStream(
            name: "sink-input-by-media-role:game", volume: [13_107], channels: [0], isMuted: true, device: nil)
        #expect(try other.perform(.store(entry)) == [nil])
        #expect(client.runLoop.drive { client.server.knownStored == nil })
        for one in [client, other] { one.server.close() }
    }

    @Test("Where the server lists nothing that is stored, that is no failure")
    func storeOfPipeWire() throws {
        let server = try AudioServerUnderTest(.pipeWire)
        defer { server.stop() }
        let client = try PulseClient(server)
        _ = try client.stored()
        let entry = StoredStream(
            name: "sink-input-by-media-role:music", volume: [13_107, 13_107], channels: [1, 2], isMuted: false,
            device: nil)
        #expect(try client.perform(.store(entry)) == [nil])
        client.server.close()
    }
}

extension PulseClient {
    /// What is stored, once it is known: the server may still store what a stream began with.
    fileprivate func knownStore() throws -> [StoredStream] {
        for _ in 0..<1_000 {
            let read = try stored()
            if let known = server.knownStored {
                #expect(known == read)
                return known
            }
        }
        return try #require(nil, "the store is never known")
    }

    fileprivate func stored() throws -> [StoredStream] {
        var result: Result<[StoredStream], AudioServerFailure>?
        server.storedStreams { result = $0 }
        #expect(result == nil)
        try #require(runLoop.drive { result != nil })
        return try #require(try result?.get())
    }
}

extension [UInt32] {
    /// PipeWire keeps volumes as floats.
    fileprivate func isClose(to other: [UInt32]) -> Bool {
        count == other.count && zip(self, other).allSatisfy { abs(Int($0) - Int($1)) <= 2 }
    }
}
