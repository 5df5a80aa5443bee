import RingwakeCore
import Testing

@Suite("Audio sessions: events that no world would bring in that order")
struct AudioRandomOrderTests {
    /// SplitMix64: the same events for the same seed, so that a failure can be repeated.
    struct Generator: RandomNumberGenerator {
        var state: UInt64

        mutating func next() -> UInt64 {
            state &+= 0x9E37_79B9_7F4A_7C15
            var mixed = state
            mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
            mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
            return mixed ^ (mixed >> 31)
        }

        mutating func isOne(in count: Int) -> Bool { Int.random(in: 0..<count, using: &self) == 0 }
    }

    static let configurations: [AudioSessionConfiguration] = [
        .music, .mixable, .ducking, .interruptingSpeech, .speech, .mixableSpeech, .recording, .mixableRecording, .chat,
        .standard, configuration(.ambient), configuration(.multiRoute, .default, [.duckOthers]),
    ]
    static let routes = [AudioScenario.speaker, AudioScenario.headset, AudioScenario.deaf, AudioRoute()]

    @Test("What must hold holds after every event, and when all is over nothing is left", arguments: 0..<20)
    func invariants(seed: Int) {
        var random = Generator(state: UInt64(seed))
        var settings = CallAudioSettings()
        settings.hasEngine = seed % 7 != 0
        var scenario = AudioScenario(settings, isConnected: false)
        for _ in 0..<5_000 {
            if random.isOne(in: 3) { scenario.wait(.milliseconds(Int.random(in: 0..<600, using: &random))) }
            if let due = scenario.arbiter.nextDeadline, due <= scenario.now { scenario.send(.deadlineReached) }
            step(&scenario, &random)
        }
        finish(&scenario)
    }

    /// Everybody leaves, and the server does all that it is asked for.
    private func finish(_ scenario: inout AudioScenario) {
        scenario.calls { $0 = .none }
        for id in scenario.arbiter.sessions.keys.sorted() { scenario.send(.closed(id)) }
        var rounds = 0
        while scenario.arbiter.nextDeadline != nil, rounds < 100 {
            rounds += 1
            scenario.serve()
            if scenario.arbiter.nextDeadline != nil { scenario.reachDeadline() }
        }
        #expect(scenario.checks.open.values.allSatisfy { $0.isEmpty }, "every request was answered")
        #expect(scenario.checks.choices.isEmpty, "every choice was answered")
        #expect(scenario.checks.activeCalls.isEmpty && !scenario.checks.isEngineThere)
        #expect(scenario.arbiter.engine.state == .absent && scenario.arbiter.call.state == .idle)
        #expect(scenario.arbiter.plan.isEmpty && scenario.arbiter.planInForce.isEmpty)
    }

    private func step(_ scenario: inout AudioScenario, _ random: inout Generator) {
        switch Int.random(in: 0..<10, using: &random) {
        case 0..<4: scenario.send(clientEvent(scenario, &random))
        case 4, 5: scenario.calls { change(&$0, &random) }
        case 6..<9: if let event = serverEvent(scenario, &random) { scenario.send(event) }
        default: scenario.send(rareEvent(scenario, &random))
        }
    }

    private func clientEvent(_ scenario: AudioScenario, _ random: inout Generator) -> AudioEvent {
        let open = scenario.arbiter.sessions.keys.sorted()
        let stranger = AudioSessionID(number: UInt64.random(in: 0..<40, using: &random))
        let id = random.isOne(in: 20) ? stranger : open.randomElement(using: &random) ?? stranger
        let isOn = Bool.random(using: &random)
        switch Int.random(in: 0..<12, using: &random) {
        case 0:
            let next = random.isOne(in: 10) ? stranger : scenario.arbiter.nextSessionID
            let process = Int32.random(in: 1..<8, using: &random)
            return .opened(next, AudioClient(processes: [process], name: "client"), hasLease: !random.isOne(in: 4))
        case 1: return open.count > 3 || random.isOne(in: 3) ? .closed(id) : .activationRequested(id)
        case 2: return .leaseChanged(id, hasLease: isOn)
        case 3, 4:
            let all = AudioRandomOrderTests.configurations
            return .configured(id, all.randomElement(using: &random) ?? .music)
        case 5: return .outputOverridden(random.isOne(in: 3) ? .call : id, isSpeaker: isOn)
        case 6, 7: return .deactivationRequested(id, notifiesOthers: isOn)
        default: return .activationRequested(id)
        }
    }

    private func change(_ needs: inout CallAudioNeeds, _ random: inout Generator) {
        switch Int.random(in: 0..<8, using: &random) {
        case 0, 1: needs.focus = nil
        case 2, 3:
            let names = ["one", "two", "three"].shuffled(using: &random)
            let name = names[0]
            var focus = AudioScenario.focus(
                name, process: Int32.random(in: 1..<10, using: &random), isMuted: Bool.random(using: &random),
                as: random.isOne(in: 5) ? .music : .chat)
            let count = random.isOne(in: 2) ? Int.random(in: 1..<names.count, using: &random) : 0
            focus.others = names.dropFirst().prefix(count).map { AudioScenario.key($0) }
            needs.focus = focus
        case 4: needs.isFocusComing.toggle()
        case 5: needs.isRinging.toggle()
        case 6: needs.isAnyCall.toggle()
        default: needs.exempt = [Int32.random(in: 1..<10, using: &random)]
        }
    }

    /// Mostly the answer that is due.
    private func serverEvent(_ scenario: AudioScenario, _ random: inout Generator) -> AudioEvent? {
        let route = AudioRandomOrderTests.routes.randomElement(using: &random) ?? AudioRoute()
        if let number = scenario.checks.choicesSent.first, random.isOne(in: 2) {
            return .reported(.outputChosen(number: number, isKnown: !random.isOne(in: 4)))
        }
        guard let asked = scenario.asked else {
            guard scenario.checks.isEngineThere, !scenario.arbiter.engine.isConnected else { return nil }
            return .reported(random.isOne(in: 5) ? .unavailable("none") : .connected(AudioScenario.server, route))
        }
        if random.isOne(in: 6) {
            return .reported(.refused(number: asked.number, AudioSessionError(.resourceNotAvailable, "no")))
        }
        let known = scenario.arbiter.sessions.keys.sorted() + [.call, .ringing]
        let busy = Set(known.filter { _ in random.isOne(in: 4) })
        return .reported(.applied(number: asked.number, AudioApplied(route: route, busy: busy)))
    }

    private func rareEvent(_ scenario: AudioScenario, _ random: inout Generator) -> AudioEvent {
        let route = AudioRandomOrderTests.routes.randomElement(using: &random) ?? AudioRoute()
        let isOn = Bool.random(using: &random)
        switch Int.random(in: 0..<14, using: &random) {
        case 0: return .reported(.lost("it crashed"))
        case 1: return .reported(.connected(AudioScenario.server, route))
        case 2: return .engineGone("killed")
        case 3: return .reported(.unavailable("none"))
        case 4: return .reported(.routeDisconnected)
        case 5: return .reported(.microphoneMuted(isOn))
        case 6, 7:
            let running = Set(scenario.arbiter.sessions.keys.filter { $0.number % 2 == 0 } + (isOn ? [.call] : []))
            return .reported(.activity(running: running, othersPlay: isOn))
        case 8:
            return .reported(.routeChanged(.newDeviceAvailable, previous: scenario.arbiter.route, current: route))
        case 9: return .outputChosen(isOn ? "headset" : nil, number: scenario.lastChoice + 1)
        case 10: return .settingsChanged(randomSettings(&random))
        case 11: return .wokeFromSleep
        case 12:
            let number = UInt64.random(in: 0..<5, using: &random)
            return .reported(.applied(number: number, AudioApplied(route: route)))
        default: return .deadlineReached
        }
    }

    private func randomSettings(_ random: inout Generator) -> CallAudioSettings {
        var settings = CallAudioSettings()
        settings.others = AudioPlan.Others.allCases.randomElement(using: &random) ?? .interrupt
        settings.othersWhileRinging = AudioPlan.Others.allCases.randomElement(using: &random) ?? .leave
        settings.linger = [.zero, .seconds(10)].randomElement(using: &random) ?? .zero
        settings.activationTime = [.zero, .seconds(2), .seconds(20)].randomElement(using: &random) ?? .zero
        settings.hasEngine = !random.isOne(in: 5)
        return settings
    }
}
