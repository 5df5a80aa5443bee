import RingwakeCore
import Testing

@Suite("What changes in a call that was reported")
struct CallUpdateTests {
    private static let alice = CallUpdate(
        caller: "sip:alice@example.org", callerName: "Alice", hasVideo: true, identifiedAs: "Alice M.")

    private static func update(_ scenario: inout Scenario, _ update: CallUpdate, _ id: String = "one") -> [Effect] {
        scenario.send(.updated(scenario.key(id), update, by: scenario.handler(id)))
    }

    @Test(
        "In every state until the end: observers are told, nothing else changes, and the row has it",
        arguments: [
            CallStateMachine.State.Name.woken, .reported, .confirmed, .ringing, .answering, .connected, .held, .ending,
        ])
    func states(name: CallStateMachine.State.Name) throws {
        var scenario = Scenario()
        scenario.bring(to: name)
        let before = try #require(scenario.call())
        var update = Self.alice
        (update.supportsHold, update.supportsDTMF) = (false, true)
        let effects = Self.update(&scenario, update)
        let call = try #require(scenario.call())
        #expect(effects == [.callChanged(call)] && call.update == update && call.machine == before.machine)
        #expect(Self.update(&scenario, update).isEmpty, "the same again")
        let record = call.journalRecord
        #expect(try SnapshotTests.written(record).update == update)
    }

    @Test("Not once it has ended, nor by another handler")
    func refused() {
        var scenario = Scenario()
        scenario.bring("two", to: .connected)
        scenario.bring("one", to: .ended)
        let (one, two) = (scenario.key("one"), scenario.key("two"))
        let wake = scenario.handler("two")
        #expect(Self.update(&scenario, Self.alice).refusals.count == 1)
        scenario.bring("three", to: .ringing)
        let refused = scenario.send(.updated(scenario.key("three"), Self.alice, by: wake))
        #expect(refused == [.refused(.notOwned(scenario.key("three")))])
        #expect(scenario.call("one")?.update.callerName == nil && one != two)
    }

    @Test("A call that goes on with somebody else keeps nothing of who it was; else names are kept")
    func transfer() {
        var scenario = Scenario()
        scenario.bring(to: .connected)
        _ = Self.update(&scenario, Self.alice)
        _ = Self.update(&scenario, CallUpdate(caller: "sip:alice@example.org", hasVideo: false))
        #expect(scenario.call()?.update.callerName == "Alice" && scenario.call()?.update.hasVideo == false)
        _ = Self.update(&scenario, CallUpdate(callerName: "Alice Miller"))
        #expect(scenario.call()?.update.callerName == "Alice Miller")
        _ = Self.update(&scenario, CallUpdate(caller: "sip:bob@example.org"))
        #expect(scenario.call()?.update == CallUpdate(caller: "sip:bob@example.org", hasVideo: false))
    }

    @Test("What the app can't do in a call nobody asks it for")
    func unsupported() {
        var scenario = Scenario()
        scenario.bring("one", to: .connected)
        var update = CallUpdate()
        (update.supportsHold, update.supportsDTMF) = (false, false)
        _ = Self.update(&scenario, update)
        let one = scenario.key("one")
        #expect(scenario.send(.holdRequested(one, true)) == [.refused(.unsupported(one, .hold))])
        #expect(scenario.send(.digitsRequested(one, "1")) == [.refused(.unsupported(one, .dtmf))])
        scenario.bring("two", to: .ringing)
        let two = scenario.key("two")
        #expect(scenario.send(.answerRequested(two)) == [.refused(.othersStay(two))])
        #expect(scenario.send(.answerRequested(two, others: .end)).requests == [.end])
        update.supportsHold = true
        update.supportsDTMF = true
        scenario.send(.fulfilled(one, .end, by: scenario.handler("one")))
        scenario.send(.fulfilled(two, .answer, by: scenario.handler("two")))
        _ = Self.update(&scenario, update, "two")
        #expect(scenario.send(.holdRequested(two, true)).requests == [.hold])
    }

    @Test("A name alone does not say who it is: what can't be read now stays")
    func locked() {
        var update = CallUpdate()
        update.lockedBy = .complete
        update.change(to: CallUpdate(callerName: "Alice"))
        #expect(update.lockedBy == .complete)
        update.change(to: CallUpdate(caller: "sip:alice@example.org"))
        #expect(update.lockedBy == nil)
    }

    @Test("A call that can't be held, as its app says while it is answered, makes way for the cellular call too")
    func cellularMeanwhile() {
        var scenario = Scenario()
        scenario.bring(to: .answering)
        scenario.send(.cellularChanged(isActive: true))
        var update = CallUpdate()
        update.supportsHold = false
        #expect(Self.update(&scenario, update).requests == [.end])
    }

    @Test("A call that can't be held makes way for a cellular call")
    func cellular() {
        for canBeHeld in [true, false] {
            var scenario = Scenario()
            scenario.bring(to: .connected)
            var update = CallUpdate()
            update.supportsHold = canBeHeld
            _ = Self.update(&scenario, update)
            #expect(scenario.send(.cellularChanged(isActive: true)).requests == [canBeHeld ? .hold : .end])
        }
    }
}
