import RingwakeCore
import Testing

@Suite("Hold, mute and digits: the handler is asked, does it or not, and the call goes on")
struct ActionTests {
    static func connected() -> Scenario {
        var scenario = Scenario()
        scenario.bring(to: .connected)
        return scenario
    }

    @Test(
        "Held and gone on with: the state changes when the handler has done it; the call's own end stays where it was")
    func hold() {
        var scenario = ActionTests.connected()
        let (key, wake, until) = (scenario.key(), scenario.handler(), scenario.call()?.machine.stateDeadline)
        let asked = scenario.send(.holdRequested(key, true))
        let by = scenario.now.advanced(by: .seconds(10))
        #expect(asked.states == ["connected"] && asked.last == .request(PendingAction(.hold, by: by), key))
        #expect(scenario.call()?.machine.owed == [PendingAction(.hold, by: by)])
        scenario.wait(.seconds(1))
        #expect(scenario.send(.fulfilled(key, .hold, by: wake)).states == ["held"])
        #expect(scenario.call()?.machine.owed == [] && scenario.call()?.machine.stateDeadline == until)
        #expect(scenario.send(.holdRequested(key, true)).isEmpty, "it is so already")
        #expect(scenario.send(.holdRequested(key, false)).requests == [.unhold])
        #expect(scenario.send(.fulfilled(key, .unhold, by: wake)).states == ["connected"])
        #expect(scenario.call()?.machine.stateDeadline == until && scenario.send(.holdRequested(key, false)).isEmpty)
    }

    @Test("Muted and not: it is so when the handler has done it, also while held")
    func mute() {
        var scenario = ActionTests.connected()
        let (key, wake) = (scenario.key(), scenario.handler())
        #expect(
            scenario.send(.muteRequested(key, true)).requests == [.mute] && scenario.call()?.machine.isMuted == false)
        #expect(scenario.send(.fulfilled(key, .mute, by: wake)).states == ["connected"])
        #expect(scenario.call()?.machine.isMuted == true && scenario.send(.muteRequested(key, true)).isEmpty)
        scenario.send(.holdRequested(key, true))
        scenario.send(.fulfilled(key, .hold, by: wake))
        #expect(scenario.send(.muteRequested(key, false)).requests == [.unmute])
        scenario.send(.fulfilled(key, .unmute, by: wake))
        #expect(scenario.call()?.machine.isMuted == false)
    }

    @Test("What the handler cannot do leaves all as it was, and is no strike")
    func fails() {
        for (event, action): ((CallKey) -> Event, CallAction) in [
            ({ .holdRequested($0, true) }, .hold), ({ .muteRequested($0, true) }, .mute),
            ({ .digitsRequested($0, "1") }, .dtmf),
        ] {
            var scenario = ActionTests.connected()
            scenario.send(event(scenario.key()))
            let effects = scenario.send(.actionFailed(scenario.key(), action, by: scenario.handler()))
            #expect(effects.states == ["connected"] && effects.strikes.isEmpty)
            #expect(scenario.call()?.machine.owed == [] && scenario.call()?.machine.isMuted == false)
            #expect(scenario.send(.actionFailed(scenario.key(), action, by: scenario.handler())).refusals.count == 1)
        }
    }

    @Test("What the handler does not do in time is dropped with a strike, and the call goes on")
    func timesOut() {
        for event: (CallKey) -> Event in [
            { .holdRequested($0, true) }, { .muteRequested($0, true) }, { .digitsRequested($0, "1") },
        ] {
            var scenario = ActionTests.connected()
            scenario.send(event(scenario.key()))
            #expect(scenario.pass(.milliseconds(9_999)).isEmpty)
            let effects = scenario.pass(.milliseconds(1))
            #expect(effects.states == ["connected"] && effects.strikes == [.didNotAct] && effects.stops.isEmpty)
            #expect(scenario.call()?.machine.owed == [] && scenario.state()?.name == .connected)
        }
    }

    @Test("While one is asked for, neither it nor its opposite is asked for again; others are")
    func oneAtATime() {
        var scenario = ActionTests.connected()
        let (key, wake) = (scenario.key(), scenario.handler())
        scenario.send(.holdRequested(key, true))
        scenario.send(.muteRequested(key, true))
        let before = scenario.coordinator
        for isOn in [true, false] {
            #expect(scenario.send(.holdRequested(key, isOn)) == [.refused(.alreadyAsked(key, .hold))])
            #expect(scenario.send(.muteRequested(key, isOn)) == [.refused(.alreadyAsked(key, .mute))])
        }
        #expect(scenario.coordinator == before)
        scenario.send(.fulfilled(key, .hold, by: wake))
        scenario.send(.holdRequested(key, false))
        for isOn in [true, false] {
            #expect(scenario.send(.holdRequested(key, isOn)) == [.refused(.alreadyAsked(key, .unhold))])
        }
    }

    @Test(
        "Digits are played in order, each with its own time; so many wait at most, and what follows a failure is dropped"
    )
    func digits() {
        var scenario = ActionTests.connected()
        let (key, wake) = (scenario.key(), scenario.handler())
        for number in 0..<32 {
            let effects = scenario.send(.digitsRequested(key, "\(number)"))
            let by = scenario.now.advanced(by: .seconds(10 * (number + 1)))
            #expect(effects.last == .request(PendingAction(.dtmf, digits: "\(number)", by: by), key))
        }
        #expect(scenario.send(.digitsRequested(key, "1")) == [.refused(.alreadyAsked(key, .dtmf))])
        scenario.send(.fulfilled(key, .dtmf, by: wake))
        #expect(scenario.call()?.machine.owed.first?.digits == "1" && scenario.call()?.machine.owed.count == 31)
        #expect(scenario.pass(.seconds(19)).isEmpty)
        let effects = scenario.pass(.seconds(1))
        #expect(effects.strikes == [.didNotAct] && scenario.call()?.machine.owed == [])
    }

    @Test("Digits are 1 to 32 of 0-9, *, #, A-D and comma, and are played in a call that goes on")
    func digitsText() {
        var scenario = ActionTests.connected()
        let key = scenario.key()
        for text in ["", "x", "a", "1 2", "E", "１", String(repeating: "1", count: 33)] {
            #expect(scenario.send(.digitsRequested(key, text)) == [.refused(.badDigits(key))], "\(text)")
        }
        for text in ["0123456789*#ABCD,", String(repeating: "1", count: 32)] {
            #expect(scenario.send(.digitsRequested(key, text)).requests == [.dtmf], "\(text)")
        }
        var held = Scenario()
        held.bring(to: .held)
        #expect(held.send(.digitsRequested(key, "1")).refusals.count == 1)
    }

    @Test("None of these fits a call that does not go on; its end drops what was asked")
    func otherStates() {
        for name in CallStateMachineTests.names where ![.queued, .connected, .held].contains(name) {
            var scenario = Scenario()
            scenario.bring(to: name)
            let (key, before) = (scenario.key(), scenario.coordinator)
            for event: Event in [
                .holdRequested(key, true), .holdRequested(key, false), .muteRequested(key, true),
                .digitsRequested(key, "1"),
            ] {
                #expect(scenario.send(event).refusals == [.wrongState(key, scenario.state() ?? .queued)])
                #expect(scenario.coordinator == before)
            }
        }
        var scenario = ActionTests.connected()
        scenario.send(.muteRequested(scenario.key(), true))
        scenario.send(.endRequested(scenario.key()))
        #expect(scenario.call()?.machine.owed.map(\.action) == [.end])
        #expect(scenario.send(.fulfilled(scenario.key(), .mute, by: scenario.handler())).refusals.count == 1)
    }

    @Test("Another handler cannot say that it did what this one was asked for")
    func notIts() {
        var scenario = ActionTests.connected()
        scenario.bring("other", to: .woken)
        scenario.send(.muteRequested(scenario.key(), true))
        let effects = scenario.send(.fulfilled(scenario.key(), .mute, by: scenario.handler("other")))
        #expect(effects == [.refused(.notOwned(scenario.key()))])
    }
}
