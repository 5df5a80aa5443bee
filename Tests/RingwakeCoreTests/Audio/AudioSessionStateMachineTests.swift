import RingwakeCore
import Testing

@Suite("One audio session: what fits each state, and what does not")
struct AudioSessionStateMachineTests {
    typealias Machine = AudioSessionStateMachine

    static let other = AudioInterrupter.session(AudioSessionID(number: 99))

    /// A machine in each state.
    static let states: [AudioSessionState: Machine] = {
        var all: [AudioSessionState: Machine] = [:]
        for state in AudioSessionState.allCases { all[state] = machine(in: state) }
        return all
    }()

    static func machine(in state: AudioSessionState) -> Machine {
        var machine = Machine()
        do throws(AudioSessionError) {
            if state == .lost { _ = machine.lose() }
            if [.activating, .active, .interrupted, .deactivating].contains(state) {
                _ = try machine.activate(order: 7)
            }
            if [.active, .interrupted, .deactivating].contains(state) { _ = machine.activated() }
            if state == .interrupted { _ = machine.interrupt(by: other) }
            if state == .deactivating { _ = try machine.deactivate(isPlaying: false) }
        } catch {
            Issue.record("\(error)")
        }
        return machine
    }

    /// What an input did: whether it fitted, and the state after it.
    enum Outcome: Equatable {
        case fits(Machine.State)
        /// It was legal and had nothing to do.
        case nothing
        /// Refused without a change.
        case refused
    }

    static func outcome(
        _ state: AudioSessionState, _ input: (inout Machine) throws(AudioSessionError) -> Bool
    ) -> Outcome {
        guard let before = states[state] else { return .refused }
        var machine = before
        do throws(AudioSessionError) {
            let did = try input(&machine)
            if did { return .fits(machine.state) }
            return machine == before ? .nothing : .fits(machine.state)
        } catch {
            #expect(machine == before, "what is refused changes nothing")
            return .refused
        }
    }

    @Test("The machine of each state is in it", arguments: AudioSessionState.allCases)
    func names(state: AudioSessionState) {
        #expect(AudioSessionStateMachineTests.states[state]?.state.name == state)
    }

    @Test("Activation begins from inactive and interrupted alone; an active session need not, a lost one may not")
    func activate() {
        func outcome(_ state: AudioSessionState) -> Outcome {
            AudioSessionStateMachineTests.outcome(state) { machine throws(AudioSessionError) in
                try machine.activate(order: 8)
            }
        }
        #expect(outcome(.inactive) == .fits(.activating(order: 8, from: .inactive(isSilenced: false))))
        #expect(
            outcome(.interrupted)
                == .fits(.activating(order: 8, from: .interrupted(by: AudioSessionStateMachineTests.other))))
        #expect(outcome(.active) == .nothing)
        for state in [AudioSessionState.activating, .deactivating, .lost] { #expect(outcome(state) == .refused) }
    }

    @Test("Activating while lost says mediaServicesFailed; while it is under way, that it is")
    func activationRefused() {
        for (state, code) in [
            (AudioSessionState.lost, AudioSessionError.Code.mediaServicesFailed), (.activating, .unspecified),
            (.deactivating, .unspecified),
        ] {
            var machine = AudioSessionStateMachineTests.machine(in: state)
            let error = #expect(throws: AudioSessionError.self) { try machine.activate(order: 1) }
            #expect(error?.code == code)
        }
    }

    @Test("Deactivation undoes an active session, ends an interrupted one, and has nothing to do elsewhere")
    func deactivate() {
        func outcome(_ state: AudioSessionState, isPlaying: Bool = false) -> Outcome {
            AudioSessionStateMachineTests.outcome(state) { machine throws(AudioSessionError) in
                try machine.deactivate(isPlaying: isPlaying)
            }
        }
        #expect(outcome(.active) == .fits(.deactivating(order: 7)))
        #expect(outcome(.interrupted) == .fits(.inactive(isSilenced: false)))
        #expect(outcome(.interrupted, isPlaying: true) == .fits(.inactive(isSilenced: true)))
        #expect(outcome(.inactive) == .nothing && outcome(.lost) == .nothing)
        #expect(outcome(.activating) == .refused && outcome(.deactivating) == .refused)
    }

    @Test("Each answer of the server fits one state", arguments: AudioSessionState.allCases)
    func answers(state: AudioSessionState) {
        let activated = AudioSessionStateMachineTests.outcome(state) { $0.activated() }
        #expect(activated == (state == .activating ? .fits(.active(order: 7)) : .nothing))
        let notActivated = AudioSessionStateMachineTests.outcome(state) { $0.activationFailed() }
        #expect(notActivated == (state == .activating ? .fits(.inactive(isSilenced: false)) : .nothing))
        let deactivated = AudioSessionStateMachineTests.outcome(state) { $0.deactivated(isBusy: true) }
        #expect(deactivated == (state == .deactivating ? .fits(.inactive(isSilenced: true)) : .nothing))
        let notDeactivated = AudioSessionStateMachineTests.outcome(state) { $0.deactivationFailed() }
        #expect(notDeactivated == (state == .deactivating ? .fits(.active(order: 7)) : .nothing))
    }

    @Test("A failed activation leaves what was before: silenced, interrupted, by whom")
    func activationFails() throws {
        var machine = AudioSessionStateMachineTests.machine(in: .deactivating)
        _ = machine.deactivated(isBusy: true)
        _ = try machine.activate(order: 9)
        _ = machine.activationFailed()
        #expect(machine.state == .inactive(isSilenced: true))
        machine = AudioSessionStateMachineTests.machine(in: .interrupted)
        _ = try machine.activate(order: 9)
        _ = machine.activationFailed()
        #expect(machine.state == .interrupted(by: AudioSessionStateMachineTests.other))
    }

    @Test("Only an active session is interrupted: there is no second begin", arguments: AudioSessionState.allCases)
    func interrupt(state: AudioSessionState) {
        let outcome = AudioSessionStateMachineTests.outcome(state) { $0.interrupt(by: .microphone) }
        #expect(outcome == (state == .active ? .fits(.interrupted(by: .microphone)) : .nothing))
    }

    @Test("An end without a begin, a second end, and one by who did not interrupt are nothing")
    func endInterruption() {
        for state in AudioSessionState.allCases {
            let outcome = AudioSessionStateMachineTests.outcome(state) {
                $0.endInterruption(by: AudioSessionStateMachineTests.other)
            }
            #expect(outcome == (state == .interrupted ? .fits(.interrupted(by: nil)) : .nothing))
        }
        var machine = AudioSessionStateMachineTests.machine(in: .interrupted)
        let told = [.microphone, AudioSessionStateMachineTests.other, AudioSessionStateMachineTests.other].map {
            machine.endInterruption(by: $0)
        }
        #expect(told == [false, true, false])
    }

    @Test("An interruption passes to another interrupter, and that one ends it then")
    func inherit() {
        let heir = AudioInterrupter.session(.call)
        for state in AudioSessionState.allCases {
            let outcome = AudioSessionStateMachineTests.outcome(state) {
                $0.inherit(from: AudioSessionStateMachineTests.other, to: heir)
            }
            #expect(outcome == (state == .interrupted ? .fits(.interrupted(by: heir)) : .nothing))
        }
        var machine = AudioSessionStateMachineTests.machine(in: .interrupted)
        let inherited = [.microphone, AudioSessionStateMachineTests.other].map { machine.inherit(from: $0, to: heir) }
        #expect(inherited == [false, true])
        let told = [AudioSessionStateMachineTests.other, heir].map { machine.endInterruption(by: $0) }
        #expect(told == [false, true])
    }

    @Test(
        "Every session is lost with the server, once, and inactive when it is back",
        arguments: AudioSessionState.allCases)
    func loseAndReset(state: AudioSessionState) {
        let lost = AudioSessionStateMachineTests.outcome(state) { $0.lose() }
        #expect(lost == (state == .lost ? .nothing : .fits(.lost)))
        let reset = AudioSessionStateMachineTests.outcome(state) { $0.reset() }
        #expect(reset == (state == .lost ? .fits(.inactive(isSilenced: false)) : .nothing))
    }
}
