import RingwakeCore
import Testing

@Suite("The transition table of a session, row by row")
struct AudioTransitionTests {
    @Test("Row 1: inactive, setActive(true), nothing in the way: ok when the server has acknowledged, and not before")
    func row1() {
        var scenario = AudioScenario()
        let id = scenario.open(.music)
        let begun = scenario.send(.activationRequested(id))
        #expect(begun.answers(to: id).isEmpty && scenario.state(id) == .activating)
        #expect(scenario.asked?.plan.sessions.map(\.id) == [id])
        #expect(scenario.asked?.plan.sessions.first?.others == .interrupt)
        let done = scenario.applied(AudioScenario.headset)
        #expect(scenario.state(id) == .active && scenario.arbiter.planInForce.sessions.map(\.id) == [id])
        #expect(
            done == [
                .notify(
                    id,
                    .routeChanged(
                        .categoryChange, previous: AudioScenario.speaker, current: AudioScenario.headset)),
                .answer(id, .success(AudioScenario.headset)),
            ])
    }

    @Test("Row 1: who is interrupted is told before the server is asked")
    func row1Order() throws {
        var scenario = AudioScenario()
        let first = scenario.openActive(.music)
        let second = scenario.open(.music)
        let begun = scenario.send(.activationRequested(second))
        let told = begun.firstIndex(of: .notify(first, .interruptionBegan(.default)))
        let asked = begun.firstIndex { if case .send(.apply) = $0 { true } else { false } }
        #expect(try #require(told) < #require(asked))
        #expect(begun.plans.first?.silenced.keys.contains(first) == true)
    }

    @Test("Row 2: a session of higher priority is active, and this one is not mixable: insufficientPriority")
    func row2() {
        var scenario = AudioScenario()
        scenario.call()
        let id = scenario.open(.recording)
        let effects = scenario.activate(id)
        #expect(effects.failures(of: id) == [.insufficientPriority] && effects.plans.isEmpty)
        #expect(scenario.state(id) == .inactive && !scenario.arbiter.activeCalls.isEmpty)
    }

    @Test("Row 3: no lease, not mixable: cannotInterruptOthers; mixable it may")
    func row3() {
        var scenario = AudioScenario()
        let id = scenario.open(.music, hasLease: false)
        let effects = scenario.activate(id)
        #expect(effects.failures(of: id) == [.cannotInterruptOthers] && effects.plans.isEmpty)
        #expect(scenario.state(id) == .inactive)
        scenario.send(.leaseChanged(id, hasLease: true))
        #expect(scenario.activate(id).answers(to: id).last?.isSuccess == true)
        scenario.send(.leaseChanged(id, hasLease: false))
        #expect(scenario.state(id) == .active, "who plays goes on in the background")
        let mixable = scenario.open(.mixable, hasLease: false)
        #expect(scenario.activate(mixable).answers(to: mixable).last?.isSuccess == true)
    }

    @Test(
        "Row 4: the server refuses: its code, rolled back, and who was interrupted is told of the end",
        arguments: [AudioSessionError.Code.resourceNotAvailable, .cannotStartRecording])
    func row4(code: AudioSessionError.Code) {
        var scenario = AudioScenario()
        let music = scenario.openActive(.music)
        let id = scenario.open(.recording)
        scenario.send(.activationRequested(id))
        let effects = scenario.refused(code)
        #expect(effects.failures(of: id) == [code] && scenario.state(id) == .inactive)
        #expect(effects.notices(to: music) == [.interruptionEnded(shouldResume: true)])
        #expect(scenario.state(music) == .interrupted, "it becomes active by its client alone")
        #expect(!scenario.arbiter.plan.sessions.contains { $0.id == id })
        scenario.serve()
        #expect(scenario.arbiter.planInForce == scenario.arbiter.plan)
    }

    @Test("Row 5: active, setActive(true): ok, and nothing is asked of the server")
    func row5() {
        var scenario = AudioScenario()
        let id = scenario.openActive(.ducking)
        let order = scenario.arbiter.sessions[id]?.machine.state.order
        let effects = scenario.send(.activationRequested(id))
        #expect(effects == [.answer(id, .success(AudioScenario.speaker))])
        #expect(scenario.arbiter.sessions[id]?.machine.state.order == order)
    }

    @Test("Row 6: active, setActive(false): undone first, then others are told", arguments: [true, false])
    func row6(notify: Bool) {
        var scenario = AudioScenario()
        let music = scenario.openActive(.music)
        let id = scenario.openActive(.speech)
        let begun = scenario.send(.deactivationRequested(id, notifiesOthers: notify))
        #expect(scenario.state(id) == .deactivating && begun.notices(to: music).isEmpty)
        #expect(scenario.asked?.resumes == notify && scenario.asked?.plan.sessions.isEmpty == true)
        let done = scenario.applied()
        #expect(done.answers(to: id) == [.success(AudioScenario.speaker)] && scenario.state(id) == .inactive)
        #expect(done.notices(to: music) == [.interruptionEnded(shouldResume: notify)])
        #expect(scenario.arbiter.plan.silenced.keys.sorted() == [music])
    }

    @Test("Row 7: active, setActive(false) while its streams run: isBusy, and yet inactive, and silent")
    func row7() {
        var scenario = AudioScenario()
        let id = scenario.openActive(.music)
        scenario.send(.deactivationRequested(id, notifiesOthers: true))
        let effects = scenario.applied(busy: [id])
        #expect(effects.failures(of: id) == [.isBusy] && scenario.state(id) == .inactive)
        #expect(effects.plans.isEmpty, "the server has silenced them already")
        #expect(scenario.arbiter.plan.silenced.keys.sorted() == [id])
        scenario.activate(id)
        #expect(scenario.arbiter.plan.silenced.isEmpty && scenario.state(id) == .active)
    }

    @Test("Row 8: inactive, setActive(false): ok, and nothing else")
    func row8() {
        var scenario = AudioScenario()
        let id = scenario.open(.music)
        let effects = scenario.send(.deactivationRequested(id, notifiesOthers: true))
        #expect(effects == [.answer(id, .success(AudioScenario.speaker))] && scenario.state(id) == .inactive)
    }

    @Test("Row 9: another session wins: told once, its own ducking undone, its streams silent")
    func row9() {
        var scenario = AudioScenario()
        let id = scenario.openActive(.ducking)
        let music = scenario.openActive(.music)
        #expect(scenario.arbiter.plan.ducked.keys.sorted() == [music])
        let effects = scenario.call()
        for session in [id, music] {
            #expect(effects.notices(to: session) == [.interruptionBegan(.default)])
            #expect(scenario.state(session) == .interrupted)
        }
        let plan = scenario.arbiter.planInForce
        #expect(plan.sessions.map(\.id) == [.call] && plan.ducked.isEmpty && plan.silenced.count == 2)
    }

    @Test("Row 10: the interrupter deactivates and notifies: told so, and not active by itself")
    func row10() {
        var scenario = AudioScenario()
        let id = scenario.openActive(.music)
        let other = scenario.openActive(.music)
        let effects = scenario.deactivate(other, notify: true)
        #expect(effects.notices(to: id) == [.interruptionEnded(shouldResume: true)])
        #expect(scenario.state(id) == .interrupted && !scenario.arbiter.plan.sessions.contains { $0.id == id })
        #expect(scenario.activate(id).answers(to: id).last?.isSuccess == true && scenario.state(id) == .active)
    }

    @Test("Row 11: the interrupter deactivates without notice: the end without resuming; dies: with")
    func row11() {
        var scenario = AudioScenario()
        let id = scenario.openActive(.music)
        let other = scenario.openActive(.music)
        var quiet = scenario
        #expect(quiet.deactivate(other, notify: false).notices(to: id) == [.interruptionEnded(shouldResume: false)])
        #expect(quiet.state(id) == .interrupted)
        let effects = scenario.send(.closed(other))
        #expect(effects.notices(to: id).isEmpty, "its effects are undone first")
        #expect(scenario.applied().notices(to: id) == [.interruptionEnded(shouldResume: true)])
    }

    @Test("Row 12: interrupted, setActive(true), allowed: active, and no end is told afterwards")
    func row12() {
        var scenario = AudioScenario()
        let id = scenario.openActive(.music)
        let other = scenario.openActive(.music)
        let effects = scenario.activate(id)
        #expect(effects.answers(to: id).last?.isSuccess == true && scenario.state(id) == .active)
        #expect(effects.notices(to: other) == [.interruptionBegan(.default)])
        #expect(scenario.deactivate(other).notices(to: id).isEmpty)
    }

    @Test("Row 13: interrupted, setActive(true), and the call that interrupted it goes on: insufficientPriority")
    func row13() {
        var scenario = AudioScenario()
        let id = scenario.openActive(.recording)
        scenario.call()
        let effects = scenario.activate(id)
        #expect(effects.failures(of: id) == [.insufficientPriority] && scenario.state(id) == .interrupted)
        #expect(scenario.hangUp().notices(to: id) == [.interruptionEnded(shouldResume: true)])
        #expect(scenario.activate(id).answers(to: id).last?.isSuccess == true)
    }

    @Test("Row 13: one that comes too late, when the next call is active, is told of the end of that one")
    func row13Late() {
        var scenario = AudioScenario()
        let id = scenario.openActive(.recording)
        scenario.call()
        #expect(scenario.hangUp().notices(to: id) == [.interruptionEnded(shouldResume: true)])
        scenario.call(AudioScenario.focus("two"))
        let effects = scenario.activate(id)
        #expect(effects.failures(of: id) == [.insufficientPriority] && scenario.state(id) == .interrupted)
        #expect(effects.notices(to: id) == [.interruptionBegan(.default)])
        #expect(scenario.activate(id).notices(to: id).isEmpty)
        #expect(scenario.hangUp().notices(to: id) == [.interruptionEnded(shouldResume: true)])
    }

    @Test("Row 14: interrupted, setActive(false): inactive, and no end is told later")
    func row14() {
        var scenario = AudioScenario()
        let id = scenario.openActive(.music)
        let other = scenario.openActive(.music)
        let effects = scenario.deactivate(id)
        #expect(effects.answers(to: id).last?.isSuccess == true && scenario.state(id) == .inactive)
        #expect(scenario.state(other) == .active)
        #expect(scenario.deactivate(other).notices(to: id).isEmpty)
    }

    @Test("Row 14: where its streams still run, they stay silent")
    func row14Silent() {
        var scenario = AudioScenario()
        let id = scenario.openActive(.music)
        _ = scenario.openActive(.music)
        scenario.send(.reported(.activity(running: [id], othersPlay: false)))
        scenario.deactivate(id)
        #expect(scenario.arbiter.plan.silenced.keys.sorted() == [id])
    }

    @Test("Row 15: the client's connection dies: gone, undone as with notice, what it asked for answered")
    func row15() {
        var scenario = AudioScenario()
        let id = scenario.openActive(.music)
        scenario.send(.deactivationRequested(id, notifiesOthers: false))
        scenario.send(.activationRequested(id))
        let effects = scenario.send(.closed(id))
        #expect(effects.failures(of: id) == [.expiredSession, .expiredSession])
        #expect(scenario.arbiter.sessions[id] == nil)
        scenario.serve()
        #expect(scenario.arbiter.planInForce.isEmpty)
        let other = scenario.openActive(.music)
        scenario.send(.closed(other))
        #expect(scenario.asked?.resumes == true && scenario.asked?.plan.isEmpty == true)
    }

    @Test("Row 15: dead while the server does something else: others are told when it is without the dead, not before")
    func row15Meanwhile() {
        var scenario = AudioScenario()
        let music = scenario.openActive(.music)
        let id = scenario.openActive(.music)
        scenario.send(.outputOverridden(id, isSpeaker: true))
        scenario.send(.closed(id))
        #expect(scenario.applied().notices(to: music).isEmpty)
        #expect(scenario.applied().notices(to: music) == [.interruptionEnded(shouldResume: true)])
    }

    @Test("Row 16: the server is gone: every session is told once; nothing is active; activating is refused")
    func row16() {
        var scenario = AudioScenario()
        let inactive = scenario.open(.music)
        let interrupted = scenario.openActive(.music)
        let active = scenario.openActive(.music)
        scenario.send(.deactivationRequested(active, notifiesOthers: true))
        let effects = scenario.send(.reported(.lost("it crashed")))
        for id in [inactive, interrupted, active] {
            #expect(effects.notices(to: id) == [.mediaServicesWereLost] && scenario.state(id) == .lost)
        }
        #expect(effects.answers(to: active).count == 1)
        #expect(scenario.activate(inactive).failures(of: inactive) == [.mediaServicesFailed])
        #expect(scenario.send(.reported(.unavailable("none"))).notices(to: active).isEmpty)
        #expect(scenario.deactivate(active).answers(to: active).last?.isSuccess == true)
        #expect(scenario.state(active) == .lost)
    }

    @Test("Row 17: the server is back: inactive, with its configuration; the client has to set active again")
    func row17() {
        var scenario = AudioScenario()
        let id = scenario.openActive(.speech)
        scenario.send(.reported(.lost("it crashed")))
        let effects = scenario.connect(AudioScenario.headset)
        #expect(effects.notices(to: id) == [.mediaServicesWereReset] && effects.plans.isEmpty)
        #expect(scenario.state(id) == .inactive && scenario.arbiter.sessions[id]?.configuration == .speech)
        #expect(scenario.activate(id).answers(to: id) == [.success(AudioScenario.headset)])
    }

    @Test("Row 18: the headset is pulled: route, then interruption; nothing is resumed, and no end follows")
    func row18() {
        var scenario = AudioScenario()
        scenario.connect(AudioScenario.headset)
        let id = scenario.openActive(.music)
        let chat = scenario.openActive(.mixableRecording)
        let moved = scenario.send(
            .reported(
                .routeChanged(
                    .oldDeviceUnavailable, previous: AudioScenario.headset, current: AudioScenario.speaker)))
        #expect(
            moved.notices(to: id) == [
                .routeChanged(
                    .oldDeviceUnavailable, previous: AudioScenario.headset, current: AudioScenario.speaker)
            ])
        let effects = scenario.send(.reported(.routeDisconnected))
        #expect(effects.notices(to: id) == [.interruptionBegan(.routeDisconnected)])
        #expect(scenario.state(id) == .interrupted && scenario.asked?.resumes == false)
        #expect(effects.notices(to: chat).isEmpty && scenario.state(chat) == .active, "not what records too")
        scenario.serve()
        #expect(scenario.activate(id).answers(to: id).last?.isSuccess == true)
    }

    @Test("Row 18: a call goes on on the next route")
    func row18Call() {
        var scenario = AudioScenario()
        scenario.connect(AudioScenario.headset)
        scenario.call()
        let effects = scenario.send(
            .reported(
                .routeChanged(
                    .oldDeviceUnavailable, previous: AudioScenario.headset, current: AudioScenario.speaker)))
        #expect(effects.calls == ["route one oldDeviceUnavailable"])
        scenario.send(.reported(.routeDisconnected))
        #expect(scenario.arbiter.activeCalls == [AudioScenario.key()])
    }

    @Test("Row 19: the built-in microphone is muted in hardware: interrupted until it is not")
    func row19() {
        var scenario = AudioScenario()
        let playing = scenario.openActive(.mixable)
        let deaf = scenario.openActive(
            configuration(.playAndRecord, .default, [.mixWithOthers, .overrideMutedMicrophoneInterruption]))
        let id = scenario.openActive(.mixableRecording)
        let effects = scenario.send(.reported(.microphoneMuted(true)))
        #expect(effects.notices(to: id) == [.interruptionBegan(.builtInMicMuted)])
        #expect(scenario.state(id) == .interrupted && scenario.asked?.resumes == false)
        #expect(scenario.state(playing) == .active && scenario.state(deaf) == .active)
        scenario.serve()
        #expect(scenario.send(.reported(.microphoneMuted(true))).isEmpty)
        #expect(
            scenario.send(.reported(.microphoneMuted(false))).notices(to: id)
                == [.interruptionEnded(shouldResume: true)])
        #expect(scenario.state(id) == .interrupted)
    }

    @Test("Row 19: muted again before the server has answered: the interruption goes on")
    func row19Again() {
        var scenario = AudioScenario()
        let id = scenario.openActive(.recording)
        for isMuted in [true, false, true] { scenario.send(.reported(.microphoneMuted(isMuted))) }
        #expect(scenario.serve().notices(to: id).isEmpty)
        #expect(
            scenario.send(.reported(.microphoneMuted(false))).notices(to: id)
                == [.interruptionEnded(shouldResume: true)])
    }

    @Test("Row 19: another microphone is not concerned")
    func row19Headset() {
        var scenario = AudioScenario()
        scenario.connect(AudioScenario.headset)
        let id = scenario.openActive(.recording)
        #expect(scenario.send(.reported(.microphoneMuted(true))).isEmpty && scenario.state(id) == .active)
    }

    @Test("Row 19: where the server does not say which microphone it is, it is taken to be the built-in one")
    func row19Unknown() {
        var scenario = AudioScenario()
        scenario.connect(AudioRoute())
        let id = scenario.openActive(.recording)
        #expect(
            scenario.send(.reported(.microphoneMuted(true))).notices(to: id) == [.interruptionBegan(.builtInMicMuted)])
    }
}
