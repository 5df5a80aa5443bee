@testable import CallAudio
import RingwakeCore
import Testing

/// What the user changed during a call is what the server stores for the next stream of the kind, and only that.
struct StoredByUserTests {
    private let kind = "sink-input-by-media-role:music"
    private let volume: [UInt32] = [60_000, 60_000]

    private func bench(isPipeWire: Bool = false) throws -> EffectBench {
        var bench = EffectBench(.notebook(isPipeWire: isPipeWire))
        bench.server.begin(9, process: 300, kind: kind, volume: volume)
        bench.apply(try .call())
        #expect(bench.image.playing[9]?.isMuted == true)
        return bench
    }

    private func user(_ bench: inout EffectBench, mutes isMuted: Bool, _ stream: UInt32 = 9) {
        _ = bench.server.perform(.set(.playingMute(stream), .muted(isMuted)))
        bench.upkeep()
    }

    private func end(_ bench: inout EffectBench, _ stream: UInt32) {
        bench.image.playing[stream] = nil
        bench.upkeep()
    }

    @Test("A stream that the user unmuted and that ended does not keep what a younger one left", arguments: [10, 95])
    func younger(young: UInt32) throws {
        var bench = try bench(isPipeWire: true)
        user(&bench, mutes: false)
        end(&bench, 9)
        bench.server.begin(young, process: 300, kind: kind, volume: volume)
        bench.upkeep()
        #expect(bench.image.playing[young]?.isMuted == true)
        end(&bench, young)
        bench.apply(AudioPlan())
        let written = bench.commands.compactMap { if case .store(let entry) = $0 { entry } else { nil } }
        #expect(written.last?.name == kind && written.last?.isMuted == false)
        #expect(bench.ledger.isEmpty)
    }

    @Test("A stream that the user unmuted takes away what an older one left")
    func older() throws {
        var bench = try bench(isPipeWire: true)
        bench.server.begin(10, process: 300, kind: kind, volume: volume)
        bench.upkeep()
        end(&bench, 9)
        user(&bench, mutes: false, 10)
        user(&bench, mutes: true, 10)
        end(&bench, 10)
        bench.apply(AudioPlan())
        #expect(bench.commands.isEmpty, "what the user left is stored: \(bench.commands)")
        #expect(bench.ledger.isEmpty)
    }

    @Test("Of a volume that the user set, and that a younger stream began with, nothing older is written")
    func volumes() throws {
        var bench = EffectBench(.notebook(isPipeWire: true))
        for index: UInt32 in 8...10 { bench.image.play(index, process: 300, volume: volume, kind: kind) }
        bench.apply(try .media())
        end(&bench, 8)
        end(&bench, 9)
        bench.image.playing[10]?.volume = [30_000, 30_000]
        let former = bench.image
        bench.image.playing[10] = nil
        bench.ledger.noticeEnds(from: former, to: bench.image, but: [])
        bench.upkeep()
        bench.image.play(11, process: 300, volume: [30_000, 30_000], kind: kind)
        bench.upkeep()
        end(&bench, 11)
        bench.apply(AudioPlan())
        let written = bench.commands.compactMap { if case .store(let entry) = $0 { entry } else { nil } }
        #expect(written.last?.volume == [30_000, 30_000])
    }

    @Test("Who unmutes in a call and mutes again has the next one muted", arguments: [false, true])
    func mutedAgain(ends: Bool) throws {
        var bench = try bench()
        user(&bench, mutes: false)
        user(&bench, mutes: true)
        if ends { end(&bench, 9) }
        bench.apply(AudioPlan())
        #expect(bench.server.stored[kind]?.isMuted == true)
        #expect(bench.ledger.isEmpty)
    }

    @Test("What begins in the call as the user left the one before is left so too")
    func beginsMuted() throws {
        var bench = try bench()
        user(&bench, mutes: false)
        user(&bench, mutes: true)
        end(&bench, 9)
        bench.server.begin(10, process: 300, kind: kind)
        bench.upkeep()
        bench.apply(AudioPlan())
        #expect(bench.image.playing[10]?.isMuted == true)
        #expect(bench.server.stored[kind]?.isMuted == true)
    }

    @Test("After that, what is muted by us is mended again")
    func mutedByUs() throws {
        var bench = try bench()
        user(&bench, mutes: false)
        end(&bench, 9)
        bench.server.begin(10, process: 300, kind: kind)
        bench.upkeep()
        #expect(bench.server.stored[kind]?.isMuted == true)
        end(&bench, 10)
        bench.apply(AudioPlan())
        #expect(bench.server.stored[kind] == nil, "nothing was stored before, and the user left nothing else")
    }

    @Test(
        "Two streams of a kind are muted: the volume stored is that of before, or what the user set",
        arguments: [false, true])
    func twoVolumes(isUsers: Bool) throws {
        var bench = EffectBench()
        let before = StoredStream(name: kind, volume: [20_000, 20_000], channels: [1, 2], isMuted: false, device: nil)
        bench.server.stored[kind] = before
        bench.image.play(5, process: 300, volume: [20_000, 20_000], kind: kind)
        bench.image.play(6, process: 300, volume: [45_000, 45_000], kind: kind)
        bench.apply(try .call())
        if isUsers { _ = bench.server.perform(.set(.playingVolume(6), .volume([30_000, 30_000]))) }
        bench.apply(AudioPlan())
        #expect(bench.server.stored[kind]?.volume == (isUsers ? [30_000, 30_000] : [20_000, 20_000]))
        #expect(bench.server.stored[kind]?.isMuted == false)
    }

    // MARK: - Devices

    /// A stream of the call's app, which the user had put in the room, is moved to the default and then to the hall.
    private func inTheHall() throws -> EffectBench {
        var bench = EffectBench()
        bench.image.addSink(9, "room")
        bench.image.addSink(10, "hall")
        bench.server.stored["phone"] = StoredStream(
            name: "phone", volume: [], channels: [], isMuted: false, device: "room")
        bench.server.begin(6, process: 100, kind: "phone")
        bench.apply(try .call())
        #expect(bench.server.stored["phone"]?.device == nil, "that is how the default is stored")
        bench.wishes.choose("hall")
        bench.upkeep()
        #expect(bench.server.stored["phone"]?.device == "hall")
        return bench
    }

    @Test("A stream that was moved ends: the device that was stored is stored again", arguments: ["hall", "speakers"])
    func device(chosen: String) throws {
        var bench = try inTheHall()
        bench.wishes.choose(chosen)
        bench.upkeep()
        #expect(bench.server.stored["phone"]?.device == (chosen == "hall" ? chosen : nil))
        end(&bench, 6)
        bench.apply(AudioPlan())
        #expect(bench.server.stored["phone"]?.device == "room")
    }

    @Test("Who moves it to the default device has it there", arguments: [false, true])
    func deviceOfUser(ends: Bool) throws {
        var bench = try inTheHall()
        _ = bench.server.perform(.set(.playingDevice(6), .name("speakers")))
        bench.upkeep()
        if ends {
            let former = bench.image
            bench.image.playing[6] = nil
            bench.ledger.noticeEnds(from: former, to: bench.image, but: [])
            bench.upkeep()
        }
        bench.apply(AudioPlan())
        #expect(bench.server.stored["phone"]?.device == nil)
        #expect(bench.server.stored["phone"] != nil)
    }
}
