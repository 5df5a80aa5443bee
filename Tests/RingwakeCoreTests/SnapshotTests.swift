import FoundationEssentials
import RingwakeCore
import Testing

@Suite("A snapshot is all that there is to know")
struct SnapshotTests {
    /// The snapshot, written down and read again.
    static func written(_ snapshot: CoordinatorSnapshot) throws -> CoordinatorSnapshot {
        try JSONDecoder().decode(CoordinatorSnapshot.self, from: JSONEncoder().encode(snapshot))
    }

    /// A coordinator with a call in each state, of two apps; of `answering` and `connected` only one, for no two calls
    /// are on the line at a time.
    static func full(_ onTheLine: CallStateMachine.State.Name = .connected) -> Scenario {
        var scenario = Scenario()
        // The held one last: else it is gone on with when the one that ends does.
        let last: [CallStateMachine.State.Name] = [.held, onTheLine]
        let others = CallStateMachine.State.Name.allCases.filter {
            ![.queued, .held, .answering, .connected].contains($0)
        }
        for name in others + last {
            scenario.bring(name.rawValue, to: name)
        }
        scenario.send(.muteRequested(scenario.key("connected"), true))
        scenario.send(.digitsRequested(scenario.key("connected"), "1#"))
        scenario.exit(scenario.handler("held"), .signalled(9))
        scenario.send(.answerRequested(scenario.key("ringing")))
        scenario.send(.handlerConnected(Scenario.app, nil, pid: 12, scenario.policy))
        scenario.send(.cellularChanged(isActive: true))
        scenario.policy.instances = .app
        for id in ["one", "two"] {
            let push = scenario.push(
                id, app: Scenario.otherApp, expiration: .at(scenario.now.advanced(by: .seconds(9))))
            scenario.receive(push, PushFacts(update: CallUpdate(caller: "sip:a@example.org", hasVideo: false)))
        }
        scenario.send(.ringNotJournaled(scenario.key("confirmed"), number: scenario.number("confirmed")))
        return scenario
    }

    @Test(
        "Written as JSON and read again it is the same, with a call in each state",
        arguments: [CallStateMachine.State.Name.answering, .connected])
    func roundTrip(onTheLine: CallStateMachine.State.Name) throws {
        let scenario = SnapshotTests.full(onTheLine)
        let names = Set((scenario.coordinator.active.values.map(\.machine.state.name)))
        let expected = Set(CallStateMachine.State.Name.allCases).subtracting([.answering, .connected])
        #expect(names.union([.ended]) == expected.union([onTheLine]))
        let snapshot = scenario.coordinator.snapshot
        #expect(try SnapshotTests.written(snapshot) == snapshot)
        let restored = try CoordinatorStateMachine(restoring: SnapshotTests.written(snapshot))
        #expect(restored.snapshot == snapshot)
        #expect(restored.active == scenario.coordinator.active && restored.lanes == scenario.coordinator.lanes)
        #expect(restored.finished == scenario.coordinator.finished)
        #expect(restored.nextDeadline == scenario.coordinator.nextDeadline)
        #expect(restored.nextCallNumber == scenario.coordinator.nextCallNumber)
        #expect(restored.nextWakeNumber == scenario.coordinator.nextWakeNumber)
    }

    @Test("A restored coordinator goes on as if nothing had happened: repeats, deadlines, handlers, numbers")
    func goesOn() throws {
        var scenario = SnapshotTests.full()
        var restored = scenario
        restored.coordinator = try CoordinatorStateMachine(
            restoring: SnapshotTests.written(scenario.coordinator.snapshot))
        func compare(_ step: (inout Scenario) -> [Effect]) {
            let (one, two) = (step(&scenario), step(&restored))
            #expect(one == two && !one.isEmpty)
        }
        compare { $0.receive("ended") }
        compare { $0.receive("new") }
        compare { $0.pass(.milliseconds(500)) }
        compare { $0.journalRing("confirmed") }
        compare { $0.exit($0.handler("woken")) }
        compare { $0.pass(.seconds(5 * 3600)) }
        #expect(restored.coordinator.snapshot == scenario.coordinator.snapshot)
        #expect(restored.coordinator.active.isEmpty)
    }

    @Test("A snapshot of another version is refused and says so; one that is not a snapshot does not decode")
    func otherVersion() throws {
        let text = String(decoding: try JSONEncoder().encode(SnapshotTests.full().coordinator.snapshot), as: UTF8.self)
        #expect(text.contains(#""version":2"#))
        let newer = Data(text.replacing(#""version":2"#, with: #""version":3"#).utf8)
        let snapshot = try JSONDecoder().decode(CoordinatorSnapshot.self, from: newer)
        #expect(throws: RingwakeError.self) { try CoordinatorStateMachine(restoring: snapshot) }
        do {
            _ = try CoordinatorStateMachine(restoring: snapshot)
        } catch {
            #expect(error.code == .conflict && error.message.contains("version 3"))
        }
        #expect(throws: DecodingError.self) {
            try JSONDecoder().decode(CoordinatorSnapshot.self, from: Data(#"{"version":2}"#.utf8))
        }
    }

    @Test("An empty coordinator's snapshot restores to an empty one")
    func empty() throws {
        let coordinator = CoordinatorStateMachine(firstCallNumber: 7)
        let restored = try CoordinatorStateMachine(restoring: SnapshotTests.written(coordinator.snapshot))
        #expect(restored == coordinator && restored.nextDeadline == nil && restored.nextCallNumber == 7)
    }
}
