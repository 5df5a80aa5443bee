import RingwakeCore
import Testing

@Suite("What the journal says: a call rings only once that is durable, and a repeat brings what is not")
struct JournalAnswerTests {
    @Test("It rings only after the journal has it: what is recorded is the request to ring")
    func ringsAfterTheJournal() throws {
        var scenario = Scenario()
        scenario.bring(to: .reported)
        let effects = scenario.send(.ringConfirmed(scenario.key(), by: scenario.handler()))
        let record = try #require(effects.ringsToJournal.first)
        #expect(record.state == .confirmed && record.mayHaveRung && record.number == scenario.number())
        #expect(scenario.state()?.name == .confirmed && !scenario.stages().contains("rang"))
        #expect(scenario.send(.answerRequested(scenario.key())).refusals.count == 1, "nobody can answer yet")
        scenario.wait(.milliseconds(20))
        #expect(scenario.journalRing().states == ["ringing"])
        #expect(scenario.call()?.record.time(of: .rang) == scenario.now)
        #expect(scenario.journalRing().isEmpty, "a second time changes nothing")
    }

    @Test("While the journal is being asked, no other record takes back that the call rings")
    func recordsMeanwhile() {
        var scenario = Scenario()
        scenario.bring(to: .confirmed)
        #expect(scenario.receive("more", call: "one").journaled.first?.call?.mayHaveRung == true)
        scenario.send(.ringNotJournaled(scenario.key(), number: scenario.number()))
        #expect(
            scenario.receive("again", call: "one").journaled.first?.call?.mayHaveRung == false, "it is not being asked")
        let ended = scenario.receive("x", call: "one", cancel: .cancelled)
        #expect(ended.journaled.first?.call?.mayHaveRung == false, "nobody was disturbed")
    }

    @Test("The journal fails: asked again after half a second, it rings when that succeeds")
    func retry() throws {
        var scenario = Scenario()
        scenario.bring(to: .confirmed)
        #expect(scenario.send(.ringNotJournaled(scenario.key(), number: scenario.number())).isEmpty)
        #expect(scenario.pass(.milliseconds(499)).isEmpty)
        let effects = scenario.pass(.milliseconds(1))
        #expect(effects.ringsToJournal.count == 1 && effects.states.isEmpty)
        #expect(scenario.journalRing().states == ["ringing"])
    }

    @Test("The journal fails until the deadline, or says nothing: the call ends as failed and its handler is stopped")
    func neverJournaled() {
        for answers in [true, false] {
            var scenario = Scenario()
            scenario.bring(to: .confirmed)
            let wake = scenario.handler()
            var effects: [Effect] = []
            for _ in 0..<10 {
                if answers { effects += scenario.send(.ringNotJournaled(scenario.key(), number: scenario.number())) }
                effects += scenario.pass(.milliseconds(500))
            }
            #expect(effects.ringsToJournal.count == (answers ? 9 : 0))
            #expect(effects.states == ["ended"] && effects.stops == [wake] && effects.strikes.isEmpty)
            #expect(scenario.state()?.endReason == .failed && effects.missed == ["one"])
            #expect(scenario.journalRing().isEmpty && !scenario.stages().contains("rang"))
        }
    }

    @Test("What the journal says of another number is of another call, and changes nothing")
    func otherNumber() {
        var scenario = Scenario()
        scenario.bring(to: .confirmed)
        let before = scenario.coordinator
        let (key, other) = (scenario.key(), scenario.number() + 1)
        for isKnown in [true, false] {
            #expect(scenario.send(.ringJournaled(key, number: other, isKnown: isKnown)).isEmpty)
            #expect(scenario.send(.pushJournaled(key, number: other, isKnown: isKnown)).isEmpty)
        }
        #expect(scenario.send(.ringNotJournaled(key, number: other)).isEmpty)
        #expect(scenario.send(.ringJournaled(scenario.key("nobody"), number: 1, isKnown: false)).isEmpty)
        #expect(scenario.coordinator == before)
    }

    @Test("The commit failed and the sender repeats its push: the repeat adopts the running call, whole")
    func repeatAdopts() throws {
        var scenario = Scenario()
        scenario.receive(payload: "{1}")
        scenario.report(ring: false)
        let effects = scenario.receive(payload: "{1}")
        let journaled = try #require(effects.journaled.first)
        #expect(effects.count == 2 && effects.wakes.isEmpty && journaled.push.outcome == .started)
        #expect(journaled.payload == Array("{1}".utf8) && journaled.call == scenario.call()?.journalRecord)
        #expect(journaled.call?.state == .reported)
        #expect(scenario.journal().isEmpty && scenario.call()?.isJournaled == true)
        let again = scenario.receive(payload: "{1}")
        #expect(again.outcomes == [.duplicate] && again.journaled.first?.payload == [])
    }

    @Test("An update of a call that is not durable yet brings the call along")
    func updateAdopts() {
        var scenario = Scenario()
        scenario.receive("push-a", call: "call", payload: "{1}")
        let effects = scenario.receive("push-b", call: "call", payload: "{2}")
        #expect(effects.outcomes == [.started] && effects.journaled.first?.payload == Array("{2}".utf8))
        #expect(effects.journaled.first?.call?.number == scenario.number("call"))
    }

    @Test("The commit failed and the call ended before the repeat: the repeat brings how it ended")
    func repeatAfterTheEnd() {
        var scenario = Scenario()
        scenario.receive()
        scenario.exit(scenario.handler())
        let effects = scenario.receive()
        #expect(effects.outcomes == [.started] && effects.journaled.first?.call == scenario.call()?.record)
        #expect(effects.journaled.first?.call?.state == .ended && effects.wakes.isEmpty)
        scenario.journal()
        #expect(scenario.receive().outcomes == [.duplicate] && scenario.receive().journaled.first?.call == nil)
    }

    @Test(
        "The journal knows the call from long ago: it never rings, nobody misses it, its handler is stopped",
        arguments: [CallStateMachine.State.Name.woken, .reported, .confirmed])
    func knownPush(name: CallStateMachine.State.Name) {
        var scenario = Scenario()
        scenario.receive()
        if name != .woken { scenario.report(ring: name == .confirmed) }
        let wake = scenario.handler()
        let effects = scenario.journal(isKnown: true)
        #expect(effects.states == ["ended"] && effects.missed.isEmpty && effects.strikes.isEmpty)
        #expect(effects.stops == [wake] && scenario.state()?.endReason == .cancelled)
        #expect(scenario.journalRing().isEmpty && !scenario.stages().contains("rang"))
        #expect(!scenario.stages().contains("journaled"))
    }

    @Test("A call that the journal knows is found out at the ring, at the latest")
    func knownRing() {
        var scenario = Scenario()
        scenario.receive()
        scenario.report(ring: true)
        let wake = scenario.handler()
        let effects = scenario.journalRing(isKnown: true)
        #expect(effects.states == ["ended"] && effects.missed.isEmpty && effects.stops == [wake])
        #expect(!scenario.stages().contains("rang"))
    }

    @Test("A waiting call that the journal knows is not handed over; the busy handler is not stopped")
    func knownWhileWaiting() {
        var scenario = Scenario(.app)
        scenario.bring("busy", to: .connected)
        scenario.receive()
        let effects = scenario.journal(isKnown: true)
        #expect(effects.states == ["ended"] && effects.missed.isEmpty && effects.stops.isEmpty)
        #expect(scenario.lane?.waiting == [])
        #expect(scenario.exit(scenario.handler("busy")).wakes.map(\.call.rawValue) == ["busy"], "to be claimed")
    }

    @Test("The journal may take a push after its call's end: the call is durable then, and nothing else changes")
    func journaledAfterTheEnd() {
        var scenario = Scenario()
        scenario.receive()
        scenario.exit(scenario.handler())
        let state = scenario.state()
        #expect(scenario.journal().isEmpty && scenario.call()?.isJournaled == true && scenario.state() == state)
    }

    @Test("What the journal has of an old call takes the place of its late repeat, and the next repeat wakes nobody")
    func corrected() throws {
        var old = Scenario()
        old.bring(to: .ringing)
        old.send(.remoteEnded(old.key(), .remoteEnded, by: nil))
        let record = try #require(old.coordinator.call(old.key())).journalRecord

        var scenario = Scenario()
        scenario.now = old.now.advanced(by: .seconds(7200))
        scenario.receive(scenario.push())
        scenario.journal(isKnown: true)
        #expect(scenario.coordinator.call(scenario.key())?.machine.state.endReason == .cancelled)
        scenario.coordinator.correct(record)
        let call = try #require(scenario.coordinator.call(scenario.key()))
        #expect(call.machine.state.endReason == .remoteEnded && call.record.hasRung)
        #expect(scenario.receive(scenario.push()).wakes.isEmpty)

        // A call that runs is never taken back.
        var running = Scenario()
        running.bring(to: .ringing)
        running.coordinator.correct(record)
        #expect(running.coordinator.call(running.key())?.machine.state.name == .ringing)
    }
}
