import RingwakeCore
import Testing

@Suite("The session of the calls: active from the fulfilled answer to the end or the hold")
struct CallSessionTests {
    /// A call rings, and is being answered.
    static func answering(_ settings: CallAudioSettings = CallAudioSettings()) -> AudioScenario {
        var scenario = AudioScenario(settings)
        scenario.calls {
            $0.isAnyCall = true
            $0.isFocusComing = true
        }
        return scenario
    }

    /// The call comes into focus; the server has not answered.
    static func activating(_ settings: CallAudioSettings = CallAudioSettings()) -> AudioScenario {
        var scenario = answering(settings)
        scenario.calls {
            $0.isFocusComing = false
            $0.focus = AudioScenario.focus()
        }
        return scenario
    }

    @Test("Rule 1: a call that is reported changes nothing: the server is connected to and got ready")
    func reported() {
        var scenario = AudioScenario(isConnected: false)
        let effects = scenario.calls { $0.isAnyCall = true }
        #expect(effects == [.startEngine] && scenario.arbiter.engine.state == .starting)
        scenario.send(.reported(.ready(version: "1", mended: 0)))
        let connected = scenario.connect()
        guard case .send(.prepare(let plan)) = connected.first, connected.count == 1 else {
            Issue.record("it is got ready: \(connected)")
            return
        }
        #expect(plan.sessions.map(\.id) == [.call] && plan.sessions.first?.others == .interrupt)
        #expect(scenario.arbiter.plan.isEmpty && scenario.send(.wokeFromSleep) == [.send(.wokeFromSleep)])
        var exempting = scenario
        let exempt = exempting.calls { $0.exempt = [7] }
        #expect(exempt.plans.isEmpty, "where nothing is wanted of the server, nobody is exempt from it")
        #expect(scenario.call().calls == ["activated one"])
        let held = scenario.calls { $0.focus = nil } + scenario.serve()
        #expect(held.last == .send(.prepare(plan)), "it may be gone on with")
    }

    @Test("Rule 1: what is got ready has the sessions that a call interrupts silent, and nobody is told")
    func prepared() {
        var scenario = AudioScenario()
        let id = scenario.openActive(.music)
        var effects = scenario.calls {
            $0.isAnyCall = true
            $0.exempt = [7]
        }
        effects += scenario.serve()
        let prepared = effects.compactMap { if case .send(.prepare(let plan)) = $0 { plan } else { nil } }
        #expect(prepared.map { $0.silenced.keys.sorted() } == [[id]] && prepared.first?.exempt == [7])
        #expect(effects.notices(to: id).isEmpty && scenario.state(id) == .active)
        let later = scenario.deactivate(id)
        guard case .send(.prepare(let plan)) = later.last else {
            Issue.record("it is got ready for what is so now")
            return
        }
        #expect(plan.silenced.isEmpty)
    }

    @Test("Rule 2: nothing is active before the answer is fulfilled; then all, and told when the server has it all")
    func fulfilled() {
        var scenario = CallSessionTests.answering()
        #expect(scenario.asked == nil && scenario.arbiter.call.state == .idle)
        let begun = scenario.calls {
            $0.isFocusComing = false
            $0.focus = AudioScenario.focus(isMuted: true)
        }
        #expect(begun.calls.isEmpty)
        let session = scenario.asked?.plan.sessions.first
        #expect(session?.id == .call && session?.isCall == true && session?.isInputOpen == true)
        #expect(session?.isMuted == true && session?.client.processes == [500] && session?.others == .interrupt)
        let done = scenario.applied(AudioScenario.headset)
        #expect(done == [.call(AudioScenario.key(), .activated(AudioScenario.headset))])
        #expect(scenario.arbiter.activeCalls == [AudioScenario.key()] && scenario.arbiter.nextDeadline == nil)
    }

    @Test("Rule 2: not fulfilled: the focus that was to come does not, and nothing was done")
    func notFulfilled() {
        var scenario = CallSessionTests.answering()
        #expect(scenario.hangUp().isEmpty && scenario.arbiter.call.state == .idle)
    }

    @Test("Rule 4: the end: others are heard again first, then the call is told")
    func ends() {
        var scenario = AudioScenario()
        let music = scenario.openActive(.music)
        scenario.call()
        let begun = scenario.calls { $0 = .none }
        #expect(begun.calls.isEmpty && scenario.asked?.resumes == true)
        #expect(scenario.asked?.plan.sessions.isEmpty == true && scenario.arbiter.activeCalls.isEmpty)
        let done = scenario.applied()
        #expect(
            done == [
                .call(AudioScenario.key(), .deactivated),
                .notify(music, .interruptionEnded(shouldResume: true)),
            ])
    }

    @Test("Rule 4: a change that is under way as the call ends is not taken for its end")
    func endsMeanwhile() {
        var scenario = AudioScenario()
        scenario.call()
        scenario.call(AudioScenario.focus(isMuted: true))
        scenario.calls { $0.focus = AudioScenario.focus() }
        scenario.calls { $0 = .none }
        let first = scenario.applied()
        #expect(first.calls.isEmpty && scenario.asked?.plan.isEmpty == true)
        #expect(scenario.applied().calls == ["deactivated one"])
    }

    @Test("Rule 4: a server that does not answer does not keep the end from the call")
    func endTimesOut() {
        var scenario = AudioScenario()
        scenario.call()
        scenario.calls { $0 = .none }
        #expect(scenario.reachDeadline().calls == ["deactivated one"])
        #expect(scenario.serve().calls.isEmpty && scenario.arbiter.call.state == .idle)
    }

    @Test("Rule 4: streams that run on are silent as long as there is any call, and no longer")
    func endsBusy() {
        var scenario = AudioScenario()
        scenario.call()
        scenario.calls { $0.focus = nil }
        #expect(scenario.applied(busy: [.call]).calls == ["deactivated one"])
        #expect(scenario.arbiter.plan.silenced == [.call: AudioClient(processes: [500], name: "one")])
        var back = scenario
        back.call()
        #expect(back.arbiter.planInForce.silenced.isEmpty)
        scenario.hangUp()
        #expect(scenario.arbiter.planInForce.isEmpty)
    }

    @Test("Rule 5: held: told at once when another call takes the focus, and what was done to others stays")
    func swap() {
        var scenario = AudioScenario()
        let music = scenario.openActive(.music)
        scenario.call()
        let leaving = scenario.calls {
            $0.focus = nil
            $0.isFocusComing = true
        }
        #expect(leaving.calls == ["deactivated one"])
        let kept = scenario.asked?.plan.sessions.first
        #expect(kept?.id == .call && kept?.isInputOpen == false && kept?.others == .interrupt)
        #expect(scenario.serve().isEmpty)
        let coming = scenario.call(AudioScenario.focus("two", process: 600))
        #expect(coming.calls == ["activated two"] && coming.plans.count == 1)
        #expect(coming.plans.first?.sessions.map(\.id) == [.call])
        #expect(scenario.checks.interrupted == [music] && coming.notices(to: music).isEmpty)
    }

    @Test("Rule 5: straight from one call to another: deactivated, then activated, in one plan")
    func swapAtOnce() {
        var scenario = AudioScenario()
        scenario.call()
        let effects = scenario.call(AudioScenario.focus("two", process: 600))
        #expect(effects.calls == ["deactivated one", "activated two"] && effects.plans.count == 1)
    }

    @Test("Rule 5: between two calls of one handler there is nothing to ask of the server")
    func swapOfOneHandler() {
        var scenario = AudioScenario()
        scenario.call()
        var next = AudioScenario.focus("two")
        next.client = AudioScenario.focus().client
        #expect(scenario.call(next).calls == ["deactivated one", "activated two"])
    }

    @Test("Rule 5: the call that was to come does not: all is put back, and nothing more is told of the first")
    func swapFails() {
        var scenario = AudioScenario()
        let music = scenario.openActive(.music)
        scenario.call()
        scenario.calls {
            $0.focus = nil
            $0.isFocusComing = true
        }
        scenario.serve()
        let effects = scenario.calls { $0.isFocusComing = false } + scenario.serve()
        #expect(effects.calls.isEmpty && effects.notices(to: music) == [.interruptionEnded(shouldResume: true)])
        #expect(scenario.arbiter.plan.sessions.isEmpty && scenario.arbiter.call.state == .idle)
    }

    @Test("Rule 5: held and gone on with: each activation is followed by one deactivation before the next")
    func holdAndUnhold() {
        var scenario = AudioScenario()
        var told: [String] = []
        for _ in 0..<3 {
            told += scenario.call().calls
            told += (scenario.calls { $0.focus = nil } + scenario.serve()).calls
        }
        #expect(told == Array(repeating: ["activated one", "deactivated one"], count: 3).flatMap(\.self))
    }

    @Test("Rule 5: gone on with while the deactivation is under way: deactivated before it is activated again")
    func unheldMeanwhile() {
        var scenario = AudioScenario()
        scenario.call()
        scenario.calls { $0.focus = nil }
        let back = scenario.calls { $0.focus = AudioScenario.focus() }
        #expect(back.calls == ["deactivated one"])
        #expect(scenario.applied().calls.isEmpty, "that was the end of the former activation")
        #expect(scenario.applied().calls == ["activated one"])
    }

    @Test("Rule 6: muting changes the call's own streams alone, without another activation")
    func muted() {
        var scenario = AudioScenario()
        scenario.call()
        let effects = scenario.call(AudioScenario.focus(isMuted: true))
        #expect(effects.calls.isEmpty && effects.plans.count == 1)
        var expected = AudioScenario()
        expected.call()
        var plan = expected.arbiter.planInForce
        plan.sessions[0].isMuted = true
        #expect(effects.plans == [plan])
    }

    @Test("A configuration that changes in the call: the difference, the route if it moved, no other activation")
    func reconfigured() {
        var scenario = AudioScenario()
        scenario.call()
        let video = configuration(.playAndRecord, .videoChat)
        scenario.calls { $0.focus = AudioScenario.focus(as: video) }
        #expect(scenario.applied(AudioScenario.headset).calls == ["route one categoryChange"])
        scenario.calls { $0.focus = AudioScenario.focus() }
        #expect(scenario.applied().isEmpty, "the route has not moved")
    }

    @Test("An activation takes too long: told as failed, once; the call goes on; a late answer activates it, once")
    func late() {
        var scenario = CallSessionTests.activating()
        scenario.wait(.milliseconds(1_999))
        #expect(scenario.send(.deadlineReached).isEmpty)
        #expect(scenario.reachDeadline().calls == ["failed one mediaServicesFailed"])
        #expect(scenario.send(.deadlineReached).isEmpty)
        #expect(scenario.applied().calls == ["activated one"])
        #expect(scenario.hangUp().calls == ["deactivated one"])
    }

    @Test("Told as failed once: not again when the server refuses late, or is lost")
    func lateRefusal() {
        var scenario = CallSessionTests.activating()
        scenario.reachDeadline()
        var lost = scenario
        #expect(lost.send(.reported(.lost("it crashed"))).calls.isEmpty)
        #expect(scenario.refused().calls.isEmpty && scenario.arbiter.call.state == .failed(AudioScenario.focus()))
    }

    @Test("A late answer for a call that has ended activates nothing")
    func tooLate() {
        var scenario = CallSessionTests.activating()
        scenario.reachDeadline()
        scenario.calls { $0 = .none }
        #expect(scenario.serve().calls.isEmpty && scenario.arbiter.planInForce.isEmpty)
    }

    @Test("It ends while it is being activated: nothing is told of it, and all is put back")
    func endsWhileActivating() {
        var scenario = CallSessionTests.activating()
        let effects = scenario.hangUp()
        #expect(effects.calls.isEmpty && scenario.arbiter.planInForce.isEmpty)
    }

    @Test("Another call takes the focus while the first is being activated: only that one is activated")
    func overtaken() {
        var scenario = CallSessionTests.activating()
        scenario.calls { $0.focus = AudioScenario.focus("two", process: 600) }
        #expect(scenario.applied().calls.isEmpty, "that was the first one's")
        #expect(scenario.applied().calls == ["activated two"])
    }

    @Test("The server refuses: told with its code, the call goes on, and others are not kept silent for nothing")
    func refused() {
        var scenario = AudioScenario()
        let music = scenario.openActive(.music)
        scenario.calls {
            $0.isAnyCall = true
            $0.focus = AudioScenario.focus()
        }
        let effects = scenario.refused(.cannotStartRecording) + scenario.serve()
        #expect(effects.calls == ["failed one cannotStartRecording"])
        #expect(effects.notices(to: music) == [.interruptionEnded(shouldResume: true)])
        #expect(!scenario.arbiter.plan.sessions.contains { $0.id == .call })
        #expect(scenario.call(AudioScenario.focus(isMuted: true)).calls.isEmpty, "muting is no reason to try again")
        let moved = scenario.send(
            .reported(
                .routeChanged(
                    .newDeviceAvailable, previous: AudioScenario.speaker, current: AudioScenario.headset)))
        #expect((moved + scenario.serve()).calls == ["activated one"], "a microphone has come")
    }

    @Test("A refused change of an active call: it stays active as it was, and that is said, once")
    func changeRefused() {
        var scenario = AudioScenario()
        scenario.call()
        scenario.calls { $0.focus = AudioScenario.focus(isMuted: true) }
        let effects = scenario.refused()
        #expect(effects.calls.isEmpty && effects.count == 1 && !scenario.arbiter.activeCalls.isEmpty)
        #expect(scenario.asked == nil && scenario.send(.wokeFromSleep).plans.isEmpty)
        let moved = scenario.send(
            .reported(
                .routeChanged(
                    .newDeviceAvailable, previous: AudioScenario.speaker, current: AudioScenario.headset)))
        #expect(moved.plans.count == 1, "with another device it may do")
        scenario.refused()
        #expect(scenario.hangUp().calls == ["deactivated one"])
    }

    @Test("A refusal of what was under way when the call came is not the call's")
    func refusedBefore() {
        var scenario = AudioScenario()
        let id = scenario.openActive(.music)
        scenario.send(.outputOverridden(id, isSpeaker: true))
        scenario.calls {
            $0.isAnyCall = true
            $0.focus = AudioScenario.focus()
        }
        let effects = scenario.refused() + scenario.serve()
        #expect(effects.calls == ["activated one"])
    }

    @Test("The user changes what a call does to others while it goes on: those from before it are interrupted, or not")
    func settings() {
        var ducking = CallAudioSettings()
        ducking.others = .duck
        var scenario = AudioScenario(ducking)
        let before = scenario.openActive(.music)
        scenario.call()
        let beside = scenario.openActive(.mixable)
        scenario.send(.settingsChanged(CallAudioSettings()))
        scenario.serve()
        #expect(scenario.state(before) == .interrupted && scenario.state(beside) == .active)
        #expect(scenario.arbiter.planInForce.ducked.keys.sorted() == [beside])
        scenario.send(.settingsChanged(ducking))
        scenario.serve()
        #expect(scenario.state(before) == .interrupted, "it hears from the end of the call")
        #expect(scenario.hangUp().notices(to: before) == [.interruptionEnded(shouldResume: true)])
    }

    @Test("Another configuration is a reason to try again")
    func reconfiguredAfterRefusal() {
        var scenario = CallSessionTests.activating()
        scenario.refused()
        #expect(scenario.call(AudioScenario.focus(as: .music)).calls == ["activated one"])
        #expect(scenario.arbiter.planInForce.sessions.first?.isInputOpen == false)
    }

    @Test("A call's speaker: of the call in focus alone; gone with a change of the route and with the call")
    func speaker() {
        var scenario = AudioScenario()
        #expect(scenario.send(.outputOverridden(.call, isSpeaker: true)).refusals == [.sessionNotActive])
        scenario.call()
        scenario.send(.outputOverridden(.call, isSpeaker: true))
        #expect(scenario.asked?.plan.sessions.first?.isSpeakerForced == true)
        #expect(scenario.applied(AudioScenario.headset).calls == ["route one override"])
        scenario.send(
            .reported(
                .routeChanged(
                    .newDeviceAvailable, previous: AudioScenario.headset, current: AudioScenario.speaker)))
        #expect(scenario.asked?.plan.sessions.first?.isSpeakerForced == false)
        scenario.serve()
        scenario.send(.outputOverridden(.call, isSpeaker: true))
        scenario.serve()
        scenario.hangUp()
        scenario.call()
        #expect(scenario.arbiter.planInForce.sessions.first?.isSpeakerForced == false)
    }

    @Test("A client cannot ask for the call's session")
    func entitlement() {
        var scenario = AudioScenario()
        for id in [AudioSessionID.call, .ringing] {
            #expect(scenario.send(.activationRequested(id)).refusals == [.missingEntitlement])
            #expect(scenario.send(.opened(id, AudioClient(name: ""), hasLease: true)).refusals == [.badParam])
        }
    }
}
