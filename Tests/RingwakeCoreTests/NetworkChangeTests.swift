import RingwakeCore
import Testing

@Suite("A change of the network: who is told")
struct NetworkChangeTests {
    @Test(
        "A call with a peer on the line is told, in every other state it is not",
        arguments: [
            (CallStateMachine.State.Name.woken, false), (.reported, false), (.confirmed, false), (.ringing, true),
            (.answering, true), (.connected, true), (.ending, false), (.ended, false),
        ])
    func states(name: CallStateMachine.State.Name, isTold: Bool) {
        var scenario = Scenario()
        scenario.bring(to: name)
        let before = scenario.coordinator
        #expect(scenario.send(.networkChanged) == (isTold ? [.reportPath(scenario.key())] : []))
        #expect(scenario.coordinator == before, "nothing of the call changes")
    }

    @Test("Each call is told once, the oldest first")
    func severalCalls() {
        var scenario = Scenario()
        for id in ["one", "two", "three"] { scenario.bring(id, to: id == "two" ? .woken : .connected) }
        #expect(
            scenario.send(.networkChanged) == [.reportPath(scenario.key("one")), .reportPath(scenario.key("three"))])
    }

    @Test("A call whose time is over at that moment ends, and is not told")
    func lateCall() {
        var scenario = Scenario()
        scenario.bring(to: .ringing)
        scenario.wait(.seconds(3600))
        let effects = scenario.send(.networkChanged)
        #expect(effects.states == ["ended"])
        #expect(!effects.contains(.reportPath(scenario.key())))
    }

    @Test("Without a call nobody is told")
    func noCall() {
        var scenario = Scenario()
        #expect(scenario.send(.networkChanged).isEmpty)
    }
}
