import RingwakeCore
import Testing

@Suite("The user forces the end of an app: its calls end, and its handlers are stopped")
struct AppResetTests {
    @Test(
        "How a call ends depends on what the user knew of it; nobody is asked",
        arguments: [
            (CallStateMachine.State.Name.woken, CallEndReason.handlerFailed), (.reported, .handlerFailed),
            (.ringing, .declined), (.connected, .localEnded), (.held, .localEnded),
        ])
    func ends(state: CallStateMachine.State.Name, reason: CallEndReason) {
        var scenario = Scenario(.app)
        scenario.bring(to: state)
        let wake = scenario.handler()
        let effects = scenario.send(.appReset(Scenario.app))
        #expect(scenario.state()?.endReason == reason && effects.stops == [wake])
        #expect(effects.requests.isEmpty && effects.releases.isEmpty && effects.strikes.isEmpty)
        #expect(effects.missed == (reason == .handlerFailed ? ["one"] : []))
        #expect(scenario.coordinator.active.isEmpty)
        #expect(scenario.exit(wake, .signalled(15)).strikes.isEmpty)
    }

    @Test("A waiting call starts no other handler, and another app keeps its calls and its handler")
    func others() {
        var scenario = Scenario(.app)
        scenario.bring(to: .connected)
        scenario.receive("two")
        _ = scenario.receive(scenario.push("other", app: Scenario.otherApp))
        let effects = scenario.send(.appReset(Scenario.app))
        #expect(scenario.state("two")?.endReason == .handlerFailed && effects.wakes.isEmpty)
        #expect(scenario.coordinator.active.keys.map(\.app) == [Scenario.otherApp])
        #expect(effects.stops.count == 1)
    }

    @Test("After it the next push starts the app again")
    func again() {
        var scenario = Scenario(.app)
        scenario.bring(to: .connected)
        let wake = scenario.handler()
        _ = scenario.send(.appReset(Scenario.app))
        _ = scenario.exit(wake, .signalled(15))
        #expect(scenario.receive("two").wakes.count == 1)
        #expect(scenario.send(.appReset(Scenario.otherApp)).isEmpty)
    }

    @Test("A held call of the app is not resumed on the way")
    func held() {
        var scenario = Scenario(.call)
        scenario.bring(to: .held)
        scenario.bring("two", to: .connected)
        // Its handler was asked to end it, and hasn't yet.
        scenario.send(.endRequested(scenario.key("two")))
        let effects = scenario.send(.appReset(Scenario.app))
        #expect(effects.requests.isEmpty && scenario.coordinator.active.isEmpty && effects.stops.count == 2)
    }
}
