import RingwakeCore
import Testing

@Suite("Without an audio server by configuration: the rules hold, and nothing is done")
struct AudioWithoutEngineTests {
    static var settings: CallAudioSettings {
        var settings = CallAudioSettings()
        settings.hasEngine = false
        return settings
    }

    @Test("Sessions are active at once, with no route; no engine is ever started")
    func sessions() {
        var scenario = AudioScenario(AudioWithoutEngineTests.settings)
        let first = scenario.open(.music)
        #expect(scenario.send(.activationRequested(first)) == [.answer(first, .success(AudioRoute()))])
        let second = scenario.open(.music)
        let effects = scenario.send(.activationRequested(second))
        #expect(effects == [.notify(first, .interruptionBegan(.default)), .answer(second, .success(AudioRoute()))])
        #expect(
            scenario.send(.deactivationRequested(second, notifiesOthers: true)) == [
                .answer(second, .success(AudioRoute())), .notify(first, .interruptionEnded(shouldResume: true)),
            ])
        #expect(!scenario.effects.contains(.startEngine) && scenario.arbiter.nextDeadline == nil)
    }

    @Test("Calls are told, and the rules for others hold")
    func calls() {
        var scenario = AudioScenario(AudioWithoutEngineTests.settings)
        let music = scenario.open(.music)
        scenario.send(.activationRequested(music))
        #expect(scenario.call().calls == ["activated one"] && scenario.state(music) == .interrupted)
        #expect(scenario.call(AudioScenario.focus("two")).calls == ["deactivated one", "activated two"])
        let recording = scenario.open(.recording)
        #expect(scenario.activate(recording).failures(of: recording) == [.insufficientPriority])
        let effects = scenario.hangUp()
        #expect(effects.calls == ["deactivated two"])
        #expect(effects.notices(to: music) == [.interruptionEnded(shouldResume: true)])
        #expect(scenario.arbiter.nextDeadline == nil && scenario.arbiter.engine.state == .absent)
    }

    @Test("Configured away while something is under way: it is done, and the engine goes")
    func configuredAway() {
        var scenario = AudioScenario()
        let id = scenario.open(.music)
        scenario.send(.activationRequested(id))
        let effects = scenario.send(.settingsChanged(AudioWithoutEngineTests.settings))
        #expect(effects == [.stopEngine, .answer(id, .success(AudioRoute()))] && scenario.state(id) == .active)
        var ending = AudioScenario()
        let music = ending.openActive(.music)
        ending.call()
        ending.calls { $0 = .none }
        let ended = ending.send(.settingsChanged(AudioWithoutEngineTests.settings))
        #expect(ended.calls == ["deactivated one"])
        #expect(ended.notices(to: music) == [.interruptionEnded(shouldResume: true)])
        var lost = AudioScenario()
        let other = lost.open(.music)
        lost.send(.reported(.lost("it crashed")))
        lost.call()
        let back = lost.send(.settingsChanged(AudioWithoutEngineTests.settings))
        #expect(back.calls == ["activated one"] && back.notices(to: other) == [.mediaServicesWereReset])
    }

    @Test("Configured in: what is active stays so, and comes into force with the server")
    func configuredIn() {
        var scenario = AudioScenario(AudioWithoutEngineTests.settings)
        let music = scenario.open(.mixable)
        scenario.call()
        scenario.activate(music)
        #expect(scenario.send(.settingsChanged(CallAudioSettings())) == [.startEngine])
        #expect(!scenario.arbiter.activeCalls.isEmpty && scenario.state(music) == .active)
        var without = scenario
        let effects = scenario.connect()
        #expect(effects.plans.map { $0.sessions.map(\.id) } == [[.call, music]] && scenario.serve().calls.isEmpty)
        let none = without.send(.reported(.unavailable("none")))
        #expect(none.calls == ["deactivated one", "failed one mediaServicesFailed"])
        #expect(none.notices(to: music) == [.mediaServicesWereLost])
    }
}
