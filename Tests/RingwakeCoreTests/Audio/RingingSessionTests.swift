import RingwakeCore
import Testing

@Suite("Ringing: a session that plays, never decides the route and never has the microphone")
struct RingingSessionTests {
    static func ringing(_ others: AudioPlan.Others) -> (AudioScenario, AudioSessionID) {
        var settings = CallAudioSettings()
        settings.othersWhileRinging = others
        var scenario = AudioScenario(settings)
        let music = scenario.openActive(.music)
        scenario.calls {
            $0.isAnyCall = true
            $0.isRinging = true
            $0.exempt = [300]
        }
        return (scenario, music)
    }

    @Test("By default it does nothing to others")
    func leaves() {
        let (scenario, music) = RingingSessionTests.ringing(.leave)
        #expect(scenario.arbiter.plan.sessions.map(\.id) == [music] && scenario.arbiter.plan.ducked.isEmpty)
    }

    @Test("It ducks, if the user likes, until it stops")
    func ducks() {
        var (scenario, music) = RingingSessionTests.ringing(.duck)
        let plan = scenario.asked?.plan
        #expect(plan?.sessions.map(\.id) == [music, .ringing] && plan?.ducked.keys.sorted() == [music])
        #expect(plan?.sessions.last?.isInputOpen == false && plan?.sessions.last?.isCall == false)
        #expect(plan?.sessions.last?.others == .duck && plan?.exempt == [300])
        let ready = scenario.serve().compactMap { if case .send(.prepare(let plan)) = $0 { plan } else { nil } }
        #expect(ready.map { $0.sessions.map(\.id) } == [[.call]], "answered, it does not ring any more")
        scenario.calls { $0.isRinging = false }
        scenario.serve()
        #expect(scenario.arbiter.planInForce.sessions.map(\.id) == [music])
        #expect(scenario.arbiter.planInForce.ducked.isEmpty && scenario.state(music) == .active)
    }

    @Test("It interrupts, if the user likes; declined, they are told of the end")
    func interrupts() {
        var (scenario, music) = RingingSessionTests.ringing(.interrupt)
        scenario.serve()
        #expect(scenario.state(music) == .interrupted)
        let late = scenario.open(.recording)
        #expect(scenario.activate(late).failures(of: late) == [.insufficientPriority])
        let effects = scenario.hangUp()
        #expect(effects.notices(to: music) == [.interruptionEnded(shouldResume: true)])
        #expect(scenario.activate(late).answers(to: late).last?.isSuccess == true)
    }

    @Test("Answered, what it did stays until the call takes it over: nobody is told twice")
    func answered() {
        var (scenario, music) = RingingSessionTests.ringing(.interrupt)
        scenario.serve()
        let answering = scenario.calls {
            $0.isRinging = false
            $0.isFocusComing = true
        }
        #expect(answering.plans.isEmpty && scenario.arbiter.plan.sessions.map(\.id) == [.ringing])
        let effects = scenario.call()
        #expect(effects.calls == ["activated one"] && effects.notices(to: music).isEmpty)
        #expect(effects.plans.map { $0.sessions.map(\.id) } == [[.call]])
        #expect(scenario.hangUp().notices(to: music) == [.interruptionEnded(shouldResume: true)])
    }

    @Test("A second call rings during a first: the first one's route counts, and it is not ducked")
    func callWaiting() {
        var settings = CallAudioSettings()
        settings.othersWhileRinging = .duck
        var scenario = AudioScenario(settings)
        scenario.call()
        scenario.calls { $0.isRinging = true }
        scenario.serve()
        #expect(scenario.arbiter.planInForce.sessions.map(\.id) == [.call, .ringing])
        #expect(scenario.arbiter.planInForce.ducked.isEmpty && !scenario.arbiter.activeCalls.isEmpty)
    }

    @Test("Another setting while it rings counts at once")
    func setting() {
        var (scenario, music) = RingingSessionTests.ringing(.interrupt)
        scenario.serve()
        let effects = scenario.send(.settingsChanged(CallAudioSettings())) + scenario.serve()
        #expect(effects.notices(to: music) == [.interruptionEnded(shouldResume: true)])
        #expect(scenario.arbiter.planInForce.sessions.isEmpty)
    }
}
