import RingwakeCore
import Testing

@Suite("The connection to the audio server: there while it is needed")
struct AudioEngineLifeTests {
    @Test("Nothing is started for nothing; a session starts it; after the last one it lingers, and goes")
    func linger() {
        var scenario = AudioScenario(isConnected: false)
        #expect(scenario.send(.deadlineReached).isEmpty && scenario.arbiter.nextDeadline == nil)
        let id = scenario.arbiter.nextSessionID
        #expect(scenario.send(.opened(id, AudioClient(name: "one"), hasLease: true)) == [.startEngine])
        scenario.connect()
        #expect(scenario.arbiter.nextDeadline == nil)
        #expect(scenario.send(.closed(id)).isEmpty)
        #expect(scenario.arbiter.nextDeadline == scenario.now.advanced(by: .seconds(10)))
        scenario.wait(.seconds(9))
        let next = scenario.open()
        #expect(scenario.arbiter.nextDeadline == nil)
        scenario.send(.closed(next))
        #expect(scenario.reachDeadline() == [.stopEngine])
        #expect(scenario.arbiter.engine.state == .absent && scenario.arbiter.nextDeadline == nil)
        #expect(scenario.connect().isEmpty && scenario.send(.engineGone("late")).isEmpty, "it was told to stop")
    }

    @Test("Activations wait for the server, and are done when it is connected, in their order")
    func waits() {
        var scenario = AudioScenario(isConnected: false)
        let first = scenario.open(.mixable)
        let second = scenario.open(.mixable)
        #expect(scenario.send(.activationRequested(first)).isEmpty)
        #expect(scenario.send(.activationRequested(second)).isEmpty)
        #expect(scenario.send(.configured(second, .ducking)).isEmpty, "it comes after what was asked before")
        let third = scenario.open()
        #expect(scenario.send(.configured(third, .music)).answers(to: third).count == 1, "others need not wait")
        let effects = scenario.connect() + scenario.serve()
        #expect(effects.answers(to: first).count == 1 && effects.answers(to: second).count == 2)
        #expect(scenario.arbiter.planInForce.sessions.map(\.configuration) == [.ducking, .mixable])
    }

    @Test("They do not wait for ever: mediaServicesFailed after the time for an activation, the call too")
    func waitsInVain() {
        var scenario = AudioScenario(isConnected: false)
        let id = scenario.open(.music)
        scenario.send(.activationRequested(id))
        scenario.calls {
            $0.isAnyCall = true
            $0.focus = AudioScenario.focus()
        }
        #expect(scenario.arbiter.nextDeadline == scenario.now.advanced(by: .seconds(2)))
        let effects = scenario.reachDeadline()
        #expect(effects.failures(of: id) == [.mediaServicesFailed] && scenario.state(id) == .inactive)
        #expect(effects.calls == ["failed one mediaServicesFailed"] && scenario.arbiter.nextDeadline == nil)
        #expect((scenario.connect() + scenario.serve()).calls == ["activated one"])
        #expect(scenario.state(id) == .inactive, "who was told that it failed has to ask again")
    }

    @Test("No server: activations fail at once; it comes later: the call is activated, sessions are not")
    func unavailable() {
        var scenario = AudioScenario(isConnected: false)
        let id = scenario.open(.music)
        scenario.send(.activationRequested(id))
        let told = scenario.send(.reported(.unavailable("connection refused")))
        #expect(told.failures(of: id) == [.mediaServicesFailed] && scenario.state(id) == .inactive)
        #expect(scenario.activate(id).failures(of: id) == [.mediaServicesFailed])
        #expect(scenario.call().calls == ["failed one mediaServicesFailed"])
        #expect(scenario.call(AudioScenario.focus(isMuted: true)).isEmpty, "that is not told again")
        #expect((scenario.connect() + scenario.serve()).calls == ["activated one"])
        #expect(scenario.state(id) == .inactive && scenario.hangUp().calls == ["deactivated one"])
    }

    @Test("The server is lost in a call: deactivated, failed; activated anew when it is back")
    func lostInCall() {
        var scenario = AudioScenario()
        scenario.call()
        let lost = scenario.send(.reported(.lost("it crashed")))
        #expect(lost.calls == ["deactivated one", "failed one mediaServicesFailed"])
        #expect(scenario.arbiter.planInForce.isEmpty)
        let back = scenario.connect(AudioScenario.headset)
        #expect(back.plans.map { $0.sessions.map(\.id) } == [[.call]] && back.calls.isEmpty)
        #expect(scenario.serve() == [.call(AudioScenario.key(), .activated(AudioScenario.headset))])
    }

    @Test("It is lost while the call is activated, or deactivated: told so, each once")
    func lostMeanwhile() {
        var activating = CallSessionTests.activating()
        #expect(activating.send(.reported(.lost("it crashed"))).calls == ["failed one mediaServicesFailed"])
        #expect((activating.connect() + activating.serve()).calls == ["activated one"])
        activating.calls { $0 = .none }
        #expect(activating.send(.reported(.lost("it crashed"))).calls == ["deactivated one"])
        #expect(activating.arbiter.call.state == .idle && activating.connect().plans.isEmpty)
    }

    @Test("It is connected anew without a word of a loss: nothing of the former plan is taken for granted")
    func connectedAnew() {
        var scenario = AudioScenario()
        let id = scenario.openActive(.mixable)
        scenario.call()
        let effects = scenario.connect()
        #expect(effects.calls == ["deactivated one", "failed one mediaServicesFailed"])
        #expect(effects.notices(to: id) == [.mediaServicesWereLost, .mediaServicesWereReset])
        #expect(scenario.serve().calls == ["activated one"])
    }

    @Test("The engine dies in a call: as a lost server, and it is started again at once")
    func dies() {
        var scenario = AudioScenario()
        let id = scenario.openActive(.music)
        scenario.call()
        let effects = scenario.send(.engineGone("killed by signal 9"))
        #expect(effects.calls == ["deactivated one", "failed one mediaServicesFailed"])
        #expect(effects.last == .startEngine && effects.notices(to: id) == [.mediaServicesWereLost])
        #expect((scenario.connect() + scenario.serve()).calls == ["activated one"])
        #expect(scenario.state(id) == .inactive)
    }

    @Test("It dies again and again: three times more, then it rests, or until something new needs it")
    func diesAgain() {
        var scenario = AudioScenario(isConnected: false)
        let id = scenario.open(.music)
        for _ in 0..<3 { #expect(scenario.send(.engineGone("no such file")) == [.startEngine]) }
        scenario.send(.activationRequested(id))
        let effects = scenario.send(.engineGone("no such file"))
        #expect(effects.failures(of: id) == [.mediaServicesFailed] && !effects.contains(.startEngine))
        let pauseEnd = scenario.now.advanced(by: .seconds(5))
        #expect(scenario.arbiter.engine.isFailed && scenario.arbiter.nextDeadline == pauseEnd)
        #expect(scenario.activate(id).failures(of: id) == [.mediaServicesFailed], "too soon")
        #expect(scenario.reachDeadline() == [.startEngine])
        #expect(!scenario.send(.engineGone("no such file")).contains(.startEngine))
        scenario.wait(.seconds(10))
        #expect(scenario.send(.deadlineReached).isEmpty, "nobody needs it anew")
        #expect(scenario.send(.activationRequested(id)) == [.startEngine])
        scenario.connect()
        #expect(scenario.serve().answers(to: id).last?.isSuccess == true)
    }

    @Test(
        "It dies of each plan, once it is connected: as one that does not get so far, it is tried at longer intervals")
    func diesOfPlans() {
        var scenario = AudioScenario()
        scenario.call()
        func die() -> Bool {
            let isStarted = scenario.send(.engineGone("killed by signal 11")).contains(.startEngine)
            if isStarted { scenario.connect() }
            return isStarted
        }
        for _ in 0..<3 { #expect(die()) }
        for pause in [5, 15, 30, 60, 60] {
            #expect(!die())
            #expect(scenario.arbiter.nextDeadline == scenario.now.advanced(by: .seconds(pause)))
            #expect(scenario.reachDeadline() == [.startEngine])
            scenario.connect()
        }
        scenario.serve()
        for _ in 0..<3 { #expect(die()) }
    }

    @Test("It dies again and again in a call: it is started after longer and longer pauses, until the call has audio")
    func diesThroughoutACall() {
        var scenario = AudioScenario(isConnected: false)
        scenario.call()
        for _ in 0..<4 { scenario.send(.engineGone("no such file")) }
        for seconds in [5, 15, 30, 60, 60, 60] {
            let before = scenario.now
            #expect(scenario.reachDeadline() == [.startEngine])
            #expect(before.duration(to: scenario.now) == .seconds(seconds))
            let again = scenario.send(.engineGone("no such file"))
            #expect(again.calls.isEmpty && !again.contains(.startEngine), "its failure is reported once")
        }
        scenario.reachDeadline()
        #expect((scenario.connect() + scenario.serve()).calls == ["activated one"])
        // What worked is worth three attempts at once.
        scenario.wait(.seconds(60))
        #expect(scenario.send(.engineGone("killed")).contains(.startEngine))
    }

    @Test("It failed, and nothing needs it any more: it is not started again")
    func failedAndNotNeeded() {
        var scenario = AudioScenario(isConnected: false)
        scenario.call()
        for _ in 0..<4 { scenario.send(.engineGone("no such file")) }
        scenario.hangUp()
        #expect(scenario.arbiter.engine.state == .absent && scenario.arbiter.nextDeadline == nil)
    }

    @Test("It was given up, and the settings are loaded again: it is started anew, and the call becomes active")
    func settingsAreLoadedAgain() {
        var scenario = AudioScenario(isConnected: false)
        scenario.call()
        for _ in 0..<4 { scenario.send(.engineGone("no such file")) }
        #expect(scenario.arbiter.engine.isFailed)
        #expect(scenario.send(.settingsChanged(CallAudioSettings())).contains(.startEngine))
        #expect((scenario.connect() + scenario.serve()).calls == ["activated one"])
        #expect(!scenario.send(.settingsChanged(CallAudioSettings())).contains(.startEngine))
    }

    @Test("It dies as nobody needs it any more: it is not started again")
    func diesLingering() {
        var scenario = AudioScenario()
        for id in scenario.arbiter.sessions.keys { scenario.send(.closed(id)) }
        #expect(scenario.send(.engineGone("killed")).isEmpty)
        #expect(scenario.arbiter.engine.state == .absent && scenario.arbiter.nextDeadline == nil)
    }

    @Test("One that does not answer: requests are answered in time, and it is replaced")
    func hangs() {
        var scenario = AudioScenario()
        let id = scenario.open(.mixable)
        let other = scenario.open(.music)
        scenario.send(.activationRequested(id))
        scenario.send(.activationRequested(other))
        #expect(scenario.reachDeadline().answers(to: id).count == 1 && scenario.state(id) == .inactive)
        #expect(scenario.effects.failures(of: other) == [.mediaServicesFailed])
        let effects = scenario.reachDeadline()
        #expect(effects.contains(.stopEngine) && effects.last == .startEngine)
        #expect(scenario.state(id) == .lost && scenario.connect().notices(to: id) == [.mediaServicesWereReset])
    }

    @Test("A late answer to an activation that was answered as failed: it is taken back on the server")
    func lateActivation() {
        var scenario = AudioScenario()
        let id = scenario.open(.music)
        scenario.send(.activationRequested(id))
        scenario.reachDeadline()
        #expect(scenario.applied().answers(to: id).isEmpty && scenario.asked?.plan.isEmpty == true)
        scenario.serve()
        #expect(scenario.arbiter.planInForce.isEmpty && scenario.state(id) == .inactive)
    }

    @Test("A deactivation that is not acknowledged in time: inactive, and said; others hear when it is undone")
    func lateDeactivation() {
        var scenario = AudioScenario()
        let music = scenario.openActive(.music)
        let id = scenario.openActive(.music)
        scenario.send(.deactivationRequested(id, notifiesOthers: true))
        let effects = scenario.reachDeadline()
        #expect(effects.answers(to: id) == [.success(AudioScenario.speaker)] && scenario.state(id) == .inactive)
        #expect(effects.contains { if case .problem = $0 { true } else { false } })
        #expect(effects.notices(to: music).isEmpty)
        #expect(scenario.serve().notices(to: music) == [.interruptionEnded(shouldResume: true)])
    }

    @Test("A refused deactivation leaves the session active, and nobody is told of an end")
    func refusedDeactivation() {
        var scenario = AudioScenario()
        let music = scenario.openActive(.music)
        let id = scenario.openActive(.music)
        scenario.send(.deactivationRequested(id, notifiesOthers: true))
        let effects = scenario.refused(.unspecified) + scenario.serve()
        #expect(effects.failures(of: id) == [.unspecified] && scenario.state(id) == .active)
        #expect(effects.notices(to: music).isEmpty)
    }

    @Test("Requests of a session are answered in their order; too many at a time are refused")
    func order() {
        var scenario = AudioScenario()
        let id = scenario.open(.music)
        scenario.send(.activationRequested(id))
        scenario.send(.deactivationRequested(id, notifiesOthers: true))
        scenario.send(.activationRequested(id))
        #expect(scenario.serve().answers(to: id).map(\.isSuccess) == [true, true, true])
        #expect(scenario.state(id) == .active)
        scenario.send(.deactivationRequested(id, notifiesOthers: true))
        for _ in 0..<AudioArbiter.maximumRequests { scenario.send(.activationRequested(id)) }
        #expect(scenario.send(.activationRequested(id)).refusals == [.resourceNotAvailable])
        #expect(scenario.serve().answers(to: id).count == AudioArbiter.maximumRequests + 1)
    }

    @Test("Sessions are bounded, their numbers rise and are not given twice")
    func sessions() {
        var scenario = AudioScenario(isConnected: false)
        for _ in 0..<AudioArbiter.maximumSessions { scenario.open() }
        #expect(!scenario.arbiter.hasRoom)
        let id = scenario.arbiter.nextSessionID
        #expect(scenario.send(.opened(id, AudioClient(name: ""), hasLease: true)).refusals == [.resourceNotAvailable])
        scenario.send(.closed(.firstClient))
        let again = scenario.send(.opened(.firstClient, AudioClient(name: ""), hasLease: true))
        #expect(again.refusals == [.badParam] && scenario.arbiter.sessions[.firstClient] == nil)
        for event in [
            AudioEvent.closed(id), .activationRequested(id), .leaseChanged(id, hasLease: true),
            .configured(id, .music), .outputOverridden(id, isSpeaker: true),
        ] {
            #expect(scenario.send(event).refusals == [.expiredSession])
        }
    }

    @Test("Answers to what was not asked are not believed")
    func strayAnswers() {
        var scenario = AudioScenario()
        let id = scenario.open(.music)
        scenario.send(.activationRequested(id))
        let number = scenario.asked?.number ?? 0
        for stray in [number - 1, number + 1, .max] {
            let applied = scenario.send(
                .reported(.applied(number: stray, AudioApplied(route: AudioScenario.headset))))
            let refused = scenario.send(
                .reported(.refused(number: stray, AudioSessionError(.unspecified, ""))))
            #expect(applied.count == 1 && refused.count == 1 && scenario.state(id) == .activating)
        }
        #expect(scenario.arbiter.route == AudioScenario.speaker)
    }
}
