@testable import CallAudio
import RingwakeCore
import Testing

/// What the server has stored for the next stream of a kind is as before too.
struct MendingTests {
    private let kind = "sink-input-by-application-name:music"

    private func entry(
        _ volume: [UInt32], isMuted: Bool = false, device: String? = nil
    ) -> StoredStream {
        StoredStream(name: kind, volume: volume, channels: [1, 2], isMuted: isMuted, device: device)
    }

    private func bench(_ stored: StoredStream?, _ volume: [UInt32] = [65_536, 65_536]) -> EffectBench {
        var bench = EffectBench()
        bench.server.stored[kind] = stored
        bench.image.play(5, process: 300, volume: volume, kind: kind)
        return bench
    }

    @Test("A kind of which nothing was stored has nothing stored afterwards", arguments: [false, true])
    func nothing(ends: Bool) throws {
        var bench = bench(nil)
        bench.apply(try .media())
        #expect(bench.server.stored[kind] != nil)
        if ends { bench.image.playing[5] = nil }
        bench.apply(AudioPlan())
        #expect(bench.server.stored[kind] == nil)
        #expect(bench.ledger.isEmpty)
    }

    @Test(
        "What was stored is stored again, though the stream had another volume, or ended quiet",
        arguments: [false, true])
    func stored(ends: Bool) throws {
        let before = entry([60_000, 50_000])
        var bench = bench(before)
        bench.apply(try .media())
        if ends { bench.image.playing[5] = nil }
        bench.upkeep()
        bench.apply(AudioPlan())
        #expect(bench.server.stored[kind] == before)
    }

    @Test("What the user made of a stream is what is stored")
    func users() throws {
        var bench = bench(entry([60_000, 60_000]))
        bench.apply(try .media())
        _ = bench.server.perform(.set(.playingVolume(5), .volume([20_000, 20_000])))
        bench.apply(AudioPlan())
        #expect(bench.server.stored[kind]?.volume == [20_000, 20_000])
    }

    @Test("A mute and a device that we gave are taken out again; what else is stored stays")
    func muteAndDevice() throws {
        var bench = EffectBench()
        bench.image.addSink(9, "room")
        let own = StoredStream(name: "phone", volume: [40_000], channels: [0], isMuted: false, device: "room")
        bench.server.stored = [kind: entry([60_000, 60_000]), "phone": own]
        bench.image.play(5, process: 300, kind: kind)
        bench.image.play(6, process: 100, sink: 9, kind: "phone")
        bench.apply(try .call())
        #expect(bench.server.stored[kind]?.isMuted == true)
        #expect(bench.server.stored["phone"]?.device == nil, "that is how the default is stored")
        bench.image.playing = [:]
        bench.apply(AudioPlan())
        #expect(bench.server.stored == [kind: entry([60_000, 60_000]), "phone": own])
    }

    @Test(
        "Where the server does not say what it stores, the kind gets what its last stream had; a living one needs nothing"
    )
    func blind() throws {
        var bench = EffectBench(.notebook(isPipeWire: true))
        bench.image.play(5, process: 300, volume: [60_000, 50_000], kind: kind)
        bench.image.play(6, process: 300, volume: [30_000], kind: "beep")
        bench.apply(try .media())
        bench.image.playing[5] = nil
        bench.apply(AudioPlan())
        #expect(
            bench.commands == [
                .set(.playingVolume(6), .volume([30_000])), .store(entry([60_000, 50_000], isMuted: true)),
                .store(entry([60_000, 50_000])),
            ])
    }

    @Test("A kind with streams of several widths: the stored width is compared by its loudest channel")
    func widths() throws {
        var bench = bench(entry([65_536, 65_536]))
        bench.apply(try .media())
        bench.image.playing[5] = nil
        let ducked = DuckingGain.ducked([65_536])
        bench.server.stored[kind]?.volume = ducked
        bench.server.stored[kind]?.channels = [0]
        bench.apply(AudioPlan())
        #expect(bench.server.stored[kind] == entry([65_536, 65_536]))
    }
}
