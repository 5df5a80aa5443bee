@testable import CallAudio
import RingwakeCore
import Testing

/// Others are quieter, and as loud as before afterwards.
struct DuckingTests {
    /// 65536 * cube root of 0.2.
    private let ducked: UInt32 = 38_326

    @Test("The gain is on the amplitude: a fifth of it, channel by channel, is the cube root on the server's numbers")
    func gain() {
        #expect(DuckingGain.ducked([65_536, 32_768, 0]) == [38_326, 19_163, 0])
        for volume: UInt32 in [1, 999, 65_536, 98_304] {
            let amplitude = { (value: UInt32) in
                let part = Double(value) / 65_536
                return part * part * part
            }
            let result = DuckingGain.ducked([volume])[0]
            let exact = amplitude(volume) * 0.2
            #expect(abs(amplitude(result) - exact) <= amplitude(result + 1) - amplitude(max(result, 1) - 1))
        }
    }

    @Test("A stream is ducked once, whatever wants it, and back when the last one leaves")
    func ownersAreCounted() throws {
        var bench = EffectBench()
        bench.image.play(5, process: 300, volume: [65_536, 32_768])
        var both = try AudioPlan.media(.other, process: 200)
        both.sessions += try AudioPlan.media(.third, process: 201).sessions
        bench.apply(try .media(.other, process: 200))
        #expect(bench.image.playing[5]?.volume == [38_326, 19_163])
        bench.apply(both)
        #expect(bench.commands.isEmpty)
        #expect(bench.ledger[.playingVolume(5)]?.owners == [.other, .third])
        bench.apply(try .media(.third, process: 201))
        #expect(bench.commands.isEmpty)
        #expect(bench.image.playing[5]?.volume == [38_326, 19_163])
        bench.apply(AudioPlan())
        #expect(bench.image.playing[5]?.volume == [65_536, 32_768])
        #expect(bench.ledger.isEmpty)
    }

    @Test("What the user made of a ducked stream's volume stays, and is told")
    func usersVolume() throws {
        var bench = EffectBench()
        bench.image.play(5, process: 300)
        bench.apply(try .media())
        bench.image.playing[5]?.volume = [50_000, 50_000]
        bench.upkeep()
        #expect(bench.commands.isEmpty)
        bench.apply(AudioPlan())
        #expect(bench.image.playing[5]?.volume == [50_000, 50_000])
        #expect(bench.left == 1)
        #expect(bench.ledger.isEmpty)
    }

    @Test("A volume that comes back one step off is ours still; two steps off it is the user's", arguments: [1, 2])
    func quantisation(steps: UInt32) throws {
        var bench = EffectBench()
        bench.image.play(5, process: 300)
        bench.apply(try .media())
        bench.image.playing[5]?.volume = [ducked - steps, ducked]
        bench.apply(AudioPlan())
        #expect((bench.image.playing[5]?.volume == [65_536, 65_536]) == (steps == 1))
    }

    @Test("The session's own streams, what rings and what the server itself plays keep their volume")
    func spared() throws {
        var bench = EffectBench()
        bench.processes = [201: .init(parent: 200, group: 9), 202: .init(parent: 1, group: 200)]
        for (index, process) in [(5, 200), (6, 201), (7, 202), (8, 400)] as [(UInt32, Int32)] {
            bench.image.play(index, process: process)
        }
        bench.image.play(9, process: nil)
        bench.image.play(12, process: nil, client: 3, properties: ["node.link-group": "loopback"])
        bench.image.play(10, process: 300, properties: ["node.link-group": "echo-cancel"])
        bench.image.play(11, process: 300)
        var plan = try AudioPlan.media()
        plan.exempt = [400]
        bench.apply(plan)
        #expect(bench.commands == [.set(.playingVolume(11), .volume([ducked, ducked]))])
    }

    @Test("A stream that came over a connection is somebody's, whatever it says of its process, and so is a sample")
    func nameless() throws {
        var bench = EffectBench()
        bench.image.play(5, process: nil, client: 3)
        bench.image.play(6, process: nil, client: 3, properties: ["application.process.id": "none"])
        bench.image.play(7, process: nil, properties: ["application.process.id": "none"])
        bench.apply(try .media())
        #expect(Set(bench.commands) == Set([5, 6, 7].map { .set(.playingVolume($0), .volume([ducked, ducked])) }))
    }

    @Test("A stream that has no device yet, no volume or a silent one is let be until it has")
    func unsettled() throws {
        var bench = EffectBench()
        bench.image.play(5, process: 300, sink: nil, volume: [0, 0])
        bench.image.play(6, process: 300, volume: [])
        bench.image.play(7, process: 300, sink: nil)
        bench.apply(try .media())
        #expect(bench.commands.isEmpty)
        bench.image.play(5, process: 300)
        bench.upkeep()
        #expect(bench.commands == [.set(.playingVolume(5), .volume([ducked, ducked]))])
    }

    @Test("A ducked stream without a device for a moment is no change of the user's: it is waited for")
    func reroute() throws {
        var bench = EffectBench()
        bench.image.play(5, process: 300)
        bench.apply(try .media())
        bench.image.playing[5]?.device = nil
        bench.image.playing[5]?.volume = [0, 0]
        bench.upkeep()
        #expect(bench.commands.isEmpty)
        bench.plan = AudioPlan()
        #expect(bench.changes().isWaiting)
        #expect(bench.changes().isEmpty)
        bench.image.playing[5]?.device = 1
        bench.image.playing[5]?.volume = [ducked, ducked]
        bench.upkeep()
        #expect(bench.image.playing[5]?.volume == [65_536, 65_536])
    }

    @Test("A stream that begins with the ducked level of its kind gets back what the kind had before")
    func bornDucked() throws {
        var bench = EffectBench()
        bench.image.play(5, process: 300, kind: "music")
        bench.apply(try .media())
        bench.server.begin(6, process: 300, kind: "music")
        #expect(bench.image.playing[6]?.volume == [ducked, ducked])
        bench.upkeep()
        #expect(bench.commands.isEmpty)
        bench.apply(AudioPlan())
        #expect(bench.image.playing[5]?.volume == [65_536, 65_536])
        #expect(bench.image.playing[6]?.volume == [65_536, 65_536])
    }

    @Test("So does one with another number of channels, and one whose elder has ended")
    func bornDuckedOtherwise() throws {
        var bench = EffectBench()
        bench.image.play(5, process: 300, kind: "music")
        bench.apply(try .media())
        bench.image.playing[5] = nil
        bench.upkeep()
        bench.image.play(6, process: 300, volume: [ducked], kind: "music")
        bench.image.play(7, process: 300, volume: [ducked, ducked], kind: "music")
        bench.upkeep()
        #expect(bench.commands.isEmpty)
        bench.apply(AudioPlan())
        #expect(bench.image.playing[6]?.volume == [65_536])
        #expect(bench.image.playing[7]?.volume == [65_536, 65_536])
    }

    @Test("A stream that had such a level all along is ducked like any other")
    func quietBefore() throws {
        var bench = EffectBench()
        bench.image.play(5, process: 300, kind: "music")
        bench.image.play(6, process: 300, volume: [ducked, ducked], kind: "music")
        bench.apply(try .media())
        bench.upkeep()
        #expect(bench.image.playing[6]?.volume == DuckingGain.ducked([ducked, ducked]))
        bench.apply(AudioPlan())
        #expect(bench.image.playing[6]?.volume == [ducked, ducked])
    }

    @Test("Of many streams that come and go while others are quiet, one of each kind is remembered")
    func bounded() throws {
        var bench = EffectBench()
        bench.apply(try .media())
        for index in 10..<200 as Range<UInt32> {
            bench.server.begin(index, process: 300, kind: "beep")
            bench.upkeep()
            bench.image.playing[index] = nil
            bench.upkeep()
            #expect(bench.ledger.records.count <= 2)
        }
        bench.apply(AudioPlan())
        #expect(bench.ledger.isEmpty)
        #expect(bench.server.stored["beep"].map { $0.volume != [ducked, ducked] } ?? true)
    }

    @Test("Sessions that another one ducks are quieter, as others are")
    func duckedClients() throws {
        var bench = EffectBench()
        bench.image.play(5, process: 200)
        bench.image.play(6, process: 201)
        var plan = try AudioPlan.call(others: .interrupt)
        plan.sessions += try AudioPlan.media(.other, process: 200, others: .leave).sessions
        plan.ducked = [
            .other: AudioClient(processes: [200], name: ""), .third: AudioClient(processes: [201], name: ""),
        ]
        bench.apply(plan)
        #expect(bench.image.playing[5]?.volume == [ducked, ducked])
        #expect(bench.image.playing[6]?.volume == [ducked, ducked])
        #expect(bench.image.playing[5]?.isMuted == false)
        bench.apply(AudioPlan())
        #expect(bench.image.playing[5]?.volume == [65_536, 65_536])
    }
}
