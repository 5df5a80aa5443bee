import RingwakeCore
import Testing

@Suite("Calls that the user begins")
struct OutgoingCallTests {
    typealias Name = CallStateMachine.State.Name

    private static let begin = CallStateMachineTests.begin
    private static let deadlines = CallDeadlines(dial: .seconds(180))

    /// A machine that was taken to a state without any time passing.
    private static func machine(in name: Name) throws -> CallStateMachine {
        var machine = CallStateMachine(
            deadlines: deadlines, ringBefore: begin.advanced(by: .seconds(45)), isOutgoing: true)
        let path: [Name] = [.queued, .dialling, .connecting, .connected, .held, .ending, .ended]
        for step in path.prefix(through: path.firstIndex(of: name) ?? 0) {
            switch step {
            case .dialling: _ = try machine.wake(at: begin)
            case .connecting: _ = try machine.fulfill(.start, at: begin)
            case .connected: _ = try machine.report(.connected, at: begin)
            case .held:
                _ = try machine.hold(at: begin)
                _ = try machine.fulfill(.hold, at: begin)
            case .ending: _ = try machine.end(at: begin)
            case .ended: _ = try machine.fulfill(.end, at: begin)
            default: break
            }
        }
        try #require(machine.state.name == name)
        return machine
    }

    static let names: [Name] = [.queued, .dialling, .connecting, .connected, .held, .ending, .ended]

    /// What can be done to a machine, and the state that it leads to from each state where it fits.
    struct Input: CustomTestStringConvertible, Sendable {
        let name: String
        let next: [Name: Name]
        let apply: @Sendable (inout CallStateMachine) throws(CallStateMachine.Refusal) -> [CallStateMachine.Output]

        var testDescription: String { name }
    }

    static let inputs: [Input] = [
        Input(name: "wake", next: [.queued: .dialling]) { machine throws(CallStateMachine.Refusal) in
            try machine.wake(at: begin)
        },
        Input(name: "fulfill start", next: [.dialling: .connecting]) { machine throws(CallStateMachine.Refusal) in
            try machine.fulfill(.start, at: begin)
        },
        Input(name: "fail start", next: [.dialling: .ended]) { machine throws(CallStateMachine.Refusal) in
            try machine.fail(.start)
        },
        Input(name: "connecting", next: [.dialling: .connecting]) { machine throws(CallStateMachine.Refusal) in
            try machine.report(.connecting, at: begin)
        },
        Input(name: "connected", next: [.dialling: .connected, .connecting: .connected]) {
            machine throws(CallStateMachine.Refusal) in try machine.report(.connected, at: begin)
        },
        Input(
            name: "end",
            next: [
                .queued: .ended, .dialling: .ending, .connecting: .ending, .connected: .ending, .held: .ending,
            ]
        ) { machine throws(CallStateMachine.Refusal) in try machine.end(at: begin) },
        Input(
            name: "remote end",
            next: [
                .queued: .ended, .dialling: .ended, .connecting: .ended, .connected: .ended, .held: .ended,
                .ending: .ended,
            ]
        ) { $0.remoteEnded(.busy) },
        Input(
            name: "the handler is gone",
            next: [.dialling: .ended, .connecting: .connecting, .connected: .connected, .held: .held, .ending: .ended]
        ) { $0.handlerGone(.exited, "it exited", fallback: .ring, at: begin) },
        Input(
            name: "lost at a restart",
            next: [.dialling: .ended, .connecting: .connecting, .connected: .connected, .held: .held, .ending: .ended]
        ) { $0.handlerLostAtRestart(at: begin) },
        Input(
            name: "mute", next: [.connecting: .connecting, .connected: .connected, .held: .held]
        ) { machine throws(CallStateMachine.Refusal) in try machine.mute(true, at: begin) },
        Input(name: "hold", next: [.connected: .connected]) { machine throws(CallStateMachine.Refusal) in
            try machine.hold(at: begin)
        },
        Input(name: "no handler", next: [.queued: .ended]) { machine throws(CallStateMachine.Refusal) in
            try machine.withhold(.ring, "struck out", at: begin)
        },
        // What only a call that comes in takes.
        Input(name: "report", next: [:]) { machine throws(CallStateMachine.Refusal) in try machine.report(at: begin) },
        Input(name: "answer", next: [:]) { machine throws(CallStateMachine.Refusal) in try machine.answer(at: begin) },
        Input(name: "decline", next: [:]) { machine throws(CallStateMachine.Refusal) in
            try machine.decline(at: begin)
        },
        Input(name: "reject", next: [:]) { machine throws(CallStateMachine.Refusal) in try machine.reject(at: begin) },
        Input(name: "ring", next: [:]) { $0.ringJournaled(at: begin) },
    ]

    @Test("What fits which state", arguments: inputs, names)
    func table(input: Input, name: Name) throws {
        var machine = try Self.machine(in: name)
        let before = machine
        let outputs = Result { () throws(CallStateMachine.Refusal) in try input.apply(&machine) }
        guard let next = input.next[name] else { return #expect(machine == before) }
        #expect(machine.state.name == next && machine != before)
        #expect(try outputs.get().isEmpty == false)
    }

    @Test("Each state ends by itself, for its reason", arguments: names.dropLast())
    func deadlines(name: Name) throws {
        var machine = try Self.machine(in: name)
        let deadline = try #require(machine.nextDeadline)
        var early = machine
        #expect(early.advance(to: deadline.advanced(by: .nanoseconds(-1)), fallback: .ring).isEmpty)
        let outputs = machine.advance(to: deadline, fallback: .ring)
        let (reason, strike): (CallEndReason, HandlerFailure?) =
            switch name {
            case .queued, .connected, .held: (.failed, nil)
            case .dialling: (.handlerFailed, .didNotAct)
            case .connecting: (.unanswered, nil)
            default: (.localEnded, .didNotAct)
            }
        #expect(machine.state.endReason == reason && machine.hasEnded)
        #expect(
            outputs.compactMap { if case .strike(let failure) = $0 { failure } else { nil } }
                == [strike].compactMap(\.self))
        let lasts: [Name: Duration] = [
            .queued: .seconds(45), .dialling: .seconds(10), .connecting: .seconds(180), .ending: .seconds(10),
        ]
        if let time = lasts[name] { #expect(deadline == Self.begin.advanced(by: time)) }
    }

    @Test("What was done is done again by a handler that got no answer")
    func again() throws {
        var machine = try Self.machine(in: .connected)
        #expect(try machine.fulfill(.start, at: Self.begin).isEmpty)
        #expect(try machine.report(.connecting, at: Self.begin).isEmpty)
        #expect(try machine.report(.connected, at: Self.begin).isEmpty)
        #expect(machine.state.name == .connected)
    }

    @Test("A call that comes in is not reported as one that goes out")
    func direction() throws {
        for name in CallStateMachineTests.names {
            var machine = try CallStateMachineTests.machine(in: name)
            let before = machine
            #expect(throws: CallStateMachine.Refusal.self) { try machine.report(.connected, at: Self.begin) }
            #expect(machine == before)
        }
    }

    // MARK: - Among other calls

    private func outgoing(_ id: String = "out", others: OtherCalls? = nil, isEmergency: Bool = false) -> OutgoingCall {
        OutgoingCall(
            CallKey(app: Scenario.app, id: CallID(id)), CallUpdate(caller: "sip:bob@example.org"), others: others,
            wallClock: 1, isEmergency: isEmergency)
    }

    @Test("Nothing begins in a cellular call but an emergency call")
    func cellular() {
        var scenario = Scenario()
        _ = scenario.send(.cellularChanged(isActive: true))
        let refused = scenario.send(.startRequested(outgoing(), scenario.policy, by: nil))
        #expect(refused == [.refused(.cellularCall(outgoing().key))] && scenario.call("out") == nil)
        _ = scenario.send(.startRequested(outgoing(isEmergency: true), scenario.policy, by: nil))
        #expect(scenario.state("out")?.name == .dialling)
    }

    @Test("A cellular call holds it as soon as the other side answers")
    func yields() {
        var scenario = Scenario()
        _ = scenario.send(.startRequested(outgoing(), scenario.policy, by: nil))
        _ = scenario.send(.cellularChanged(isActive: true))
        #expect(scenario.state("out")?.name == .dialling)
        let effects = scenario.send(.progressed(outgoing().key, .connected, by: scenario.handler("out")))
        #expect(effects.contains { if case .request(let action, _) = $0 { action.action == .hold } else { false } })
    }

    @Test("The handler that began it gets it, if it is connected")
    func preferred() {
        var scenario = Scenario()
        _ = scenario.send(.handlerConnected(Scenario.app, nil, pid: 1, scenario.policy))
        _ = scenario.send(.handlerConnected(Scenario.app, nil, pid: 2, scenario.policy))
        let first = WakeID(number: 1)
        _ = scenario.send(.startRequested(outgoing("one"), scenario.policy, by: first))
        #expect(scenario.handler("one") == first)
        _ = scenario.send(.endRequested(scenario.key("one")))
        _ = scenario.send(.fulfilled(scenario.key("one"), .end, by: first))
        _ = scenario.send(.startRequested(outgoing("two"), scenario.policy, by: nil))
        #expect(scenario.handler("two") == WakeID(number: 2))
    }

    @Test("A handler begins ten calls at once, and then one in six seconds, emergency calls too; the user any number")
    func pace() {
        var scenario = Scenario(.app)
        _ = scenario.send(.handlerConnected(Scenario.app, nil, pid: 1, scenario.policy))
        let wake = WakeID(number: 1)
        func begin(_ id: String, by wake: WakeID?, isEmergency: Bool = false) -> Bool {
            let call = outgoing(id, others: .end, isEmergency: isEmergency)
            let isRefused = scenario.send(.startRequested(call, scenario.policy, by: wake)).refusals.first != nil
            if !isRefused { _ = scenario.send(.remoteEnded(call.key, .busy, by: nil)) }
            return !isRefused
        }
        #expect((0..<20).filter { begin("\($0)", by: wake) }.count == 10)
        #expect(!begin("sos", by: wake, isEmergency: true))
        scenario.wait(.seconds(6))
        #expect(begin("later", by: wake) && !begin("at once", by: wake))
        #expect((100..<120).allSatisfy { begin("\($0)", by: nil) } && begin("sos", by: nil, isEmergency: true))
    }

    @Test("A handler neither ends calls of other apps, nor goes before the user")
    func otherApps() {
        var scenario = Scenario()
        let other = scenario.key("other", app: Scenario.otherApp)
        let theirs = OutgoingCall(other, CallUpdate(caller: "sip:alice@example.org"), wallClock: 1)
        _ = scenario.send(.startRequested(theirs, scenario.policy, by: nil))
        let refused = scenario.send(.startRequested(outgoing(others: .end), scenario.policy, by: WakeID(number: 9)))
        #expect(refused == [.refused(.othersStay(scenario.key("out")))])
        _ = scenario.send(.progressed(other, .connected, by: nil))
        _ = scenario.send(.startRequested(outgoing(others: .end), scenario.policy, by: WakeID(number: 9)))
        // It is held, and the handler's call waits for that.
        #expect(scenario.coordinator.call(other)?.machine.isAsked(.hold) == true && scenario.state("out") == .queued)
        let sos = outgoing("sos", isEmergency: true)
        _ = scenario.send(.startRequested(sos, scenario.policy, by: nil))
        #expect(scenario.state("out")?.endReason == .failed && scenario.state("sos")?.name == .dialling)
    }

    @Test("An emergency call that waits for its handler outlives the strikes of the app, and a cellular call")
    func emergencyWaits() {
        var scenario = Scenario(.app)
        scenario.policy.strikes = StrikeLimit(count: 1, window: .seconds(60))
        scenario.bring(to: .connected)
        let sos = outgoing("sos", isEmergency: true)
        _ = scenario.send(.startRequested(sos, scenario.policy, by: nil))
        #expect(scenario.state("sos") == .queued)
        let effects = scenario.pass(.seconds(11))
        #expect(effects.contains(.struckOut(Scenario.app, true)) && scenario.state("sos")?.isEnded == false)
        _ = scenario.exit(WakeID(number: 1), .signalled(9))
        #expect(scenario.state("sos")?.name == .dialling)
        _ = scenario.send(.cellularChanged(isActive: true))
        _ = scenario.send(.progressed(sos.key, .connected, by: scenario.handler("sos")))
        #expect(scenario.state("sos")?.name == .connected && scenario.call("sos")?.machine.owed.isEmpty == true)
    }

    @Test("Its row brings it back", arguments: [Name.queued, .dialling, .connecting, .connected, .held])
    func record(name: Name) throws {
        var scenario = Scenario()
        _ = scenario.send(.startRequested(outgoing(), scenario.policy, by: nil))
        let key = outgoing().key
        if name != .queued, name != .dialling {
            _ = scenario.send(.fulfilled(key, .start, by: scenario.handler("out")))
            if name != .connecting { _ = scenario.send(.progressed(key, .connected, by: scenario.handler("out"))) }
        }
        let record = try #require(scenario.call("out")).journalRecord
        let read = try SnapshotTests.written(record)
        #expect(read == record && read.isOutgoing && !read.isMissed)
        let call = Call(read, [CallPayload(push: 0, bytes: [])], scenario.policy)
        #expect(call.machine.isOutgoing && call.update.caller == "sip:bob@example.org")
        #expect(call.machine.state == scenario.state("out"))
    }

    // MARK: - Emergency numbers

    @Test(
        "What is an emergency call",
        arguments: [
            ("112", true), ("911", true), ("tel:112", true), ("sip:112@example.org", true),
            ("SIP:911@h;user=phone", true),
            ("urn:service:sos", true), ("URN:service:sos.police", true), (" 112 ", true), ("\"SOS\" <tel:911>", true),
            ("1120", false), ("+49112", false), ("urn:service:sosa", false), ("urn:service:counseling", false),
            ("sip:bob@112", false), ("", false), ("anonymous", false), ("11 2", true),
        ])
    func emergency(written: String, isEmergency: Bool) {
        #expect(EmergencyNumbers.standard.contains(written) == isEmergency)
    }

    @Test(
        "A list of emergency numbers has numbers", arguments: [["1"], ["112a"], ["+112"], [""], ["1234567890123456"]])
    func noEmergencyNumbers(numbers: [String]) { #expect(EmergencyNumbers(numbers) == nil) }
}
