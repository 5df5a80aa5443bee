import RingwakeCore
import Testing

@Suite("An incoming call, from its push to its end")
struct IncomingCallScenarioTests {
    @Test("A push wakes the handler, which reports; the user answers and hangs up; each effect comes once, in order")
    func answeredCall() throws {
        var scenario = Scenario()
        let key = scenario.key()

        let push = scenario.push(payload: #"{"a":1}"#)
        let woken = scenario.receive(push, PushFacts(update: CallUpdate(caller: "sip:unknown@example.org")))
        let request = try #require(woken.wakes.first)
        let wake = request.wake
        #expect(request.key == key && request.attempt == 1 && request.payload == Array(#"{"a":1}"#.utf8))
        #expect(request.kind == .call && request.receivedAt == scenario.now)
        #expect(request.reportBy == scenario.now.advanced(by: .seconds(5)))
        // The wake does not wait for the disk, and nobody hears of the call before the journal does.
        let journaled = try #require(woken.journaled.first)
        #expect(woken.count == 3 && woken.first == .wake(request) && woken.states == ["woken"])
        #expect(
            woken[1]
                == .journalPush(
                    journaled.push, payloads: [CallPayload(push: 0, bytes: push.payload)],
                    call: scenario.call()?.journalRecord))
        #expect(journaled.push.outcome == .started && journaled.call?.state == .woken)
        #expect(journaled.call?.update.caller == "sip:unknown@example.org")

        scenario.wait(.milliseconds(1))
        #expect(scenario.start(pid: 77).states.isEmpty && scenario.journal().isEmpty)
        #expect(scenario.call().map { scenario.coordinator.process(of: $0) } == 77)

        scenario.wait(.milliseconds(10))
        let update = CallUpdate(caller: "sip:alice@example.org", callerName: "Alice", hasVideo: true)
        #expect(scenario.send(.reported(key, update, ring: false, by: wake)).states == ["reported"])
        #expect(scenario.call()?.update == update)
        let confirmed = scenario.send(.ringConfirmed(key, by: wake))
        #expect(confirmed.states == ["confirmed"] && confirmed.ringsToJournal.count == 1)
        #expect(scenario.journalRing().states == ["ringing"])

        scenario.wait(.seconds(3))
        let answerBy = scenario.now.advanced(by: .seconds(10))
        let answering = scenario.send(.answerRequested(key))
        #expect(
            answering.states == ["answering"] && answering.last == .request(PendingAction(.answer, by: answerBy), key))
        #expect(scenario.send(.fulfilled(key, .answer, by: wake)).states == ["connected"])

        scenario.wait(.seconds(60))
        let endBy = scenario.now.advanced(by: .seconds(10))
        let ending = scenario.send(.endRequested(key))
        #expect(ending.states == ["ending"] && ending.last == .request(PendingAction(.end, by: endBy), key))
        let ended = scenario.send(.fulfilled(key, .end, by: wake))
        #expect(ended.states == ["ended"] && ended.last == .releaseHandler(wake) && ended.count == 2)
        #expect(scenario.state() == .ended(.localEnded, detail: nil))
        #expect(scenario.coordinator.active.isEmpty && scenario.coordinator.nextDeadline == nil)
        #expect(scenario.exit(wake).isEmpty && scenario.coordinator.lanes.isEmpty)
        #expect(
            scenario.stages() == [
                "received", "verified", "journaled", "woke", "reported", "rang", "answered", "connected", "hungUp",
                "ended",
            ])
    }

    @Test("A report with ring goes through reported and confirmed, so that listeners see each")
    func reportAndRing() {
        var scenario = Scenario()
        scenario.bring(to: .woken)
        let effects = scenario.report(ring: true)
        #expect(effects.states == ["reported", "confirmed"] && effects.ringsToJournal.count == 1)
        #expect(scenario.state()?.name == .confirmed)
    }

    @Test("The handler's report completes what the payload said of the caller")
    func callerFromPayloadAndReport() {
        var scenario = Scenario()
        scenario.receive(update: CallUpdate(caller: "sip:alice@example.org", callerName: "Al"))
        #expect(scenario.call()?.update.callerName == "Al")
        scenario.report(update: CallUpdate(callerName: "Alice", hasVideo: true))
        #expect(
            scenario.call()?.update
                == CallUpdate(caller: "sip:alice@example.org", callerName: "Alice", hasVideo: true))
    }

    @Test("A report that comes again changes nothing of what is known of the caller")
    func repeatedReport() {
        var scenario = Scenario()
        scenario.bring(to: .ringing)
        let before = scenario.coordinator
        #expect(scenario.report(update: CallUpdate(caller: "sip:mallory@example.org")).isEmpty)
        #expect(scenario.coordinator == before)
    }

    @Test("The same call id of another app is another call")
    func sameIDOfTwoApps() {
        var scenario = Scenario()
        scenario.bring(to: .ringing)
        let effects = scenario.receive(scenario.push(app: Scenario.otherApp))
        #expect(effects.wakes.count == 1)
        scenario.send(.handlerNotStarted(effects.wakes.first?.wake ?? WakeID(number: 0), why: "no such file"))
        #expect(scenario.state()?.name == .ringing)
        #expect(scenario.coordinator.call(scenario.key(app: Scenario.otherApp))?.machine.hasEnded == true)
    }

    @Test("The payload's call id names the call, and its ring time is how long it rings")
    func factsOfThePayload() {
        var scenario = Scenario()
        let push = scenario.push("8C1F5E5B-0000-4000-8000-000000000001")
        let facts = PushFacts(call: CallID("room-7"), ringTime: .seconds(20))
        #expect(scenario.receive(push, facts).wakes.first?.call == CallID("room-7"))
        #expect(scenario.call("room-7")?.machine.ringBefore == scenario.now.advanced(by: .seconds(20)))
        scenario.report("room-7", ring: true)
        scenario.journalRing("room-7")
        #expect(scenario.state("room-7") == .ringing(until: scenario.now.advanced(by: .seconds(20))))
    }

    @Test("Declining asks the handler to end; the reason stays declined however the handler takes it")
    func decline() {
        for way in ["fulfilled", "failed", "exits", "remote", "hangs"] {
            var scenario = Scenario()
            scenario.bring(to: .ringing)
            let (key, wake) = (scenario.key(), scenario.handler())
            #expect(scenario.send(.declineRequested(key)).states == ["ending"])
            scenario.wait(.seconds(way == "hangs" ? 10 : 1))
            let effects =
                switch way {
                case "fulfilled": scenario.send(.fulfilled(key, .end, by: wake))
                case "failed": scenario.send(.actionFailed(key, .end, by: wake))
                case "exits": scenario.exit(wake)
                case "remote": scenario.send(.remoteEnded(key, .remoteEnded, by: wake))
                default: scenario.send(.deadlineReached)
                }
            #expect(effects.states == ["ended"] && effects.missed.isEmpty, "\(way)")
            #expect(scenario.state()?.endReason == .declined, "\(way)")
        }
    }

    @Test("A call that nobody answers ends as unanswered after the ring time; its handler may tidy up")
    func unanswered() {
        var scenario = Scenario()
        scenario.bring(to: .ringing)
        let wake = scenario.handler()
        #expect(scenario.pass(.milliseconds(44_999)).isEmpty)
        let effects = scenario.pass(.milliseconds(1))
        #expect(effects.states == ["ended"] && effects.stops.isEmpty && effects.releases == [wake])
        #expect(scenario.state() == .ended(.unanswered, detail: nil))
    }

    @Test("The user may end a call that does not ring yet: its handler is asked to, and it never rings")
    func endBeforeRinging() {
        for name in [CallStateMachine.State.Name.woken, .reported, .confirmed] {
            var scenario = Scenario()
            scenario.bring(to: name)
            #expect(scenario.send(.endRequested(scenario.key())).states == ["ending"])
            #expect(scenario.journalRing().isEmpty)
            scenario.send(.fulfilled(scenario.key(), .end, by: scenario.handler()))
            #expect(scenario.state()?.endReason == .declined && !scenario.stages().contains("rang"))
        }
    }

    @Test("What does not fit the state is refused with the state, and changes nothing")
    func refusals() {
        for name in CallStateMachineTests.names where name != .queued {
            var scenario = Scenario()
            scenario.bring(to: name)
            let (key, wake) = (scenario.key(), scenario.handler())
            // A handler may say again what it has said.
            let confirmed: [CallStateMachine.State.Name] = [.confirmed, .ringing, .answering, .connected, .held]
            let events: [(Event, allowed: [CallStateMachine.State.Name])] = [
                (.reported(key, CallUpdate(), ring: true, by: wake), [.woken, .reported] + confirmed),
                (.ringConfirmed(key, by: wake), [.reported] + confirmed),
                (.answerRequested(key), [.ringing]),
                (.declineRequested(key), [.ringing]),
                (.endRequested(key), [.woken, .reported, .confirmed, .ringing, .answering, .connected, .held]),
                (.fulfilled(key, .answer, by: wake), [.answering, .connected, .held]),
                (.fulfilled(key, .hold, by: wake), [.held]),
                (.fulfilled(key, .end, by: wake), [.ending, .ended]),
                (.actionFailed(key, .answer, by: wake), [.answering, .ended]),
                (.actionFailed(key, .end, by: wake), [.ending, .ended]),
                (.remoteEnded(key, .failed, by: wake), CallStateMachine.State.Name.allCases),
            ]
            for (event, allowed) in events {
                var copy = scenario
                let effects = copy.send(event)
                #expect(effects.refusals.isEmpty == allowed.contains(name), "\(event) in \(name)")
                guard !allowed.contains(name), let state = scenario.state() else { continue }
                #expect(effects == [.refused(.wrongState(key, state))])
                #expect(copy.coordinator == scenario.coordinator)
            }
        }
    }

    @Test("An event for a call that is not there is refused")
    func unknownCall() {
        var scenario = Scenario()
        let key = scenario.key()
        for event: Event in [
            .reported(key, CallUpdate(), ring: true, by: nil), .ringConfirmed(key, by: nil), .answerRequested(key),
            .declineRequested(key), .endRequested(key), .fulfilled(key, .end, by: nil),
            .actionFailed(key, .end, by: nil), .remoteEnded(key, .failed, by: nil),
        ] {
            #expect(scenario.send(event) == [.refused(.unknownCall(key))])
        }
    }
}
