import RingwakeCore
import Testing

@Suite("What sessions are told of the route and of others that play")
struct AudioHintTests {
    static func playing(_ ids: AudioSessionID..., others: Bool = false) -> AudioEvent {
        .reported(.activity(running: Set(ids), othersPlay: others))
    }

    @Test("Another session that is to be heard alone begins to play, and ends: told at both, and only then")
    func hint() {
        var scenario = AudioScenario()
        let id = scenario.openActive(.mixable)
        let music = scenario.openActive(.music)
        #expect(scenario.effects.notices(to: id).isEmpty, "it is active, and plays nothing")
        let begun = scenario.send(AudioHintTests.playing(id, music))
        #expect(begun == [.notify(id, .secondaryAudioShouldBeSilenced(true))])
        #expect(scenario.send(AudioHintTests.playing(id, music, others: true)).isEmpty)
        #expect(scenario.send(AudioHintTests.playing(id)) == [.notify(id, .secondaryAudioShouldBeSilenced(false))])
    }

    @Test("What is mixable, or only records, is no reason to be silent; a call is")
    func reasons() {
        var scenario = AudioScenario()
        let id = scenario.openActive(.mixable)
        let mixable = scenario.openActive(.mixable)
        let recording = scenario.openActive(.recording)
        #expect(scenario.send(AudioHintTests.playing(id, mixable, recording)).isEmpty)
        scenario.call()
        scenario.activate(id)
        let begun = scenario.send(AudioHintTests.playing(.call))
        #expect(begun == [.notify(id, .secondaryAudioShouldBeSilenced(true))])
        #expect(scenario.hangUp().notices(to: id) == [.secondaryAudioShouldBeSilenced(false)])
    }

    @Test("Only who is active and in the foreground is told; coming to the foreground, what is so then")
    func foreground() {
        var scenario = AudioScenario()
        let id = scenario.openActive(.mixable, hasLease: false)
        let inactive = scenario.open(.mixable)
        let music = scenario.openActive(.music)
        let effects = scenario.send(AudioHintTests.playing(music))
        #expect(effects.isEmpty && scenario.arbiter.secondaryAudioShouldBeSilenced(for: id))
        #expect(
            scenario.send(.leaseChanged(id, hasLease: true)) == [.notify(id, .secondaryAudioShouldBeSilenced(true))])
        #expect(scenario.activate(inactive).notices(to: inactive) == [.secondaryAudioShouldBeSilenced(true)])
        #expect(
            scenario.deactivate(music).filter { $0 == .notify(id, .secondaryAudioShouldBeSilenced(false)) }.count == 1)
    }

    @Test("Whether others play: other sessions, and who has none; not the session itself")
    func otherAudio() {
        var scenario = AudioScenario()
        let id = scenario.openActive(.mixable)
        scenario.send(AudioHintTests.playing(id))
        #expect(!scenario.arbiter.isOtherAudioPlaying(for: id) && scenario.arbiter.isOtherAudioPlaying(for: .call))
        scenario.send(AudioHintTests.playing(id, others: true))
        #expect(scenario.arbiter.isOtherAudioPlaying(for: id))
        scenario.send(AudioHintTests.playing(id, .call))
        #expect(scenario.arbiter.isOtherAudioPlaying(for: id))
        scenario.send(.reported(.lost("it crashed")))
        #expect(!scenario.arbiter.isOtherAudioPlaying(for: id))
    }

    @Test("The speaker by request: until the route changes; the last one counts, of it and of the user's choice")
    func speaker() {
        var scenario = AudioScenario()
        let id = scenario.openActive(.mixableRecording)
        let passive = scenario.open()
        #expect(scenario.send(.outputOverridden(passive, isSpeaker: true)).refusals == [.sessionNotActive])
        #expect(scenario.choose("headset") == [.send(.chooseOutput("headset", number: 1))])
        scenario.chosen()
        let effects = scenario.send(.outputOverridden(id, isSpeaker: true))
        #expect(effects.first == .send(.chooseOutput(nil)) && effects.plans.count == 1)
        #expect(
            scenario.applied(AudioScenario.headset).notices(to: id) == [
                .routeChanged(.override, previous: AudioScenario.speaker, current: AudioScenario.headset)
            ])
        #expect(scenario.send(.outputOverridden(id, isSpeaker: true)).isEmpty)
        scenario.choose("hdmi")
        #expect(scenario.chosen().plans.first?.sessions.first?.isSpeakerForced == false)
        #expect(
            scenario.applied(AudioScenario.speaker).notices(to: id) == [
                .routeChanged(.categoryChange, previous: AudioScenario.headset, current: AudioScenario.speaker)
            ])
        #expect(scenario.arbiter.chosenOutput == "hdmi")
        scenario.send(.outputOverridden(id, isSpeaker: true))
        scenario.serve()
        scenario.call()
        scenario.hangUp()
        scenario.activate(id)
        #expect(scenario.arbiter.sessions[id]?.isSpeakerForced == false, "an interruption cancels it")
    }

    @Test("A sleep is told to an engine that has a server, and to no other")
    func sleep() {
        var scenario = AudioScenario(isConnected: false)
        scenario.open()
        #expect(scenario.send(.wokeFromSleep).isEmpty)
        scenario.connect()
        #expect(scenario.send(.wokeFromSleep) == [.send(.wokeFromSleep)])
    }

    @Test("Another category drops the speaker; another mode of the same keeps it")
    func category() {
        var scenario = AudioScenario()
        let id = scenario.openActive(.chat)
        scenario.send(.outputOverridden(id, isSpeaker: true))
        scenario.serve()
        scenario.send(.configured(id, configuration(.playAndRecord, .videoChat)))
        scenario.serve()
        #expect(scenario.arbiter.sessions[id]?.isSpeakerForced == true)
        scenario.send(.configured(id, .music))
        var refused = scenario
        refused.refused()
        #expect(refused.arbiter.sessions[id]?.isSpeakerForced == true && refused.asked == nil, "all is as before")
        scenario.serve()
        #expect(scenario.arbiter.sessions[id]?.isSpeakerForced == false)
    }

    @Test("A configuration while active: the difference alone; no lease is needed again, a call is in the way")
    func reconfigured() {
        var scenario = AudioScenario()
        let id = scenario.openActive(.music)
        #expect(scenario.send(.configured(id, .music)).answers(to: id).count == 1 && scenario.asked == nil)
        scenario.send(.leaseChanged(id, hasLease: false))
        scenario.send(.configured(id, .recording))
        #expect(scenario.applied(AudioScenario.headset).notices(to: id).count == 1)
        let mixable = scenario.openActive(.mixable, hasLease: false)
        #expect(scenario.send(.configured(mixable, .music)).failures(of: mixable) == [.cannotInterruptOthers])
        scenario.call()
        scenario.activate(mixable)
        #expect(scenario.send(.configured(mixable, .chat)).failures(of: mixable) == [.insufficientPriority])
        #expect(scenario.arbiter.sessions[mixable]?.configuration == .mixable)
    }

    @Test("A process with an active session is not silenced nor ducked with another one of its own")
    func sharedProcess() {
        var scenario = AudioScenario()
        let music = scenario.openActive(.music, process: 500)
        scenario.call()
        #expect(scenario.state(music) == .interrupted && scenario.arbiter.planInForce.silenced.isEmpty)
        let tones = scenario.openActive(.mixable, process: 500)
        let other = scenario.openActive(.mixable)
        #expect(scenario.arbiter.duckers(of: tones) == [.call])
        #expect(scenario.arbiter.planInForce.ducked.keys.sorted() == [other])
    }
}
