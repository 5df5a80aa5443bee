import RingwakeCore
import Testing

@Suite("What an app says of its own calls for the user")
struct SelfAnswerTests {
    private func entry(_ stage: TimelineEntry.Stage, _ scenario: Scenario) -> TimelineEntry? {
        scenario.call()?.timeline.first { $0.stage == stage }
    }

    @Test("It answers, mutes, holds, resumes, plays digits and hangs up; the timeline says that it was the app")
    func all() {
        var scenario = Scenario()
        scenario.bring(to: .ringing)
        let (key, wake) = (scenario.key(), scenario.handler())
        let requests: [(Event, CallAction)] = [
            (.answerRequested(key, by: wake), .answer), (.muteRequested(key, true, by: wake), .mute),
            (.holdRequested(key, true, by: wake), .hold), (.holdRequested(key, false, by: wake), .unhold),
            (.digitsRequested(key, "12#", by: wake), .dtmf), (.endRequested(key, by: wake), .end),
        ]
        for (event, action) in requests {
            #expect(scenario.send(event).requests == [action])
            #expect(scenario.send(.fulfilled(key, action, by: wake)).refusals.isEmpty)
        }
        #expect(scenario.state()?.endReason == .localEnded)
        #expect(entry(.answered, scenario)?.by == .app && entry(.hungUp, scenario)?.by == .app)
        #expect(entry(.rang, scenario)?.by == nil && entry(.reported, scenario)?.by == nil)
    }

    @Test("What the user says has no such note, whoever fulfils it; a call that the app declines does")
    func notes() {
        var scenario = Scenario()
        scenario.bring(to: .connected)
        #expect(entry(.answered, scenario)?.by == nil)
        var declined = Scenario()
        declined.bring(to: .ringing)
        declined.send(.declineRequested(declined.key(), by: declined.handler()))
        #expect(entry(.hungUp, declined)?.by == .app && declined.state()?.endReason == .declined)
    }

    @Test("An app that takes the line again and again is refused after a while, and the user is not")
    func pace() {
        var scenario = Scenario()
        scenario.bring("one", to: .held)
        scenario.bring("two", to: .connected)
        var (held, heard) = ("one", "two")
        for round in 0...10 {
            let effects = scenario.send(
                .holdRequested(scenario.key(held), false, others: .hold, by: scenario.handler(held)))
            guard round < 10 else {
                #expect(effects == [.refused(.tooManyPushes(Scenario.app))])
                break
            }
            scenario.send(.fulfilled(scenario.key(heard), .hold, by: scenario.handler(heard)))
            scenario.send(.fulfilled(scenario.key(held), .unhold, by: scenario.handler(held)))
            (held, heard) = (heard, held)
        }
        #expect(scenario.send(.holdRequested(scenario.key(held), false, others: .hold)).requests == [.hold])
    }

    @Test("What a reload takes away is taken away from a call that rings, too")
    func reload() {
        var scenario = Scenario()
        scenario.policy.autoAnswer = .seconds(5)
        var update = CallUpdate()
        update.answersItself = true
        scenario.receive()
        scenario.journal()
        scenario.start()
        scenario.report(ring: true, update: update)
        scenario.journalRing()
        #expect(scenario.call()?.answersItselfAt != nil)
        scenario.policy.maySelfAnswer = false
        scenario.policy.autoAnswer = nil
        scenario.send(.policiesChanged([Scenario.app: scenario.policy]))
        #expect(scenario.call()?.answersItselfAt == nil)
        let refused = scenario.send(.answerRequested(scenario.key(), by: scenario.handler()))
        #expect(refused == [.refused(.notForApp(scenario.key()))])
        #expect(scenario.pass(.seconds(6)).requests.isEmpty && scenario.state()?.name == .ringing)
    }

    @Test(
        "A call that its handler ends before it rings is missed: nobody declined it. A user who ends it then declines it",
        arguments: [CallStateMachine.State.Name.woken, .reported, .confirmed])
    func unseen(state: CallStateMachine.State.Name) {
        for isByApp in [true, false] {
            var scenario = Scenario()
            scenario.bring(to: state)
            let (key, wake) = (scenario.key(), scenario.handler())
            #expect(scenario.send(.endRequested(key, by: isByApp ? wake : nil)).requests == [.end])
            let ended = scenario.send(.fulfilled(key, .end, by: wake))
            #expect(ended.missed == (isByApp ? ["one"] : []) && ended.strikes.isEmpty)
            let end: CallStateMachine.State =
                isByApp
                ? .ended(.handlerFailed, detail: "the handler ended it before it rang")
                : .ended(.declined, detail: nil)
            #expect(scenario.state() == end)
            #expect(entry(.hungUp, scenario)?.by == (isByApp ? .app : nil))
        }
    }

    @Test("What a reload takes away is taken from a request that waits for others, too")
    func reloadWhileItWaits() {
        var scenario = Scenario()
        scenario.bring("one", to: .held)
        scenario.bring("two", to: .connected)
        let (one, two) = (scenario.key("one"), scenario.key("two"))
        scenario.send(.holdRequested(one, false, others: .hold, by: scenario.handler("one")))
        scenario.policy.maySelfAnswer = false
        scenario.send(.policiesChanged([Scenario.app: scenario.policy]))
        let effects = scenario.send(.fulfilled(two, .hold, by: scenario.handler("two")))
        #expect(effects.requests.isEmpty && scenario.state("one")?.name == .held)
    }

    @Test("A handler has no say in calls that it does not have")
    func foreign() {
        var scenario = Scenario()
        scenario.bring("one", to: .connected)
        scenario.bring("two", to: .ringing)
        let (key, wake) = (scenario.key("two"), scenario.handler("one"))
        let events: [Event] = [
            .answerRequested(key, by: wake), .declineRequested(key, by: wake), .endRequested(key, by: wake),
            .holdRequested(key, true, by: wake), .holdRequested(key, false, by: wake),
            .muteRequested(key, true, by: wake), .digitsRequested(key, "1", by: wake),
        ]
        let before = scenario.coordinator
        for event in events { #expect(scenario.send(event) == [.refused(.notOwned(key))]) }
        #expect(scenario.coordinator == before)
    }

    @Test("An app that is not trusted may do all but let the microphone be heard")
    func policy() {
        var scenario = Scenario()
        scenario.policy.maySelfAnswer = false
        scenario.bring(to: .ringing)
        let (key, wake) = (scenario.key(), scenario.handler())
        #expect(scenario.send(.answerRequested(key, by: wake)) == [.refused(.notForApp(key))])
        #expect(scenario.state()?.name == .ringing)
        #expect(scenario.send(.answerRequested(key)).requests == [.answer])
        scenario.send(.fulfilled(key, .answer, by: wake))
        #expect(scenario.send(.muteRequested(key, true, by: wake)).requests == [.mute])
        scenario.send(.fulfilled(key, .mute, by: wake))
        #expect(scenario.send(.muteRequested(key, false, by: wake)) == [.refused(.notForApp(key))])
        #expect(scenario.send(.holdRequested(key, true, by: wake)).requests == [.hold])
        scenario.send(.fulfilled(key, .hold, by: wake))
        #expect(scenario.send(.holdRequested(key, false, by: wake)) == [.refused(.notForApp(key))])
        let out = OutgoingCall(scenario.key("out"), CallUpdate(caller: "bob"), wallClock: 1)
        #expect(scenario.send(.startRequested(out, scenario.policy, by: wake)) == [.refused(.notForApp(out.key))])
        let sos = OutgoingCall(scenario.key("sos"), CallUpdate(caller: "112"), wallClock: 1, isEmergency: true)
        #expect(scenario.send(.startRequested(sos, scenario.policy, by: wake)).refusals.isEmpty)
        #expect(scenario.send(.endRequested(key, by: wake)).requests == [.end])
    }

    @Test("Calls of other apps are held for an app that answers, and never ended; the user goes first")
    func otherApps() {
        var scenario = Scenario()
        let theirs = scenario.key("theirs", app: Scenario.otherApp)
        scenario.send(.handlerConnected(Scenario.otherApp, nil, pid: 1, scenario.policy))
        scenario.receive(scenario.push("theirs", app: Scenario.otherApp))
        let other = scenario.coordinator.call(theirs)?.handler
        scenario.send(.reported(theirs, CallUpdate(), ring: true, by: other))
        scenario.send(.ringJournaled(theirs, number: scenario.coordinator.call(theirs)?.number ?? 0, isKnown: false))
        scenario.send(.answerRequested(theirs))
        scenario.bring("one", to: .ringing)
        let (key, wake) = (scenario.key(), scenario.handler())
        // It is being answered, so it can't be held.
        #expect(scenario.send(.answerRequested(key, others: .end, by: wake)) == [.refused(.othersStay(key))])
        scenario.send(.fulfilled(theirs, .answer, by: other))
        #expect(scenario.send(.answerRequested(key, others: .end, by: wake)).requests == [.hold])
        #expect(scenario.coordinator.call(theirs)?.machine.state.name == .connected)
        // The user answers a third one: the app's request gives way.
        scenario.bring("two", to: .ringing)
        let user = scenario.send(.answerRequested(scenario.key("two"), others: .end))
        #expect(user.contains(.othersStayed(key)) && user.requests == [.end])
    }

    @Test("The user goes before what an app asked for and still waits: also before a call that it begins, or resumes")
    func userFirst() {
        for isResumed in [false, true] {
            var scenario = Scenario()
            scenario.bring("mine", to: isResumed ? .held : .ended)
            scenario.bring("one", to: .connected)
            scenario.bring("two", to: .ringing)
            if isResumed {
                let mine = scenario.key("mine")
                scenario.send(.holdRequested(mine, false, by: scenario.handler("mine")))
                #expect(scenario.send(.holdRequested(mine, true)).refusals.isEmpty)
                #expect(!scenario.coordinator.waitsForOthers(mine))
            } else {
                let out = OutgoingCall(scenario.key("out"), CallUpdate(caller: "bob"), wallClock: 1)
                scenario.send(.startRequested(out, scenario.policy, by: WakeID(number: 99)))
                #expect(scenario.send(.answerRequested(scenario.key("two"))).refusals.isEmpty)
                #expect(scenario.state("out")?.endReason == .failed)
            }
        }
    }

    @Test("A handler ends no emergency call that it does not have, and what it ends says so")
    func emergencies() {
        var scenario = Scenario(.call)
        scenario.bring("one", to: .connected)
        let wake = scenario.handler("one")
        let sos = OutgoingCall(scenario.key("sos"), CallUpdate(caller: "112"), wallClock: 1, isEmergency: true)
        scenario.send(.startRequested(sos, scenario.policy, by: nil))
        scenario.bring("two", to: .ringing)
        let two = scenario.key("two")
        let refused = scenario.send(.answerRequested(two, others: .end, by: scenario.handler("two")))
        #expect(refused == [.refused(.othersStay(two))])
        let other = OutgoingCall(scenario.key("other"), CallUpdate(caller: "911"), wallClock: 1, isEmergency: true)
        #expect(scenario.send(.startRequested(other, scenario.policy, by: wake)) == [.refused(.othersStay(other.key))])
        var own = Scenario()
        own.bring("one", to: .connected)
        own.bring("two", to: .ringing)
        own.send(.answerRequested(own.key("two"), others: .end, by: own.handler("two")))
        #expect(own.call("one")?.timeline.first { $0.stage == .hungUp }?.by == .app)
    }

    @Test("During a cellular call no app lets the microphone be heard, unless the device can do both")
    func cellular() {
        for rule in [CellularPolicy.hold, .keep] {
            var scenario = Scenario()
            scenario.policy.whenCellular = rule
            scenario.bring(to: .held)
            scenario.send(.cellularChanged(isActive: true))
            let key = scenario.key()
            let effects = scenario.send(.holdRequested(key, false, by: scenario.handler()))
            #expect(effects.refusals == (rule == .hold ? [.cellularCall(key)] : []))
        }
    }

    @Test("A held call is resumed when the user hangs up, and not when an app ends its call")
    func resume() {
        for isByApp in [false, true] {
            var scenario = Scenario()
            scenario.bring("held", to: .held)
            scenario.bring("one", to: .connected)
            scenario.send(.endRequested(scenario.key(), by: isByApp ? scenario.handler() : nil))
            let ended = scenario.send(.fulfilled(scenario.key(), .end, by: scenario.handler()))
            #expect(ended.requests == (isByApp ? [] : [.unhold]))
        }
    }

    @Test("A restarted daemon knows that the app answered")
    func stored() throws {
        var scenario = Scenario()
        scenario.bring(to: .ringing)
        scenario.send(.answerRequested(scenario.key(), by: scenario.handler()))
        scenario.send(.fulfilled(scenario.key(), .answer, by: scenario.handler()))
        let record = try #require(scenario.call()).journalRecord
        #expect(try SnapshotTests.written(record).timeline == record.timeline)
        #expect(record.timeline.contains { $0.stage == .answered && $0.by == .app })
    }
}
