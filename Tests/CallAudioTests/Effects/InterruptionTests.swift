@testable import CallAudio
import RingwakeCore
import Testing

/// Others are silent; microphones are open for whom they are to be.
struct InterruptionTests {
    @Test("What sounds is muted; what is corked, muted already or of a player left alone is not, until it sounds")
    func interruption() throws {
        var bench = EffectBench()
        bench.image.play(5, process: 300)
        bench.image.play(6, process: 301, isCorked: true)
        bench.image.play(7, process: 302, isMuted: true)
        bench.image.play(8, process: 303)
        bench.yielding = [303]
        bench.apply(try .call())
        #expect(bench.commands == [.set(.playingMute(5), .muted(true))])
        bench.image.playing[6]?.isCorked = false
        bench.upkeep()
        #expect(bench.commands == [.set(.playingMute(6), .muted(true))])
        bench.image.playing[6]?.isCorked = true
        bench.upkeep()
        #expect(bench.commands.isEmpty)
        bench.apply(AudioPlan())
        #expect(bench.image.playing.filter { $0.value.isMuted }.map(\.key) == [7])
    }

    @Test("Whom the user unmutes during the call stays heard, and is not muted again")
    func usersHand() throws {
        var bench = EffectBench()
        bench.image.play(5, process: 300)
        bench.apply(try .call())
        bench.image.playing[5]?.isMuted = false
        bench.upkeep()
        #expect(bench.commands.isEmpty)
        bench.apply(AudioPlan())
        #expect(bench.commands.isEmpty)
        #expect(bench.image.playing[5]?.isMuted == false)
        #expect(bench.ledger.isEmpty)
    }

    @Test("Whom the user had muted and unmutes during the call is heard, as often as he likes")
    func usersChangeOfMind() throws {
        var bench = EffectBench()
        bench.image.play(5, process: 300, isMuted: true)
        bench.apply(try .call())
        for isMuted in [false, true, false] {
            bench.image.playing[5]?.isMuted = isMuted
            bench.upkeep()
            #expect(bench.commands.isEmpty)
        }
        bench.apply(try .call(processes: [101]))
        #expect(bench.commands.isEmpty)
        bench.apply(AudioPlan())
        #expect(bench.image.playing[5]?.isMuted == false)
        #expect(bench.ledger.isEmpty)
        // Another call is another matter.
        bench.apply(try .call())
        #expect(bench.image.playing[5]?.isMuted == true)
    }

    @Test("Whom the user unmutes in a call is silent all the same once its session is to be")
    func unmutedAndSilenced() throws {
        var bench = EffectBench()
        bench.image.play(5, process: 200, isMuted: true)
        bench.apply(try .call())
        bench.image.playing[5]?.isMuted = false
        bench.upkeep()
        var plan = try AudioPlan.call()
        plan.silenced = [.other: AudioClient(processes: [200], name: "")]
        bench.apply(plan)
        #expect(bench.commands == [.set(.playingMute(5), .muted(true))])
    }

    @Test("Whom the user unmutes and mutes again stays muted: that was the user")
    func usersSecondThought() throws {
        var bench = EffectBench()
        bench.image.play(5, process: 300)
        bench.apply(try .call())
        bench.image.playing[5]?.isMuted = false
        bench.upkeep()
        bench.image.playing[5]?.isMuted = true
        bench.upkeep()
        bench.apply(AudioPlan())
        #expect(bench.image.playing[5]?.isMuted == true)
        #expect(bench.left == 1)
    }

    @Test("A stream that begins muted by what we set for its kind is heard afterwards; one the user muted is not")
    func bornMuted() throws {
        var bench = EffectBench()
        bench.image.play(4, process: 300, kind: "music", isMuted: true)
        bench.image.play(5, process: 300, kind: "music")
        bench.apply(try .call())
        bench.server.begin(6, process: 300, kind: "music")
        #expect(bench.image.playing[6]?.isMuted == true)
        bench.upkeep()
        bench.apply(AudioPlan())
        #expect(bench.image.playing[4]?.isMuted == true)
        #expect(bench.image.playing[5]?.isMuted == false)
        #expect(bench.image.playing[6]?.isMuted == false)
    }

    @Test("From ducked to interrupted and back: each is made and undone once, and nothing in between")
    func duckedThenInterrupted() throws {
        var bench = EffectBench()
        bench.image.play(5, process: 300)
        bench.apply(try .media(process: 200))
        let ducked = try #require(bench.image.playing[5]?.volume)
        var both = try AudioPlan.call()
        both.sessions += try AudioPlan.media(process: 200).sessions
        bench.apply(both)
        #expect(bench.commands == [.set(.playingMute(5), .muted(true))])
        bench.apply(try .media(process: 200))
        #expect(bench.commands == [.set(.playingMute(5), .muted(false))])
        #expect(bench.image.playing[5]?.volume == ducked)
        bench.apply(AudioPlan())
        #expect(bench.image.playing[5]?.volume == [65_536, 65_536])
    }

    @Test("Another call of another app takes over what was done: no command for others")
    func swap() throws {
        var bench = EffectBench()
        bench.image.play(5, process: 300)
        bench.apply(try .call(processes: [100]))
        bench.apply(try .call(processes: [101]))
        #expect(bench.commands.isEmpty)
    }

    @Test("Silenced clients neither play nor record; an active session of the same process goes before")
    func silenced() throws {
        var bench = EffectBench()
        bench.image.play(5, process: 200)
        bench.image.record(6, process: 200)
        bench.image.play(7, process: 100)
        var plan = try AudioPlan.call(others: .leave)
        plan.silenced = [
            .other: AudioClient(processes: [200], name: ""), .third: AudioClient(processes: [100], name: ""),
        ]
        plan.exempt = [200, 100]
        bench.apply(plan)
        #expect(bench.commands == [.set(.recordingMute(6), .muted(true)), .set(.playingMute(5), .muted(true))])
        plan.silenced = [:]
        bench.apply(plan)
        #expect(bench.commands == [.set(.playingMute(5), .muted(false)), .set(.recordingMute(6), .muted(false))])
    }

    @Test("The microphone's own mute is lifted for who may be heard, last of all, and put back first of all")
    func microphone() throws {
        var bench = EffectBench()
        bench.image.play(5, process: 300)
        bench.image.sources[2]?.isMuted = true
        bench.apply(try .call(isInputOpen: false))
        #expect(bench.commands == [.set(.playingMute(5), .muted(true))])
        bench.apply(AudioPlan())
        bench.apply(try .call())
        #expect(
            bench.commands == [.set(.playingMute(5), .muted(true)), .set(.sourceMute("microphone"), .muted(false))])
        bench.apply(AudioPlan())
        #expect(
            bench.commands == [.set(.sourceMute("microphone"), .muted(true)), .set(.playingMute(5), .muted(false))])
    }

    @Test("A microphone that the user mutes during the call stays muted, then and afterwards")
    func usersMute() throws {
        var bench = EffectBench()
        bench.image.sources[2]?.isMuted = true
        bench.apply(try .call())
        #expect(bench.image.sources[2]?.isMuted == false)
        bench.image.sources[2]?.isMuted = true
        bench.upkeep()
        #expect(bench.commands.isEmpty)
        bench.apply(AudioPlan())
        #expect(bench.image.sources[2]?.isMuted == true)
    }

    @Test(
        "A microphone that was open and that the user mutes during the call is not opened again",
        arguments: [true, false])
    func usersMuteLater(isAsked: Bool) throws {
        var bench = EffectBench()
        bench.apply(try .call())
        bench.image.sources[2]?.isMuted = true
        if isAsked { bench.apply(try .call(others: .leave)) } else { bench.upkeep() }
        #expect(bench.commands.isEmpty)
        bench.apply(AudioPlan())
        #expect(bench.image.sources[2]?.isMuted == true)
    }

    @Test("Mute is of the call's own recording, never of the microphone")
    func callMute() throws {
        var bench = EffectBench()
        bench.image.record(6, process: 100)
        bench.image.record(7, process: 300)
        bench.apply(try .call())
        bench.apply(try .call(isMuted: true))
        #expect(bench.commands == [.set(.recordingMute(6), .muted(true))])
        bench.apply(try .call())
        #expect(bench.commands == [.set(.recordingMute(6), .muted(false))])
    }

    @Test("A call that is not to be heard records silence, whatever its app does")
    func closedMicrophone() throws {
        var bench = EffectBench()
        bench.image.record(6, process: 100)
        bench.apply(try .call(isInputOpen: false))
        #expect(bench.image.recording[6]?.isMuted == true)
        bench.apply(try .call())
        #expect(bench.image.recording[6]?.isMuted == false)
    }
}
