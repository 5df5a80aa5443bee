@testable import CallAudio
import RingwakeCore
import Testing

/// Two programs at work on one server: whoever leaves first, everything is as before both in the end.
struct SharedServerTests {
    private let stored = StoredStream(
        name: "music", volume: [60_000, 60_000], channels: [1, 2], isMuted: false, device: nil)

    /// Two benches that take turns at one server.
    private struct Pair {
        var first = EffectBench()
        var second = EffectBench()

        mutating func onFirst(_ plan: AudioPlan) {
            first.others = [second.ledger]
            first.apply(plan)
            second.server = first.server
        }

        mutating func onSecond(_ plan: AudioPlan) {
            second.others = [first.ledger]
            second.server = first.server
            second.apply(plan)
            first.server = second.server
        }
    }

    private func pair() -> Pair {
        var pair = Pair()
        pair.first.image.play(5, process: 300, volume: [60_000, 60_000], kind: "music")
        pair.first.server.stored["music"] = stored
        pair.second.server = pair.first.server
        return pair
    }

    @Test("Both duck: never twice, and back whoever is done first", arguments: [true, false])
    func duck(isFirstDoneFirst: Bool) throws {
        var pair = pair()
        pair.onFirst(try .media())
        let ducked = pair.first.image.playing[5]?.volume
        pair.onSecond(try .media(.third, process: 201))
        #expect(pair.second.commands.isEmpty)
        #expect(pair.second.image.playing[5]?.volume == ducked)
        if isFirstDoneFirst {
            pair.onFirst(AudioPlan())
            pair.onSecond(AudioPlan())
        } else {
            pair.onSecond(AudioPlan())
            pair.onFirst(AudioPlan())
        }
        #expect(pair.first.image.playing[5]?.volume == [60_000, 60_000])
        #expect(pair.first.server.stored["music"] == stored)
        #expect(pair.first.left + pair.second.left == 0)
        #expect(pair.first.ledger.isEmpty && pair.second.ledger.isEmpty)
    }

    @Test("Both mute, and both open the microphone", arguments: [true, false])
    func mute(isFirstDoneFirst: Bool) throws {
        var pair = pair()
        pair.first.image.sources[2]?.isMuted = true
        pair.second.server = pair.first.server
        pair.onFirst(try .call())
        pair.onSecond(try .call(processes: [201]))
        if isFirstDoneFirst {
            pair.onFirst(AudioPlan())
            pair.onSecond(AudioPlan())
        } else {
            pair.onSecond(AudioPlan())
            pair.onFirst(AudioPlan())
        }
        #expect(pair.first.image.playing[5]?.isMuted == false)
        #expect(pair.first.image.sources[2]?.isMuted == true)
        #expect(pair.first.server.stored["music"] == stored)
    }
}
