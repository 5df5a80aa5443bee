import RingwakeCore
import Testing

@Suite("The life of one call: which input fits which state, and how each state ends by itself")
struct CallStateMachineTests {
    typealias Name = CallStateMachine.State.Name

    /// The states of a call that comes in.
    static let names = Name.allCases.filter { ![.dialling, .connecting].contains($0) }
    static let begin = BootInstant(nanoseconds: 1_000_000_000_000)
    static let deadlines = CallDeadlines(
        report: .seconds(5), ring: .seconds(45), action: .seconds(10), connected: .seconds(3600))
    /// Long after all deadlines that matter here but the one of *queued*.
    static let ringBefore = begin.advanced(by: .seconds(30))

    /// A machine that was taken to a state without any time passing.
    static func machine(in name: Name) throws -> CallStateMachine {
        var machine = CallStateMachine(deadlines: deadlines, ringBefore: ringBefore)
        let path: [Name] = [
            .queued, .woken, .reported, .confirmed, .ringing, .answering, .connected, .held, .ending, .ended,
        ]
        for step in path.prefix(through: path.firstIndex(of: name) ?? 0) {
            switch step {
            case .queued: break
            case .woken: _ = try machine.wake(at: begin)
            case .reported: _ = try machine.report(at: begin)
            case .confirmed: _ = try machine.confirmRing(at: begin)
            case .ringing: _ = machine.ringJournaled(at: begin)
            case .answering: _ = try machine.answer(at: begin)
            case .connected: _ = try machine.fulfill(.answer, at: begin)
            case .held:
                _ = try machine.hold(at: begin)
                _ = try machine.fulfill(.hold, at: begin)
            case .ending: _ = try machine.end(at: begin)
            case .ended: _ = try machine.fulfill(.end, at: begin)
            // Of outgoing calls: ``OutgoingCallTests``.
            case .dialling, .connecting: break
            }
        }
        try #require(machine.state.name == name)
        return machine
    }

    /// What can be done to a machine.
    enum Input: String, CaseIterable {
        case wake, report, confirm, ringJournaled, ringNotJournaled, answer, decline, end, cancel, remoteEnded
        case fulfillAnswer, fulfillEnd, failAnswer, failEnd, handlerGone, handlerGoneRinging
        case hold, unhold, mute, digits, fulfillHold, restrict, reject, withhold, offer, claim, yield, lostAtRestart

        /// The state that this leads to from `name`; nil where it does not fit or changes nothing.
        func next(from name: Name) -> Name? {
            switch (self, name) {
            case (.wake, .queued): .woken
            case (.report, .woken): .reported
            case (.confirm, .reported): .confirmed
            case (.ringJournaled, .confirmed): .ringing
            case (.ringNotJournaled, .confirmed): .confirmed
            case (.answer, .ringing): .answering
            case (.fulfillAnswer, .answering): .connected
            case (.decline, .ringing): .ending
            case (.end, .queued): .ended
            case (.end, .woken), (.end, .reported), (.end, .confirmed), (.end, .ringing), (.end, .answering),
                (.end, .connected), (.end, .held):
                .ending
            case (.cancel, .queued), (.cancel, .woken), (.cancel, .reported), (.cancel, .confirmed),
                (.cancel, .ringing):
                .ended
            case (.failAnswer, .answering), (.fulfillEnd, .ending), (.failEnd, .ending): .ended
            case (.remoteEnded, .ended): nil
            case (.remoteEnded, _), (.handlerGone, .ending), (.handlerGoneRinging, .ending), (.lostAtRestart, .ending):
                .ended
            case (.handlerGone, .woken), (.handlerGone, .reported), (.handlerGone, .confirmed): .ended
            case (.handlerGoneRinging, .woken), (.handlerGoneRinging, .reported), (.handlerGoneRinging, .confirmed):
                .confirmed
            case (.lostAtRestart, .woken), (.lostAtRestart, .reported), (.lostAtRestart, .confirmed): .queued
            // It goes on for a while without a handler.
            case (.handlerGone, .ringing), (.handlerGone, .answering), (.handlerGone, .connected),
                (.handlerGone, .held),
                (.handlerGoneRinging, .ringing), (.handlerGoneRinging, .answering), (.handlerGoneRinging, .connected),
                (.handlerGoneRinging, .held), (.lostAtRestart, .ringing), (.lostAtRestart, .answering),
                (.lostAtRestart, .connected), (.lostAtRestart, .held):
                name
            case (.restrict, .woken): .ended
            case (.reject, .woken), (.reject, .reported): .ending
            case (.withhold, .queued): .confirmed
            // Asked for, and not done yet.
            case (.hold, .connected), (.unhold, .held), (.mute, .connected), (.mute, .held), (.digits, .connected),
                (.yield, .connected), (.yield, .answering):
                name
            default: nil
            }
        }

        func apply(to machine: inout CallStateMachine) throws(CallStateMachine.Refusal) -> [CallStateMachine.Output] {
            switch self {
            case .wake: try machine.wake(at: begin)
            case .report: try machine.report(at: begin)
            case .confirm: try machine.confirmRing(at: begin)
            case .ringJournaled: machine.ringJournaled(at: begin)
            case .ringNotJournaled: machine.ringNotJournaled(.missed, at: begin)
            case .answer: try machine.answer(at: begin)
            case .decline: try machine.decline(at: begin)
            case .end: try machine.end(at: begin)
            case .cancel: try machine.cancel(.answeredElsewhere)
            case .remoteEnded: machine.remoteEnded(.remoteEnded)
            case .fulfillAnswer: try machine.fulfill(.answer, at: begin)
            case .fulfillEnd: try machine.fulfill(.end, at: begin)
            case .failAnswer: try machine.fail(.answer)
            case .failEnd: try machine.fail(.end)
            case .handlerGone: machine.handlerGone(.exited, "the handler exited", fallback: .missed, at: begin)
            case .handlerGoneRinging: machine.handlerGone(.exited, "it exited", fallback: .ring, at: begin)
            case .hold: try machine.hold(at: begin)
            case .unhold: try machine.unhold(at: begin)
            case .mute: try machine.mute(true, at: begin)
            case .digits: try machine.play("12#", at: begin)
            case .fulfillHold: try machine.fulfill(.hold, at: begin)
            case .restrict: try machine.restrict(.blocked, "on the list 'spam'")
            case .reject: try machine.reject(at: begin)
            case .withhold: try machine.withhold(.ring, "struck out", at: begin)
            case .offer: machine.offer()
            case .claim: try machine.claim(at: begin)
            case .yield: machine.yield(at: begin)
            case .lostAtRestart: machine.handlerLostAtRestart(at: begin)
            }
        }
    }

    @Test("Each input leads from each state where the diagram says; what does not fit changes nothing")
    func everyInputInEveryState() throws {
        for name in CallStateMachineTests.names {
            for input in Input.allCases {
                let before = try CallStateMachineTests.machine(in: name)
                var machine = before
                do {
                    let outputs = try input.apply(to: &machine)
                    #expect(machine.state.name == input.next(from: name) ?? name, "\(input) in \(name)")
                    #expect((machine == before) == (input.next(from: name) == nil), "\(input) in \(name)")
                    if machine.state.name != name { #expect(outputs.first == .entered(machine.state)) }
                } catch {
                    #expect(input.next(from: name) == nil, "\(input) in \(name) was refused")
                    #expect(error.state == before.state)
                    #expect(machine == before)
                }
            }
        }
    }

    @Test("Every state but ended has a deadline, and what follows when it passes is as configured")
    func deadlines() throws {
        let expected: [(Name, Duration?, CallEndReason?, HandlerFailure?, stops: Bool)] = [
            (.queued, .seconds(30), .expired, nil, false),
            (.woken, .seconds(5), .handlerFailed, .didNotReport, true),
            (.reported, .seconds(5), .handlerFailed, .didNotConfirm, true),
            (.confirmed, .seconds(5), .failed, nil, true),
            (.ringing, .seconds(45), .unanswered, nil, false),
            (.answering, .seconds(10), .handlerFailed, .didNotAct, true),
            (.connected, .seconds(3600), .failed, nil, false),
            (.held, .seconds(3600), .failed, nil, false),
            (.ending, .seconds(10), .localEnded, .didNotAct, true),
            (.ended, nil, .localEnded, nil, false),
        ]
        #expect(expected.map(\.0) == CallStateMachineTests.names)
        for (name, after, reason, failure, stops) in expected {
            var machine = try CallStateMachineTests.machine(in: name)
            #expect(machine.nextDeadline == after.map { CallStateMachineTests.begin.advanced(by: $0) }, "\(name)")
            guard let deadline = machine.nextDeadline else { continue }
            let early = BootInstant(nanoseconds: deadline.nanoseconds - 1)
            #expect(machine.advance(to: early, fallback: .missed).isEmpty)
            #expect(machine.state.name == name, "one nanosecond early")
            let outputs = machine.advance(to: deadline, fallback: .missed)
            #expect(machine.hasEnded && machine.state.endReason == reason, "\(name): \(machine.state)")
            #expect(outputs.contains(.stopHandler) == stops, "\(name)")
            #expect(
                outputs.compactMap { if case .strike(let what) = $0 { what } else { nil } }
                    == [failure].compactMap(\.self))
        }
    }

    @Test("Before it rings a call ends as expired at ringBefore, whatever its other deadline, without a strike")
    func expiryBeforeRinging() throws {
        for name in [Name.woken, .reported, .confirmed] {
            var machine = CallStateMachine(
                deadlines: CallStateMachineTests.deadlines,
                ringBefore: CallStateMachineTests.begin.advanced(by: .seconds(2)))
            _ = try machine.wake(at: CallStateMachineTests.begin)
            if name != .woken { _ = try machine.report(at: CallStateMachineTests.begin) }
            if name == .confirmed { _ = try machine.confirmRing(at: CallStateMachineTests.begin) }
            #expect(machine.nextDeadline == machine.ringBefore)
            // Also where the daemon would ring for the handler: it is too late for that.
            let outputs = machine.advance(to: machine.ringBefore, fallback: .ring)
            #expect(outputs == [.entered(.ended(.expired, detail: nil)), .stopHandler])
        }
    }

    @Test("A confirmation, or the journal's word, that comes at ringBefore itself brings the end and no ring")
    func inputsAtExpiry() throws {
        var reported = try CallStateMachineTests.machine(in: .reported)
        #expect(try reported.confirmRing(at: reported.ringBefore) == [.entered(.ended(.expired, detail: nil))])
        var confirmed = try CallStateMachineTests.machine(in: .confirmed)
        #expect(confirmed.ringJournaled(at: confirmed.ringBefore) == [.entered(.ended(.expired, detail: nil))])
    }

    @Test("When the journal fails it is asked again after half a second, until the confirmation's deadline")
    func ringRetry() throws {
        var machine = try CallStateMachineTests.machine(in: .confirmed)
        var now = CallStateMachineTests.begin
        let limit = now.advanced(by: .seconds(5))
        var asked = 0
        while !machine.hasEnded, asked < 100 {
            #expect(machine.ringNotJournaled(.missed, at: now).isEmpty)
            let deadline = try #require(machine.nextDeadline)
            #expect(deadline == min(now.advanced(by: .milliseconds(500)), limit))
            now = deadline
            if machine.advance(to: now, fallback: .missed) == [.journalRing] { asked += 1 }
        }
        #expect(asked == 9 && now == limit)
        #expect(machine.state == .ended(.failed, detail: "the journal could not record in time that it rings"))
    }

    @Test(
        "By policy a call rings from memory when the journal fails, unless it has expired")
    func ringFromMemory() throws {
        let rings: [CallStateMachine.Output] = [
            .entered(.ringing(until: CallStateMachineTests.begin.advanced(by: .seconds(45))))
        ]
        var failed = try CallStateMachineTests.machine(in: .confirmed)
        #expect(failed.ringNotJournaled(.ring, at: CallStateMachineTests.begin) == rings)
        var expired = try CallStateMachineTests.machine(in: .confirmed)
        _ = expired.ringNotJournaled(.ring, at: expired.ringBefore)
        #expect(expired.state == .ended(.expired, detail: nil))
    }

    @Test("While the journal is being asked, a failure's wait is over: it rings as soon as the journal has it")
    func ringAfterRetry() throws {
        var machine = try CallStateMachineTests.machine(in: .confirmed)
        _ = machine.ringNotJournaled(.missed, at: CallStateMachineTests.begin)
        let retry = CallStateMachineTests.begin.advanced(by: .milliseconds(500))
        #expect(machine.advance(to: retry, fallback: .missed) == [.journalRing])
        #expect(machine.nextDeadline == CallStateMachineTests.begin.advanced(by: .seconds(5)))
        #expect(machine.ringJournaled(at: retry) == [.entered(.ringing(until: retry.advanced(by: .seconds(45))))])
    }

    @Test("A handler that goes is a strike while it owes something, and none while it was ending the call")
    func goneHandler() throws {
        for name in CallStateMachineTests.names {
            var machine = try CallStateMachineTests.machine(in: name)
            let outputs = machine.handlerGone(
                .exited, "the handler exited", fallback: .missed, at: CallStateMachineTests.begin)
            let owes = ![.queued, .ending, .ended].contains(name)
            #expect(outputs.contains(.strike(.exited)) == owes, "\(name)")
            let isBeforeRing = [.woken, .reported, .confirmed].contains(name)
            if isBeforeRing { #expect(machine.state == .ended(.handlerFailed, detail: "the handler exited")) }
            #expect((machine.claimBy != nil) == (owes && !isBeforeRing), "\(name)")
        }
    }

    @Test("What a handler says again, because it got no answer, is not refused and changes nothing")
    func saidAgain() throws {
        let done: [(Input, [Name])] = [
            (.report, [.reported, .confirmed, .ringing, .answering, .connected, .held]),
            (.confirm, [.confirmed, .ringing, .answering, .connected, .held]),
            (.fulfillAnswer, [.connected, .held]), (.fulfillHold, [.held]),
            (.fulfillEnd, [.ended]), (.failEnd, [.ended]), (.failAnswer, [.ended]), (.remoteEnded, [.ended]),
        ]
        for (input, names) in done {
            for name in names {
                let before = try CallStateMachineTests.machine(in: name)
                var machine = before
                #expect(try input.apply(to: &machine).isEmpty && machine == before, "\(input) in \(name)")
            }
        }
        // A call that has ended does not ring: its handler has to know.
        for input in [Input.report, .confirm] {
            var machine = try CallStateMachineTests.machine(in: .ended)
            #expect(throws: CallStateMachine.Refusal.self) { try input.apply(to: &machine) }
        }
    }

    @Test("The reason of an end that the user asked for stays, however the handler takes it")
    func endReasons() throws {
        for (from, reason) in [(Name.ringing, CallEndReason.declined), (.connected, .localEnded), (.held, .localEnded)]
        {
            for input in [Input.fulfillEnd, .failEnd, .remoteEnded, .handlerGone] {
                var machine = try CallStateMachineTests.machine(in: from)
                #expect(
                    try machine.end(at: CallStateMachineTests.begin).last
                        == .request(PendingAction(.end, by: CallStateMachineTests.begin.advanced(by: .seconds(10)))))
                _ = try input.apply(to: &machine)
                #expect(machine.hasEnded && machine.state.endReason == reason, "\(input) from \(from)")
            }
        }
    }

    @Test("Each state has a name of its own, and only ending and ended have a reason")
    func names() throws {
        for name in CallStateMachineTests.names {
            let state = try CallStateMachineTests.machine(in: name).state
            #expect(state.name == name && state.isEnded == (name == .ended))
            #expect((state.endReason != nil) == (name == .ending || name == .ended))
        }
    }
}
