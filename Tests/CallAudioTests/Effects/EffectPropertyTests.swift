@testable import CallAudio
import RingwakeCore
import Testing

/// Whatever plans come and whatever happens on the server between them: afterwards everything is as before, or as the
/// user made it.
struct EffectPropertyTests {
    /// SplitMix64: the same run for the same seed.
    struct Random: RandomNumberGenerator {
        var state: UInt64

        mutating func next() -> UInt64 {
            state &+= 0x9e37_79b9_7f4a_7c15
            var value = state
            value = (value ^ (value >> 30)) &* 0xbf58_476d_1ce4_e5b9
            value = (value ^ (value >> 27)) &* 0x94d0_49bb_1331_11eb
            return value ^ (value >> 31)
        }
    }

    /// A server with somebody at it, and what it would be like without us.
    struct World {
        var bench: EffectBench
        /// Of each stream what the user left it with: volume and mute.
        var volumes: [UInt32: [UInt32]] = [:]
        var mutes: [UInt32: Bool] = [:]
        var places: [UInt32: UInt32] = [:]
        var isSourceMuted: Bool
        var next: UInt32 = 100
        var random: Random

        init(seed: UInt64, isPipeWire: Bool) {
            random = Random(state: seed)
            bench = EffectBench(.notebook(isPipeWire: isPipeWire))
            bench.image.addSink(9, "room")
            bench.image.addSink(10, "hall")
            isSourceMuted = Bool.random(using: &random)
            bench.image.sources[2]?.isMuted = isSourceMuted
        }

        /// Streams of ours are of 100 and 200; the volumes of a kind's streams differ from what we would set.
        mutating func begin() {
            let process = ([100, 200, 300, 301] as [Int32]).randomElement(using: &random) ?? 300
            let volume = UInt32.random(in: 50_000...65_536, using: &random)
            let sink = ([1, 9, 10] as [UInt32]).randomElement(using: &random) ?? 1
            let isMuted = Int.random(in: 0..<4, using: &random) == 0
            let isCorked = Int.random(in: 0..<4, using: &random) == 0
            bench.image.play(
                next, process: process, sink: sink, volume: [volume, volume / 2], kind: "kind \(next)",
                isMuted: isMuted, isCorked: isCorked)
            volumes[next] = [volume, volume / 2]
            mutes[next] = isMuted
            places[next] = sink
            next += 1
        }

        mutating func touch() {
            guard let index = bench.image.playing.keys.sorted().randomElement(using: &random) else { return begin() }
            switch Int.random(in: 0..<6, using: &random) {
            case 0: bench.image.playing[index] = nil
            case 1:
                let volume = UInt32.random(in: 50_000...65_536, using: &random)
                bench.image.playing[index]?.volume = [volume, volume]
                volumes[index] = [volume, volume]
            case 2: bench.image.playing[index]?.isCorked.toggle()
            case 3:
                guard let isMuted = bench.image.playing[index]?.isMuted else { return }
                // What the user unmutes was to be heard; what he mutes was not.
                bench.image.playing[index]?.isMuted = !isMuted
                mutes[index] = !isMuted
                if bench.ledger[.playingMute(index)] == nil { return }
            case 4:
                let isMuted = bench.image.sources[2]?.isMuted ?? false
                bench.image.sources[2]?.isMuted = !isMuted
                isSourceMuted = !isMuted
            default: begin()
            }
        }

        mutating func plan() throws -> AudioPlan {
            var plan = AudioPlan()
            let others = AudioPlan.Others.allCases.randomElement(using: &random) ?? .leave
            if Bool.random(using: &random) {
                plan = try .call(
                    others: others, isInputOpen: .random(using: &random), isMuted: .random(using: &random))
            }
            let more = AudioPlan.Others.allCases.randomElement(using: &random) ?? .leave
            switch Int.random(in: 0..<4, using: &random) {
            case 0: plan.sessions += try AudioPlan.media(others: more).sessions
            case 1: plan.silenced[.other] = AudioClient(processes: [200], name: "")
            case 2: plan.ducked[.other] = AudioClient(processes: [200], name: "")
            default: break
            }
            return plan
        }
    }

    @Test("Random plans and a random user, then nothing wanted", arguments: 0..<300 as Range<UInt64>)
    func everythingComesBack(seed: UInt64) throws {
        var world = World(seed: seed, isPipeWire: seed % 2 == 0)
        for _ in 0..<5 { world.begin() }
        for _ in 0..<40 {
            if Int.random(in: 0..<3, using: &world.random) == 0 {
                world.bench.apply(try world.plan())
            } else {
                world.touch()
                world.bench.upkeep()
            }
            #expect(world.bench.changes().isEmpty)
        }
        world.bench.apply(AudioPlan())
        for stream in world.bench.image.playing.values {
            #expect(stream.volume == world.volumes[stream.index], "volume of \(stream.index)")
            #expect(stream.isMuted == world.mutes[stream.index], "mute of \(stream.index)")
            #expect(stream.device == world.places[stream.index], "device of \(stream.index)")
        }
        #expect(world.bench.image.sources[2]?.isMuted == world.isSourceMuted)
        #expect(world.bench.image.defaultSink == "speakers")
        #expect(world.bench.ledger.isEmpty)
    }

    @Test(
        "In between, no ledger is ever ahead of what was sent: a crash at any time is mended",
        arguments: 0..<100 as Range<UInt64>)
    func crash(seed: UInt64) throws {
        var world = World(seed: seed, isPipeWire: false)
        for _ in 0..<6 { world.begin() }
        let before = world.bench.image
        world.bench.apply(try world.plan())
        world.bench.apply(try world.plan())
        // Another run: what it knows is what the journal says.
        var other = EffectBench(world.bench.image)
        other.server = world.bench.server
        other.ledger = world.bench.ledger
        other.apply(AudioPlan())
        #expect(other.image == before)
    }
}
