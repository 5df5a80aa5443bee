import RingwakeCore
import Testing

@Suite("No call rings at or after the instant from which on its push is worthless")
struct ExpiryTests {
    @Test("Expired on arrival: nobody is woken, and the call is recorded as missed")
    func onArrival() {
        var scenario = Scenario()
        let effects = scenario.receive(expiration: .at(scenario.now))
        #expect(effects.outcomes == [.expired] && effects.states == ["ended"] && effects.missed == ["one"])
        #expect(effects.wakes.isEmpty && effects.journaled.first?.payload == [])
        #expect(effects.journaled.first?.call?.reason == .expired && scenario.coordinator.lanes.isEmpty)
        // Not durable yet: its repeat is recorded as expired too; then as a repeat.
        #expect(scenario.receive().outcomes == [.expired])
        scenario.journal()
        #expect(scenario.receive().outcomes == [.duplicate])
    }

    @Test("One attempt: the call is woken, and worth ringing for the ring time")
    func oneAttempt() {
        var scenario = Scenario()
        #expect(scenario.receive(expiration: .oneAttempt).wakes.count == 1)
        #expect(scenario.call()?.isOneAttempt == true)
        #expect(scenario.call()?.machine.ringBefore == scenario.now.advanced(by: .seconds(45)))
    }

    @Test("Without an expiration a call is worth ringing for the ring time, from when it was sent, not for 30 days")
    func withoutExpiration() {
        var scenario = Scenario()
        scenario.receive()
        #expect(scenario.call()?.machine.ringBefore == scenario.now.advanced(by: .seconds(45)))
        let sent = scenario.now.advanced(by: .seconds(-40))
        scenario.receive(scenario.push("two"), PushFacts(sentAt: sent))
        #expect(scenario.call("two")?.machine.ringBefore == scenario.now.advanced(by: .seconds(5)))
        let long = scenario.now.advanced(by: .seconds(-50))
        #expect(scenario.receive(scenario.push("three"), PushFacts(sentAt: long)).outcomes == [.expired])
        scenario.receive(scenario.push("four"), PushFacts(sentAt: long, ringTime: .seconds(60)))
        #expect(scenario.call("four")?.machine.ringBefore == scenario.now.advanced(by: .seconds(10)))
    }

    @Test("Too late: its payload says so, or it waited at a gateway while the device was away or asleep")
    func lateness() {
        var scenario = Scenario()
        let waited = scenario.push("one")
        scenario.wait(.seconds(50))
        let sent = scenario.now.advanced(by: .seconds(-60))
        let why = { (effects: [Effect]) in effects.journaled.first?.call?.detail }
        #expect(
            why(scenario.receive(waited))
                == "its push came 50 s after a gateway had accepted it, longer than its ring time")
        #expect(
            why(scenario.receive(scenario.push("two"), PushFacts(sentAt: sent)))
                == "its payload says that the call began 60 s before it arrived, longer than its ring time")
    }

    @Test("An expiration counts whatever the payload says of the sending")
    func expirationWins() {
        var scenario = Scenario()
        let instant = scenario.now.advanced(by: .seconds(300))
        let facts = PushFacts(sentAt: scenario.now.advanced(by: .seconds(-100)), ringTime: .seconds(20))
        scenario.receive(scenario.push(expiration: .at(instant)), facts)
        #expect(scenario.call()?.machine.ringBefore == instant)
    }

    @Test("While it waits for a busy handler: missed, without a strike")
    func whileWaiting() {
        var scenario = Scenario(.app)
        scenario.bring("busy", to: .connected)
        scenario.receive(expiration: .at(scenario.now.advanced(by: .seconds(20))))
        #expect(scenario.pass(.milliseconds(19_999)).isEmpty)
        let effects = scenario.pass(.milliseconds(1))
        #expect(effects.states == ["ended"] && effects.missed == ["one"] && effects.strikes.isEmpty)
        #expect(effects.stops.isEmpty && scenario.lane?.waiting == [])
        #expect(
            scenario.state() == .ended(.expired, detail: "the app's handler was busy and did not fetch it in time"))
    }

    @Test("While its handler wakes: it never rings, its handler is stopped, and that is no strike")
    func whileWaking() {
        var scenario = Scenario()
        let expiration = scenario.now.advanced(by: .seconds(2))
        #expect(scenario.receive(expiration: .at(expiration)).wakes.first?.reportBy == expiration)
        let wake = scenario.handler()
        #expect(scenario.coordinator.nextDeadline == expiration)
        scenario.wait(.seconds(2))
        // The report comes in the same instant: the deadline is done first.
        let effects = scenario.report(ring: true)
        #expect(effects.stops == [wake] && effects.states == ["ended"] && effects.missed == ["one"])
        #expect(effects.refusals == [.wrongState(scenario.key(), .ended(.expired, detail: nil))])
        #expect(effects.strikes.isEmpty && !scenario.stages().contains("rang"))
    }

    @Test("Between the handler's word and the journal's answer: it never rings")
    func whileJournaling() {
        for isLate in [false, true] {
            var scenario = Scenario()
            scenario.receive(expiration: .at(scenario.now.advanced(by: .seconds(2))))
            scenario.report(ring: true)
            let wake = scenario.handler()
            var effects = scenario.pass(.milliseconds(1_999))
            #expect(effects.isEmpty)
            if isLate { effects += scenario.pass(.milliseconds(1)) } else { scenario.wait(.milliseconds(1)) }
            effects += scenario.journalRing()
            #expect(effects.states == ["ended"] && effects.missed == ["one"] && effects.stops == [wake])
            #expect(scenario.state() == .ended(.expired, detail: nil) && !scenario.stages().contains("rang"))
        }
    }

    @Test("A call that began to ring in time rings on after its expiration")
    func ringsOn() {
        var scenario = Scenario()
        scenario.receive(expiration: .at(scenario.now.advanced(by: .seconds(2))))
        scenario.report(ring: true)
        scenario.wait(.milliseconds(1_999))
        #expect(scenario.journalRing().states == ["ringing"])
        #expect(scenario.pass(.seconds(44)).isEmpty && scenario.state()?.name == .ringing)
    }
}
