import RingwakeCore
import Testing

@Suite("What calls need of audio, and what is known of it")
struct CallAudioTests {
    private static let route = AudioRoute(outputs: [AudioPort(kind: .other, device: "null", name: "Null")])

    private func needs(_ scenario: Scenario, after former: CallAudioNeeds = .none) -> CallAudioNeeds {
        scenario.coordinator.audioNeeds(after: former) { [Int32(clamping: $0.number) + 100] }
    }

    @Test("A call is in focus from its fulfilled answer to its end, and while its handler ends it")
    func focus() {
        let steps: [(CallStateMachine.State.Name, isFocus: Bool, isAny: Bool, isRinging: Bool, isComing: Bool)] = [
            (.woken, false, false, false, false), (.reported, false, true, false, false),
            (.confirmed, false, true, false, false), (.ringing, false, true, true, false),
            (.answering, false, true, false, true), (.connected, true, true, false, false),
            (.held, false, true, false, false), (.ended, false, false, false, false),
        ]
        for step in steps {
            var scenario = Scenario()
            scenario.bring("one", to: step.0)
            let needs = needs(scenario)
            #expect((needs.focus != nil) == step.isFocus, "\(step.0)")
            #expect(needs.isAnyCall == step.isAny, "\(step.0)")
            #expect(needs.isRinging == step.isRinging, "\(step.0)")
            #expect(needs.isFocusComing == step.isComing, "\(step.0)")
        }
        var scenario = Scenario()
        scenario.bring("one", to: .connected)
        let connected = needs(scenario)
        scenario.send(.endRequested(scenario.key("one")))
        #expect(needs(scenario, after: connected).focus == connected.focus)
        #expect(needs(scenario).focus == nil, "a held call that is being ended is not in focus for it")
        scenario.send(.fulfilled(scenario.key("one"), .end, by: scenario.handler("one")))
        #expect(needs(scenario, after: connected) == .none)
    }

    @Test("A swap has a focus that is coming all the time between the one and the other")
    func swap() {
        var scenario = SeveralCallsTests.waiting()
        let (one, two) = (scenario.key("one"), scenario.key("two"))
        let first = needs(scenario)
        #expect(first.focus?.call == one && first.exempt == [Int32(clamping: scenario.number("two")) + 100])
        scenario.send(.answerRequested(two))
        let waits = needs(scenario, after: first)
        #expect(waits.focus?.call == one && waits.isFocusComing)
        scenario.send(.fulfilled(one, .hold, by: scenario.handler("one")))
        let between = needs(scenario, after: waits)
        #expect(between.focus == nil && between.isFocusComing)
        scenario.send(.fulfilled(two, .answer, by: scenario.handler("two")))
        #expect(needs(scenario, after: between).focus?.call == two)
    }

    @Test("A call that lost its handler is not in focus, and comes back with the claim")
    func lost() {
        var scenario = Scenario()
        scenario.bring("one", to: .connected)
        let former = needs(scenario)
        scenario.exit(scenario.handler("one"), .signalled(9))
        let lost = needs(scenario, after: former)
        #expect(lost.focus == nil && lost.isFocusComing && lost.isAnyCall)
        let wake = scenario.call("one")?.handler ?? WakeID(number: 0)
        scenario.send(.handlerStarted(wake, pid: 9))
        #expect(needs(scenario, after: lost).focus == nil)
        scenario.send(.claimed(scenario.key("one"), by: wake))
        #expect(needs(scenario, after: lost).focus?.call == scenario.key("one"))
        #expect(!needs(scenario, after: lost).isFocusComing)
    }

    @Test("The configuration is the handler's, with its answer or alone; else that of a call with or without video")
    func configuration() throws {
        var scenario = Scenario()
        scenario.bring("one", to: .ringing)
        scenario.send(.answerRequested(scenario.key("one")))
        let spoken = try AudioSessionConfiguration(.playAndRecord, mode: .default, options: [.defaultToSpeaker])
        let (key, wake) = (scenario.key("one"), scenario.handler("one"))
        let early = scenario.send(.fulfilled(key, .hold, by: wake, audio: spoken))
        #expect(early.refusals.count == 1 && scenario.call("one")?.audioConfiguration == nil)
        scenario.send(.fulfilled(key, .answer, by: wake, audio: spoken))
        #expect(needs(scenario).focus?.configuration == spoken)
        let mixing = try AudioSessionConfiguration(.playAndRecord, options: [.mixWithOthers])
        let noted = scenario.send(.audioConfigured(key, mixing, by: wake))
        #expect(noted.count == 1 && noted.states.isEmpty && needs(scenario).focus?.configuration == mixing)
        #expect(scenario.send(.audioConfigured(key, mixing, by: WakeID(number: 99))).refusals == [.notOwned(key)])

        var video = Scenario()
        video.receive("one")
        video.journal("one")
        video.start("one")
        video.report("one", update: CallUpdate(hasVideo: true))
        #expect(video.call("one")?.sessionConfiguration.mode == .videoChat)
        #expect(scenario.call("one")?.sessionConfiguration.mode == .default)
    }

    @Test("An activation is counted, stands in the timeline once, and is told")
    func told() {
        var scenario = Scenario()
        scenario.bring("one", to: .connected)
        let key = scenario.key("one")
        let first = scenario.send(.audioChanged(key, .activated(Self.route)))
        #expect(first.count == 2 && first.states.isEmpty)
        #expect(scenario.call("one")?.audio?.activation == 1 && scenario.call("one")?.audio?.isActive == true)
        #expect(scenario.send(.audioChanged(key, .activated(Self.route))).isEmpty)
        #expect(scenario.send(.audioChanged(key, .deactivated)).count == 2)
        #expect(scenario.send(.audioChanged(key, .deactivated)).isEmpty)
        scenario.pass(.seconds(1))
        scenario.send(.audioChanged(key, .activated(Self.route)))
        #expect(scenario.call("one")?.audio?.activation == 2)
        #expect(scenario.call("one")?.record.timeline.filter { $0.stage == .audioActive }.count == 1)
        let error = AudioSessionError(.mediaServicesFailed, "gone")
        scenario.send(.audioChanged(key, .failed(error)))
        #expect(scenario.call("one")?.audio?.phase == .failed(error) && scenario.state("one")?.name == .connected)
    }

    @Test("When the user hangs up, the one call that is held goes on; not after the other side did, nor of two")
    func resume() {
        /// `one` is held, `two` connected.
        func swapped(_ more: (inout Scenario) -> Void = { _ in }) -> Scenario {
            var scenario = Scenario()
            scenario.bring("one", to: .held)
            more(&scenario)
            scenario.bring("two", to: .connected)
            return scenario
        }
        func end(_ scenario: inout Scenario, _ id: String) -> [Effect] {
            let key = scenario.key(id)
            scenario.send(.endRequested(key))
            return scenario.send(.fulfilled(key, .end, by: scenario.handler(id)))
        }
        var byUser = swapped()
        #expect(end(&byUser, "two").requests == [.unhold])
        var byPeer = swapped()
        let two = byPeer.key("two")
        #expect(byPeer.send(.remoteEnded(two, .remoteEnded, by: byPeer.handler("two"))).requests.isEmpty)
        var ofTwo = swapped { $0.bring("three", to: .held) }
        #expect(end(&ofTwo, "two").requests.isEmpty)
        var heldOne = swapped { $0.bring("three", to: .held) }
        #expect(end(&heldOne, "three").requests.isEmpty, "the one that was ended was not the one that was talked in")
        var cellular = swapped { $0.policy.whenCellular = .keep }
        cellular.send(.cellularChanged(isActive: true))
        #expect(end(&cellular, "two").requests.isEmpty)
    }

    @Test("After a restart no audio is active, and no number comes again, also where the last one was not written down")
    func restored() throws {
        var scenario = Scenario()
        scenario.bring("one", to: .connected)
        let before = try #require(scenario.call("one"))
        scenario.send(.audioChanged(scenario.key("one"), .activated(Self.route)))
        let told = try #require(scenario.call("one"))
        for call in [before, told] {
            var later = Scenario()
            later.send(.restored(StoredCall(call), later.policy))
            #expect(later.call("one")?.audio?.phase == .inactive)
            later.send(.audioChanged(call.key, .activated(Self.route)))
            #expect(try #require(later.call("one")?.audio?.activation) > 1)
        }
        var ringing = Scenario()
        ringing.bring("one", to: .ringing)
        var later = Scenario()
        later.send(.restored(StoredCall(try #require(ringing.call("one"))), later.policy))
        #expect(later.call("one")?.audio == nil, "nothing was to be active yet")
    }
}
