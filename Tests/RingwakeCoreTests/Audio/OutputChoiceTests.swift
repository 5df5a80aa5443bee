import RingwakeCore
import Testing

@Suite("The output that the user chooses")
struct OutputChoiceTests {
    @Test("A choice is answered when the server has it, and not before; it takes the place of the one before")
    func answered() {
        var scenario = AudioScenario()
        #expect(scenario.choose("headset") == [.send(.chooseOutput("headset", number: 1))])
        #expect(scenario.arbiter.chosenOutput == nil, "the server may have no such output")
        #expect(scenario.chosen() == [.answerChoice(1, nil)])
        #expect(scenario.arbiter.chosenOutput == "headset")
        #expect(scenario.choose(nil) == [.send(.chooseOutput(nil, number: 2))])
        #expect(scenario.arbiter.chosenOutput == "headset" && scenario.chosen() == [.answerChoice(2, nil)])
        #expect(scenario.arbiter.chosenOutput == nil && scenario.chosen().isEmpty, "once each")
    }

    @Test("A name that no output has is refused, with what there is, and the former choice stays")
    func unknown() throws {
        var scenario = AudioScenario()
        scenario.choose("headset")
        scenario.chosen()
        scenario.choose("hedset")
        let effects = scenario.chosen(isKnown: false)
        guard case .answerChoice(2, let error?) = try #require(effects.first) else {
            Issue.record("\(effects)")
            return
        }
        #expect(error.code == .badParam && effects.count == 1)
        #expect(error.message.contains("'hedset'") && error.message.contains("bluetoothHFP"))
        #expect(!error.message.contains("Microphone"), "no output is one")
        #expect(scenario.arbiter.chosenOutput == "headset")
    }

    @Test("Several at a time: each has its own answer, and the last that is known counts")
    func several() {
        var scenario = AudioScenario()
        for name in ["headset", "hedset", "hdmi"] { scenario.choose(name) }
        #expect(scenario.chosen(2, isKnown: false).choiceAnswers == [.badParam])
        #expect(scenario.chosen(1) == [.answerChoice(1, nil)])
        #expect(scenario.chosen(3) == [.answerChoice(3, nil)] && scenario.arbiter.chosenOutput == "hdmi")
    }

    @Test("The route of a call is told before the choice that moved it is answered")
    func route() {
        var scenario = AudioScenario()
        scenario.call()
        scenario.choose("headset")
        scenario.send(
            .reported(
                .routeChanged(.override, previous: AudioScenario.speaker, current: AudioScenario.headset)))
        #expect(scenario.effects.choiceAnswers.isEmpty && scenario.arbiter.route == AudioScenario.headset)
        #expect(scenario.chosen() == [.answerChoice(1, nil)])
    }

    @Test("The speaker that was asked for before is given up first, and the answer waits for that")
    func speaker() {
        var scenario = AudioScenario()
        let id = scenario.openActive(.chat)
        scenario.send(.outputOverridden(id, isSpeaker: true))
        scenario.serve()
        scenario.choose(nil)
        #expect(scenario.arbiter.sessions[id]?.isSpeakerForced == true)
        let effects = scenario.chosen()
        #expect(effects.plans.first?.sessions.first?.isSpeakerForced == false && effects.choiceAnswers.isEmpty)
        #expect(scenario.applied(AudioScenario.headset).last == .answerChoice(1, nil))
        #expect(scenario.arbiter.route == AudioScenario.headset)
    }

    @Test("The speaker that is asked for later takes its place: it is answered, and what comes of it is not believed")
    func overtaken() {
        var scenario = AudioScenario()
        let id = scenario.openActive(.chat)
        scenario.choose("headset")
        let effects = scenario.send(.outputOverridden(id, isSpeaker: true))
        #expect(effects.contains(.answerChoice(1, nil)) && effects.contains(.send(.chooseOutput(nil))))
        scenario.serve()
        #expect(scenario.chosen().isEmpty && scenario.arbiter.chosenOutput == nil)
        #expect(scenario.arbiter.sessions[id]?.isSpeakerForced == true)
    }

    @Test("With nobody who needs the server it is connected to for the choice, and lingers")
    func connects() {
        var scenario = AudioScenario(isConnected: false)
        #expect(scenario.choose("headset") == [.startEngine])
        #expect(scenario.connect() == [.send(.chooseOutput("headset", number: 1))])
        #expect(scenario.chosen() == [.answerChoice(1, nil)])
        #expect(scenario.reachDeadline() == [.stopEngine])
        #expect(scenario.arbiter.chosenOutput == "headset", "it is for the next call")
        scenario.open()
        #expect(scenario.connect() == [.send(.chooseOutput("headset"))], "it has been answered")
    }

    @Test("Without a server it is remembered, and told to one that comes; what has that name may come after it")
    func unavailable() {
        var scenario = AudioScenario(isConnected: false)
        scenario.choose("headset")
        #expect(scenario.send(.reported(.unavailable("refused"))).choiceAnswers == [nil])
        #expect(scenario.arbiter.chosenOutput == "headset")
        #expect(scenario.choose("hdmi") == [.answerChoice(2, nil)], "at once")
        #expect(scenario.connect() == [.send(.chooseOutput("hdmi"))])
    }

    @Test("The server is lost meanwhile: answered, and remembered")
    func lost() {
        var scenario = AudioScenario()
        scenario.choose("headset")
        scenario.choose("hdmi")
        #expect(scenario.send(.reported(.lost("it crashed"))).choiceAnswers == [nil, nil])
        #expect(scenario.connect().last == .send(.chooseOutput("hdmi")))
        #expect(scenario.chosen(1).isEmpty && scenario.chosen(2).isEmpty, "these were another server's")
    }

    @Test("The engine dies meanwhile: the next one is asked; where there is none, it is remembered")
    func gone() {
        var scenario = AudioScenario()
        scenario.choose("headset")
        #expect(scenario.send(.engineGone("killed")).last == .startEngine)
        #expect(scenario.connect().last == .send(.chooseOutput("headset", number: 1)))
        for _ in 0..<2 { scenario.send(.engineGone("killed")) }
        #expect(scenario.effects.choiceAnswers.isEmpty)
        #expect(scenario.send(.engineGone("killed")).choiceAnswers == [nil])
        #expect(scenario.arbiter.chosenOutput == "headset")
    }

    @Test("One that does not answer: an error in time, and what comes of it later counts", arguments: [true, false])
    func hangs(isKnown: Bool) {
        var scenario = AudioScenario()
        scenario.choose("headset")
        #expect(scenario.arbiter.nextDeadline == scenario.now.advanced(by: AudioArbiter.choiceTime))
        #expect(scenario.reachDeadline().choiceAnswers == [.mediaServicesFailed])
        #expect(scenario.arbiter.chosenOutput == nil && scenario.arbiter.nextDeadline == nil)
        #expect(scenario.chosen(isKnown: isKnown).isEmpty, "it was answered")
        #expect(scenario.arbiter.chosenOutput == (isKnown ? "headset" : nil))
    }

    @Test("One that never says whether there is a server does not keep anybody waiting, nor stays for ever")
    func neverConnected() {
        var scenario = AudioScenario(isConnected: false)
        scenario.choose("headset")
        #expect(scenario.reachDeadline().choiceAnswers == [.mediaServicesFailed])
        #expect(scenario.reachDeadline() == [.stopEngine])
    }

    @Test("Names and how many wait are bounded")
    func bounded() {
        var scenario = AudioScenario()
        let long = String(repeating: "x", count: AudioSessionConfiguration.maximumNameBytes + 1)
        #expect(scenario.choose(long).choiceAnswers == [.badParam])
        for _ in 0..<AudioArbiter.maximumChoices { #expect(scenario.choose("headset").choiceAnswers.isEmpty) }
        #expect(scenario.choose("headset").choiceAnswers == [.resourceNotAvailable])
    }

    @Test("Without an engine by configuration it is remembered; switched off meanwhile, it is answered")
    func withoutEngine() {
        var scenario = AudioScenario(AudioWithoutEngineTests.settings, isConnected: false)
        #expect(scenario.choose("headset") == [.answerChoice(1, nil)] && scenario.arbiter.chosenOutput == "headset")
        scenario.send(.settingsChanged(CallAudioSettings()))
        #expect(scenario.choose("hdmi") == [.startEngine])
        #expect(scenario.send(.settingsChanged(AudioWithoutEngineTests.settings)).choiceAnswers == [nil])
        #expect(scenario.arbiter.chosenOutput == "hdmi")
    }
}
