import RingwakeCore
import Testing

@Suite("Whether there is a microphone: what calls and sessions are told")
struct InputAvailabilityTests {
    private static func moved(
        _ reason: AudioRouteChangeReason, from previous: AudioRoute, to current: AudioRoute
    ) -> AudioEvent {
        .reported(.routeChanged(reason, previous: previous, current: current))
    }

    private func key(_ effects: [AudioEffect]) -> [CallAudioChange] {
        effects.compactMap { if case .call(_, let change) = $0 { change } else { nil } }
    }

    @Test("Without a microphone a call is active and says so; one that comes and goes is told as a change of the route")
    func call() {
        var scenario = AudioScenario()
        let music = scenario.openActive(.music)
        scenario.calls {
            $0.isAnyCall = true
            $0.focus = AudioScenario.focus()
        }
        let begun = scenario.applied(AudioScenario.deaf)
        #expect(key(begun) == [.activated(AudioScenario.deaf)])
        #expect(!scenario.arbiter.activeCalls.isEmpty && scenario.state(music) == .interrupted)
        let come = scenario.send(
            Self.moved(.newDeviceAvailable, from: AudioScenario.deaf, to: AudioScenario.speaker))
        #expect(
            key(come) == [
                .routeChanged(.newDeviceAvailable, previous: AudioScenario.deaf, current: AudioScenario.speaker)
            ])
        let gone = scenario.send(
            Self.moved(.oldDeviceUnavailable, from: AudioScenario.speaker, to: AudioScenario.deaf))
        #expect(
            key(gone) == [
                .routeChanged(.oldDeviceUnavailable, previous: AudioScenario.speaker, current: AudioScenario.deaf)
            ])
        #expect(scenario.hangUp().calls == ["deactivated one"])
    }

    @Test("Every session is told, active or not, once for each change; a new one reads it")
    func sessions() {
        var scenario = AudioScenario()
        let (active, passive) = (scenario.openActive(.music), scenario.open())
        let gone = scenario.send(
            Self.moved(.oldDeviceUnavailable, from: AudioScenario.speaker, to: AudioScenario.deaf))
        #expect(gone.notices(to: passive) == [.inputAvailabilityChanged(false)])
        #expect(
            gone.notices(to: active) == [
                .routeChanged(.oldDeviceUnavailable, previous: AudioScenario.speaker, current: AudioScenario.deaf),
                .inputAvailabilityChanged(false),
            ])
        let late = scenario.open()
        #expect(scenario.arbiter.sessions[late]?.isInputAvailable == false)
        #expect(scenario.effects.notices(to: late).isEmpty)
        let come = scenario.send(
            Self.moved(.newDeviceAvailable, from: AudioScenario.deaf, to: AudioScenario.speaker))
        #expect(come.notices(to: late) == [.inputAvailabilityChanged(true)])
        #expect(scenario.arbiter.sessions[late]?.isInputAvailable == true)
    }

    @Test("The same outputs and inputs are no other route, and the forced speaker stays")
    func availabilityAlone() {
        var scenario = AudioScenario(isConnected: false)
        scenario.open()
        scenario.connect(AudioScenario.deaf)
        let id = scenario.openActive(.music)
        scenario.send(.outputOverridden(id, isSpeaker: true))
        scenario.serve()
        let listening = AudioRoute(outputs: AudioScenario.deaf.outputs)
        let come = scenario.send(Self.moved(.newDeviceAvailable, from: AudioScenario.deaf, to: listening))
        #expect(come.notices(to: id) == [.inputAvailabilityChanged(true)])
        #expect(scenario.arbiter.sessions[id]?.isSpeakerForced == true && scenario.asked == nil)
        #expect(scenario.arbiter.route == listening)
    }

    @Test("Until there is a server nothing is known; what was known stays until there is one again")
    func server() {
        var scenario = AudioScenario(isConnected: false)
        let id = scenario.open()
        #expect(scenario.arbiter.sessions[id]?.isInputAvailable == true)
        #expect(scenario.connect(AudioScenario.deaf).notices(to: id) == [.inputAvailabilityChanged(false)])
        #expect(scenario.send(.reported(.lost("it crashed"))).notices(to: id) == [.mediaServicesWereLost])
        #expect(scenario.arbiter.sessions[id]?.isInputAvailable == false)
        #expect(scenario.connect(AudioScenario.deaf).notices(to: id) == [.mediaServicesWereReset])
        scenario.send(.reported(.lost("it crashed")))
        let back = scenario.connect(AudioScenario.speaker).notices(to: id)
        #expect(back == [.mediaServicesWereReset, .inputAvailabilityChanged(true)])
    }

    @Test("A client's own session is refused, as before")
    func recording() {
        var scenario = AudioScenario()
        let id = scenario.open(.recording)
        scenario.send(.activationRequested(id))
        #expect(scenario.refused(.cannotStartRecording).failures(of: id) == [.cannotStartRecording])
        #expect(scenario.state(id) == .inactive)
    }
}
