import RingwakeCore
import Testing

@Suite("Calls that are merged into a conference")
struct ConferenceTests {
    /// The first is held and the second connected, both with the same handler, which can mix them.
    private static func twoCalls(_ count: Int = 2) -> Scenario {
        var scenario = Scenario(.app)
        for id in ["one", "two", "three"].prefix(count) {
            connect(id, &scenario)
        }
        return scenario
    }

    /// Another call of the handler that runs already, if one does.
    private static func connect(_ id: String, _ scenario: inout Scenario) {
        scenario.receive(id)
        scenario.journal(id)
        if scenario.call(id)?.handler == nil, let wake = scenario.lane?.handlers.keys.first {
            scenario.send(.pushesFetched(wake))
        } else {
            scenario.start(id)
        }
        var update = CallUpdate(caller: "sip:\(id)@example.org")
        update.supportsMerge = true
        scenario.report(id, ring: true, update: update)
        scenario.journalRing(id)
        scenario.send(.answerRequested(scenario.key(id), others: .hold))
        for other in ["one", "two"] where scenario.call(other)?.machine.isAsked(.hold) == true {
            fulfill(.hold, other, &scenario)
        }
        fulfill(.answer, id, &scenario)
    }

    @discardableResult
    private static func fulfill(_ action: CallAction, _ id: String, _ scenario: inout Scenario) -> [Effect] {
        scenario.send(.fulfilled(scenario.key(id), action, by: scenario.handler(id)))
    }

    @discardableResult
    private static func ask(_ id: String, with other: String, _ scenario: inout Scenario) -> [Effect] {
        scenario.send(.mergeRequested(scenario.key(id), with: CallID(other)))
    }

    private static func merge(_ id: String, with other: String, _ scenario: inout Scenario) {
        ask(id, with: other, &scenario)
        fulfill(.merge, id, &scenario)
    }

    private static func merged() -> Scenario {
        var scenario = twoCalls()
        merge("one", with: "two", &scenario)
        return scenario
    }

    private static func states(_ scenario: Scenario) -> [String] {
        ["one", "two", "three"].compactMap { scenario.state($0)?.name.rawValue }
    }

    private static func conferences(_ scenario: Scenario) -> [Int64?] {
        ["one", "two", "three"].compactMap { scenario.call($0) }.map(\.conference)
    }

    @Test("The handler is asked to mix them; when it has, both are connected and have one number", arguments: [0, 1])
    func merge(order: Int) throws {
        var scenario = Self.twoCalls()
        #expect(Self.states(scenario) == ["held", "connected"])
        let (id, other) = order == 0 ? ("one", "two") : ("two", "one")
        let asked = Self.ask(id, with: other, &scenario)
        let pending = try #require(scenario.call(id)?.machine.pending.first)
        #expect(asked.requests == [.merge] && pending.with == CallID(other))
        #expect(Self.conferences(scenario) == [nil, nil])
        // The journal has what is asked.
        let record = try #require(scenario.call(id)?.journalRecord)
        #expect(try SnapshotTests.written(record) == record)
        let effects = Self.fulfill(.merge, id, &scenario)
        #expect(Self.states(scenario) == ["connected", "connected"] && Self.conferences(scenario) == [1, 1])
        // The one that is heard from now on comes last: a crash in between leaves one line.
        let told = effects.compactMap { if case .callChanged(let call) = $0 { call.key.id.rawValue } else { nil } }
        #expect(told == ["two", "one"])
        for id in ["one", "two"] {
            let record = try #require(scenario.call(id)?.journalRecord)
            #expect(Call(try SnapshotTests.written(record), [], scenario.policy).conference == 1)
        }
        #expect(Self.fulfill(.merge, id, &scenario).isEmpty, "said again")
        #expect(Self.ask(id, with: other, &scenario).isEmpty, "asked again")
    }

    @Test("If the handler fails, or does nothing, nothing changes")
    func failed() {
        for isLate in [false, true] {
            var scenario = Self.twoCalls()
            Self.ask("one", with: "two", &scenario)
            if isLate {
                #expect(scenario.pass(.seconds(11)).strikes == [.didNotAct])
            } else {
                scenario.send(.actionFailed(scenario.key("one"), .merge, by: scenario.handler("one")))
            }
            #expect(Self.states(scenario) == ["held", "connected"] && Self.conferences(scenario) == [nil, nil])
            #expect(scenario.call("one")?.machine.pending.isEmpty == true)
            #expect(Self.fulfill(.merge, "one", &scenario).refusals.count == 1, "too late")
        }
    }

    @Test("A third call joins, and two conferences become one")
    func more() {
        var scenario = Self.merged()
        Self.connect("three", &scenario)
        #expect(Self.states(scenario) == ["held", "held", "connected"])
        Self.merge("three", with: "one", &scenario)
        #expect(Self.states(scenario) == ["connected", "connected", "connected"])
        #expect(Set(Self.conferences(scenario)) == [2])
    }

    @Test("They are held, resumed and muted together, and a call that is answered holds all")
    func together() {
        var scenario = Self.merged()
        #expect(scenario.send(.holdRequested(scenario.key("two"), true)).requests == [.hold, .hold])
        for id in ["one", "two"] { Self.fulfill(.hold, id, &scenario) }
        #expect(Self.states(scenario) == ["held", "held"])
        #expect(scenario.send(.holdRequested(scenario.key("one"), false)).requests == [.unhold, .unhold])
        for id in ["one", "two"] { Self.fulfill(.unhold, id, &scenario) }
        #expect(Self.states(scenario) == ["connected", "connected"] && Self.conferences(scenario) == [1, 1])
        #expect(scenario.send(.muteRequested(scenario.key("one"), true)).requests == [.mute, .mute])
        for id in ["one", "two"] { Self.fulfill(.mute, id, &scenario) }
        let needs = scenario.coordinator.audioNeeds(after: .none) { _ in [] }
        #expect(needs.focus?.isMuted == true)
        Self.connect("three", &scenario)
        #expect(Self.states(scenario) == ["held", "held", "connected"])
        // When the user hangs up, all come back.
        scenario.send(.endRequested(scenario.key("three")))
        #expect(Self.fulfill(.end, "three", &scenario).requests == [.unhold, .unhold])
    }

    @Test("Each ends by itself, and one alone is no conference")
    func ends() {
        var scenario = Self.twoCalls(2)
        Self.merge("two", with: "one", &scenario)
        scenario.send(.remoteEnded(scenario.key("one"), .remoteEnded, by: scenario.handler("one")))
        #expect(scenario.state("two")?.name == .connected && scenario.call("two")?.conference == nil)
        #expect(scenario.call("one")?.conference == nil)
    }

    @Test("All share one session, which goes on when the one that began it ends")
    func audio() {
        var scenario = Self.merged()
        let first = scenario.coordinator.audioNeeds(after: .none) { _ in [7] }
        let (one, two) = (scenario.key("one"), scenario.key("two"))
        #expect(first.focus?.call == two && first.focus?.others == [one])
        scenario.send(.remoteEnded(two, .remoteEnded, by: scenario.handler("two")))
        let second = scenario.coordinator.audioNeeds(after: first) { _ in [7] }
        #expect(second.focus?.call == one && second.focus?.others == [])
        var audio = AudioScenario()
        let begun = audio.calls { $0 = first } + audio.serve()
        #expect(begun.calls == ["activated two", "activated one"])
        #expect((audio.calls { $0 = second } + audio.serve()).calls == ["deactivated two"])
        #expect(audio.arbiter.activeCalls == [one])
        // The other way: a call that joins is told that it has the session.
        #expect((audio.calls { $0 = first } + audio.serve()).calls == ["activated two"])
        #expect(Set(audio.arbiter.activeCalls) == [one, two])
        #expect(audio.hangUp().calls == ["deactivated two", "deactivated one"])
    }

    @Test("Only calls of one handler that can mix them, one of them connected, and nobody waits for others")
    func refused() throws {
        var scenario = Scenario()
        scenario.bring("one", to: .held)
        scenario.bring("two", to: .connected)
        let (one, two) = (scenario.key("one"), scenario.key("two"))
        #expect(Self.ask("one", with: "two", &scenario).refusals == [.unsupported(one, .merge)])
        var update = CallUpdate()
        update.supportsMerge = true
        for id in ["one", "two"] { scenario.send(.updated(scenario.key(id), update, by: scenario.handler(id))) }
        #expect(Self.ask("one", with: "two", &scenario).refusals == [.otherHandler(two)])
        #expect(Self.ask("one", with: "nobody", &scenario).refusals == [.unknownCall(scenario.key("nobody"))])
        #expect(Self.ask("one", with: "one", &scenario).refusals.count == 1)

        scenario = Self.twoCalls()
        scenario.send(.holdRequested(two, true))
        Self.fulfill(.hold, "two", &scenario)
        let held = try #require(scenario.state("one"))
        #expect(Self.ask("one", with: "two", &scenario).refusals == [.wrongState(one, held)], "none is connected")

        scenario = Self.twoCalls()
        scenario.send(.holdRequested(one, false, others: .hold))
        #expect(Self.ask("two", with: "one", &scenario).refusals == [.alreadyAsked(one, .unhold)], "swap goes first")

        scenario = Self.twoCalls()
        Self.ask("one", with: "two", &scenario)
        #expect(scenario.send(.holdRequested(one, false)).refusals == [.alreadyAsked(one, .merge)])
        scenario.send(.cellularChanged(isActive: true))
        #expect(scenario.call("one")?.machine.pending.isEmpty == true, "a cellular call goes first")
        #expect(Self.ask("one", with: "two", &scenario).refusals == [.cellularCall(one)])
    }

    @Test("The app may merge its own calls, and not those of others; without self_answer it may not")
    func byApp() {
        var scenario = Self.twoCalls()
        let (one, wake) = (scenario.key("one"), scenario.handler("one"))
        let stranger = WakeID(number: 77)
        #expect(
            scenario.send(.mergeRequested(one, with: CallID("two"), by: stranger)).refusals == [.notOwned(one)])
        #expect(scenario.send(.mergeRequested(one, with: CallID("two"), by: wake)).requests == [.merge])
        scenario = Scenario(.app)
        scenario.policy.maySelfAnswer = false
        for id in ["one", "two"] { Self.connect(id, &scenario) }
        let refused = scenario.send(.mergeRequested(one, with: CallID("two"), by: scenario.handler("one")))
        #expect(refused.refusals == [.notForApp(one)])
    }

    @Test("If the other one ends, the merge is withdrawn; a fulfilment that comes too late is refused")
    func goneMeanwhile() {
        for isUsers in [false, true] {
            var scenario = Self.twoCalls()
            Self.ask("one", with: "two", &scenario)
            let two = scenario.key("two")
            if isUsers {
                scenario.send(.endRequested(two))
                // The user hung up, so the held call comes back.
                #expect(Self.fulfill(.end, "two", &scenario).requests == [.unhold])
            } else {
                scenario.send(.remoteEnded(two, .remoteEnded, by: scenario.handler("two")))
            }
            #expect(Self.fulfill(.merge, "one", &scenario).refusals.count == 1)
            #expect(scenario.state("one")?.name == .held && scenario.call("one")?.conference == nil)
        }
        // In a conference, too: the handler would mix a call that is held.
        var scenario = Self.merged()
        Self.connect("three", &scenario)
        Self.ask("three", with: "one", &scenario)
        scenario.send(.actionFailed(scenario.key("three"), .merge, by: scenario.handler("three")))
        Self.ask("one", with: "three", &scenario)
        scenario.send(.actionFailed(scenario.key("one"), .merge, by: scenario.handler("one")))
        #expect(Self.fulfill(.merge, "one", &scenario).refusals.count == 1)
    }

    @Test("Both asked to be merged with the other: the second answer changes nothing")
    func both() {
        var scenario = Self.twoCalls()
        Self.ask("one", with: "two", &scenario)
        Self.ask("two", with: "one", &scenario)
        Self.fulfill(.merge, "one", &scenario)
        #expect(Self.fulfill(.merge, "two", &scenario).refusals.isEmpty)
        #expect(Self.conferences(scenario) == [1, 1] && scenario.call("two")?.machine.pending.isEmpty == true)
    }

    @Test("A conference is held as a whole: not while a call joins it, nor if one of its calls can't be held")
    func whole() {
        var scenario = Self.twoCalls()
        let (one, two) = (scenario.key("one"), scenario.key("two"))
        Self.ask("one", with: "two", &scenario)
        #expect(scenario.send(.holdRequested(two, true)).refusals == [.alreadyAsked(one, .merge)])
        Self.fulfill(.merge, "one", &scenario)
        var update = CallUpdate()
        update.supportsHold = false
        scenario.send(.updated(two, update, by: scenario.handler("two")))
        #expect(scenario.send(.holdRequested(one, true)).refusals == [.unsupported(two, .hold)])
        scenario = Self.twoCalls()
        scenario.send(.holdRequested(two, true))
        #expect(Self.ask("one", with: "two", &scenario).refusals == [.alreadyAsked(two, .hold)])
    }

    @Test(
        "A conference that is held for a call that the user declines comes back, also if one of its calls was not held")
    func returnsInPart() {
        var scenario = Self.merged()
        scenario.receive("three")
        scenario.journal("three")
        scenario.send(.pushesFetched(scenario.handler("one")))
        scenario.report("three", ring: true)
        scenario.journalRing("three")
        let one = scenario.key("one")
        #expect(scenario.send(.answerRequested(scenario.key("three"), others: .hold)).requests == [.hold, .hold])
        scenario.send(.endRequested(scenario.key("three")))
        Self.fulfill(.end, "three", &scenario)
        scenario.send(.actionFailed(one, .hold, by: scenario.handler("one")))
        #expect(Self.fulfill(.hold, "two", &scenario).requests == [.unhold])
    }

    @Test("Two handlers that claim a conference while it is resumed: one of its calls is heard")
    func lostWhileResumed() {
        var scenario = Self.merged()
        scenario.send(.holdRequested(scenario.key("one"), true))
        for id in ["one", "two"] { Self.fulfill(.hold, id, &scenario) }
        scenario.send(.holdRequested(scenario.key("one"), false))
        scenario.exit(scenario.handler("one"), .signalled(9))
        for id in ["one", "two"] {
            let wake = scenario.send(.handlerConnected(Scenario.app, nil, pid: 10, scenario.policy)).connected
            scenario.send(.claimed(scenario.key(id), by: wake ?? WakeID(number: 0)))
        }
        Self.fulfill(.unhold, "one", &scenario)
        #expect(Self.fulfill(.unhold, "two", &scenario).refusals.count == 1)
        #expect(Self.states(scenario) == ["connected", "held"])
    }

    @Test("When their handler is lost, one that claims all has the conference; claimed apart, one is held")
    func lost() {
        for isApart in [false, true] {
            var scenario = Self.merged()
            scenario.exit(scenario.handler("one"), .signalled(9))
            #expect(Self.conferences(scenario) == [1, 1])
            guard let wake = scenario.lane?.handlers.keys.max() else {
                Issue.record("no handler is started to claim them")
                return
            }
            scenario.send(.handlerStarted(wake, pid: 9))
            scenario.send(.claimed(scenario.key("one"), by: wake))
            var second = wake
            if isApart {
                second = scenario.send(.handlerConnected(Scenario.app, nil, pid: 10, scenario.policy)).connected ?? wake
            }
            scenario.send(.claimed(scenario.key("two"), by: second))
            #expect(Self.states(scenario) == (isApart ? ["connected", "held"] : ["connected", "connected"]))
            #expect(Self.conferences(scenario) == (isApart ? [nil, nil] : [1, 1]))
        }
    }
}
