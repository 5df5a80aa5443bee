import RingwakeCore
import Testing

/// What must hold of an arbiter whatever happens, looked at from outside: from its events and its effects.
struct AudioChecks {
    private(set) var asked: (number: UInt64, plan: AudioPlan, resumes: Bool)?
    /// The requests of each session that have not been answered, the oldest first.
    private(set) var open: [AudioSessionID: [Request]] = [:]
    /// Choices of an output that the engine was told of and that it has not answered, the oldest first.
    private(set) var choicesSent: [UInt64] = []
    /// Choices of an output that have not been answered.
    private(set) var choices: Set<UInt64> = []
    private(set) var activeCalls: Set<CallKey> = []
    /// Sessions whose clients were told of the begin of an interruption and not of its end.
    private(set) var interrupted: Set<AudioSessionID> = []
    private(set) var isEngineThere = false
    private var lastNumber: UInt64 = 0
    /// What each session was last told of inputs.
    private var inputs: [AudioSessionID: Bool] = [:]

    enum Request { case activate, deactivate, configure }

    mutating func look(
        at event: AudioEvent, _ effects: [AudioEffect], before: AudioArbiter, after: AudioArbiter, now: BootInstant
    ) {
        note(event, effects)
        for effect in effects { look(at: effect) }
        look(at: after)
        if case .deadlineReached = event, let next = after.nextDeadline {
            expect(next > now, "a deadline that was reached is over")
        }
        if effects.contains(where: { if case .refused = $0 { true } else { false } }) {
            var unchanged = before
            // Asking may start an engine that was given up.
            if effects.count == 1 { expect(unchanged.handle(event, at: now) == effects, "what is refused is so again") }
        }
    }

    /// Recorded only where it does not hold: it is looked at after each of a great many events.
    private func expect(
        _ holds: Bool, _ what: @autoclosure () -> String, at location: SourceLocation = #_sourceLocation
    ) {
        if !holds { Issue.record("\(what())", sourceLocation: location) }
    }

    private mutating func note(_ event: AudioEvent, _ effects: [AudioEffect]) {
        switch event {
        case .configured(let id, _): note(.configure, of: id, effects)
        case .activationRequested(let id): note(.activate, of: id, effects)
        case .deactivationRequested(let id, _): note(.deactivate, of: id, effects)
        case .reported(.applied(let number, _)), .reported(.refused(let number, _)):
            if asked?.number == number { asked = nil }
        case .outputChosen(_, let number): choices.insert(number)
        case .reported(.outputChosen(let number, _)): choicesSent.removeAll { $0 == number }
        case .reported(.lost), .reported(.unavailable), .reported(.connected):
            guard isEngineThere else { break }
            asked = nil
            choicesSent = []
        case .engineGone:
            asked = nil
            choicesSent = []
            isEngineThere = false
        default: break
        }
    }

    private mutating func note(_ request: Request, of id: AudioSessionID, _ effects: [AudioEffect]) {
        let isRefused = effects.contains { if case .refused(id, _) = $0 { true } else { false } }
        if !isRefused { open[id, default: []].append(request) }
    }

    private mutating func lookAtAnswer(to id: AudioSessionID, isSuccess: Bool) {
        guard let request = open[id]?.first else { return expect(false, "one answer for each request") }
        open[id]?.removeFirst()
        if isSuccess, request != .configure { interrupted.remove(id) }
    }

    private mutating func look(at effect: AudioEffect) {
        switch effect {
        case .startEngine:
            expect(!isEngineThere, "one engine at a time")
            isEngineThere = true
        case .stopEngine:
            expect(isEngineThere, "only an engine that is there is stopped")
            isEngineThere = false
            asked = nil
            choicesSent = []
        case .send(.chooseOutput(_, let number?)):
            expect(isEngineThere && !choicesSent.contains(number), "the engine there is told of a choice once")
            choicesSent.append(number)
        case .answerChoice(let number, _): expect(choices.remove(number) != nil, "one answer for each choice")
        case .send(.apply(let number, let plan, let resumes)):
            expect(isEngineThere && asked == nil, "no plan while one is under way")
            expect(number > lastNumber, "numbers rise")
            lastNumber = number
            asked = (number, plan, resumes)
        case .send: expect(isEngineThere, "nobody is there to hear it")
        case .answer(let id, let result): lookAtAnswer(to: id, isSuccess: result.isSuccess)
        case .call(let key, .activated):
            expect(activeCalls.insert(key).inserted, "every activation is followed by a deactivation before the next")
        case .call(let key, .deactivated):
            expect(activeCalls.remove(key) != nil, "no deactivation without an activation")
        case .call(let key, .routeChanged(_, let previous, let current)):
            expect(activeCalls.contains(key) && previous != current, "the route of the active call, and another")
        case .call(let key, .failed): expect(!activeCalls.contains(key), "it was told to be active")
        case .notify(let id, let notice): look(at: notice, to: id)
        case .refused, .problem: break
        }
    }

    private mutating func look(at notice: AudioNotice, to id: AudioSessionID) {
        switch notice {
        case .interruptionBegan: expect(interrupted.insert(id).inserted, "no second begin while interrupted")
        case .interruptionEnded: expect(interrupted.remove(id) != nil, "no end without a begin")
        case .mediaServicesWereLost: interrupted.remove(id)
        case .routeChanged(_, let previous, let current): expect(previous != current, "another route")
        case .inputAvailabilityChanged(let isAvailable):
            expect(inputs.updateValue(isAvailable, forKey: id) != isAvailable, "a change is told once")
        case .secondaryAudioShouldBeSilenced, .mediaServicesWereReset: break
        }
    }

    /// What holds between events.
    private mutating func look(at arbiter: AudioArbiter) {
        interrupted.formIntersection(arbiter.sessions.keys)
        for (id, session) in arbiter.sessions {
            switch session.machine.state {
            case .interrupted(by: .some): expect(interrupted.contains(id), "the begin was told")
            case .interrupted(by: nil), .activating, .deactivating: break
            case .inactive, .active, .lost: interrupted.remove(id)
            }
        }
        expect(arbiter.sessions.count <= AudioArbiter.maximumSessions, "sessions are bounded")
        expect(open.values.allSatisfy { $0.count <= AudioArbiter.maximumRequests + 1 }, "requests are bounded")
        expect(choices.count <= AudioArbiter.maximumChoices, "choices are bounded")
        let plan = arbiter.plan
        look(at: plan, of: arbiter)
        let active = Set(arbiter.activeCalls)
        expect(active.isEmpty || active == activeCalls, "the calls were told that they are active")
        expect(activeCalls.isEmpty || !active.isEmpty || isDeactivating(arbiter), "or that they are not")
        let alone = arbiter.sessions.values.filter {
            $0.machine.state.name == .active && !$0.configuration.isMixable
        }
        expect(alone.count <= 1, "one at most is heard alone")
        lookAtRest(arbiter, plan)
    }

    private func look(at plan: AudioPlan, of arbiter: AudioArbiter) {
        let planned = plan.sessions.map(\.id)
        expect(Set(planned).count == planned.count, "each session once")
        for (id, session) in arbiter.sessions {
            let isPlanned = [.active, .activating].contains(session.machine.state.name)
            expect(planned.contains(id) == isPlanned, "the plan has the sessions that are active")
            expect(!isPlanned || plan.silenced[id] == nil, "and these are not silenced")
        }
        expect(plan.ducked.keys.allSatisfy(planned.contains), "who is ducked is active")
        expect(!planned.contains(.call) || planned.first == .call, "the call's route counts")
        expect(!planned.contains(.ringing) || planned.last == .ringing, "ringing never decides the route")
        expect(plan.sessions.filter(\.isCall).allSatisfy { $0.id == .call }, "nobody else is a call")
        expect(plan.ducked[.call] == nil, "a call is never ducked")
    }

    private func isDeactivating(_ arbiter: AudioArbiter) -> Bool {
        if case .deactivating = arbiter.call.state { true } else { false }
    }

    /// Where nothing is waited for there is no deadline, and nobody waits for who is not there.
    private func lookAtRest(_ arbiter: AudioArbiter, _ plan: AudioPlan) {
        let hasOpen = open.values.contains { !$0.isEmpty } || !choices.isEmpty
        let needs = arbiter.needs
        let isCall = needs.isAnyCall || needs.isRinging || needs.focus != nil || arbiter.call.state != .idle
        let isNeeded = isCall || !arbiter.sessions.isEmpty
        let waits = hasOpen || asked != nil || (isEngineThere && !isNeeded) || arbiter.engine.isFailed
        switch arbiter.call.state {
        case .activating, .deactivating: break
        case .idle, .active, .retained, .failed:
            expect((arbiter.nextDeadline != nil) == waits, "a deadline where something is waited for, and only there")
        }
        guard asked == nil else { return }
        for (id, session) in arbiter.sessions {
            var (seen, next): (Set<AudioSessionID>, AudioInterrupter?) = ([id], session.machine.state.interrupter)
            while case .session(let by)? = next {
                expect(seen.insert(by).inserted, "nobody waits for himself")
                if by < .firstClient {
                    expect(plan.sessions.contains { $0.id == by }, "who holds others back goes on")
                    break
                }
                let state = arbiter.sessions[by]?.machine.state
                expect([.active, .interrupted].contains(state?.name), "who holds others back goes on")
                guard seen.count <= arbiter.sessions.count else { break }
                next = state?.interrupter
            }
        }
    }
}

extension AudioEngineView {
    /// Whether it waits for another attempt to start.
    var isFailed: Bool { if case .failed = state { true } else { false } }
}
