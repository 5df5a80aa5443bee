/// All calls of this device: the one place that decides what a push, a handler and a user bring about.
///
///     pushReceived --expired, or its call is known--> pushIgnored
///          |
///          +--too many calls--> refused
///          |
///          +--> a new Call in `active` --> wake
///                    |  every other event goes to its call's CallStateMachine
///                    v
///               `finished`, the last ones, so that a repeated push starts no second ring
///
/// What holds after every event:
/// - a call id of an app is in `active` or in `finished`, never in both, and starts a handler at most once;
/// - each call in `active` has not ended and has a deadline; each in `finished` has ended;
/// - `active` and `finished` are bounded by ``Limits``.
///
/// A value without clock and I/O: the driver says what time it is, runs the effects in order, and keeps one timer
/// at ``nextDeadline``.
package struct CoordinatorStateMachine: Hashable, Sendable {
    /// How much is kept.
    package struct Limits: Hashable, Sendable {
        /// Calls of one app that run at a time.
        package var activeCallsOfAnApp = 512
        /// Calls of all apps that run at a time.
        package var activeCalls = 1024
        /// Calls that are remembered after their end.
        package var finishedCalls = 1024

        package init() {}
    }

    /// The calls that run.
    package private(set) var active: [CallKey: Call] = [:] {
        didSet { isDeadlineStale = true }
    }
    /// When ``Event/deadlineReached`` is due; nil while no call runs.
    package private(set) var nextDeadline: BootInstant?
    /// The calls that ended last, the oldest first.
    package private(set) var finished: [Call] = []
    /// How long each state of the calls to come may last.
    package var deadlines: CallDeadlines

    private var finishedIndex: [CallKey: Int] = [:]
    private var finishedDropped = 0
    /// Whether `active` changed since `nextDeadline` was found: a repeated push must not cost a look at every call.
    private var isDeadlineStale = false
    private let limits: Limits

    package init(deadlines: CallDeadlines = CallDeadlines(), limits: Limits = Limits()) {
        self.deadlines = deadlines
        self.limits = limits
    }

    /// The call of this name, running or among the last that ended.
    package func call(_ key: CallKey) -> Call? {
        active[key] ?? finishedIndex[key].map { finished[$0 - finishedDropped] }
    }

    /// Applies one event at `now` and says what to do, in order. What was due before is done first.
    package mutating func handle(_ event: Event, at now: BootInstant) -> [Effect] {
        let effects = advance(to: now) + apply(event, at: now)
        if isDeadlineStale {
            nextDeadline = active.values.compactMap(\.machine.nextDeadline).min()
            isDeadlineStale = false
        }
        return effects
    }

    private mutating func advance(to now: BootInstant) -> [Effect] {
        guard let due = nextDeadline, due <= now else { return [] }
        let late = active.values.filter { ($0.machine.nextDeadline ?? now) <= now }
            .sorted { ($0.machine.nextDeadline ?? now) < ($1.machine.nextDeadline ?? now) }
        return late.flatMap { call in
            settle(call.key, at: now) { machine throws(CallStateMachine.Refusal) in machine.advance(to: now) }
        }
    }

    private mutating func apply(_ event: Event, at now: BootInstant) -> [Effect] {
        switch event {
        case .pushReceived(let push):
            return receive(push, at: now)
        case .handlerStarted(let key, let pid):
            return handlerStarted(key, pid: pid, at: now)
        case .handlerNotStarted(let key, let why):
            return settle(key, at: now) { machine throws(CallStateMachine.Refusal) in machine.handlerGone(why) }
        case .handlerExited(let key, let exit):
            return handlerExited(key, exit, at: now)
        case .reported(let key, let update, let ring):
            return report(key, update, ring: ring, at: now)
        case .ringConfirmed(let key):
            return settle(key, at: now) { machine throws(CallStateMachine.Refusal) in
                try machine.confirmRing(at: now)
            }
        case .answerRequested(let key):
            return settle(key, at: now, noting: .answered) { machine throws(CallStateMachine.Refusal) in
                try machine.answer(at: now)
            }
        case .declineRequested(let key):
            return settle(key, at: now, noting: .hungUp) { machine throws(CallStateMachine.Refusal) in
                try machine.decline(at: now)
            }
        case .endRequested(let key):
            return settle(key, at: now, noting: .hungUp) { machine throws(CallStateMachine.Refusal) in
                try machine.end(at: now)
            }
        case .fulfilled(let key, let action):
            return settle(key, at: now) { machine throws(CallStateMachine.Refusal) in
                try machine.fulfill(action, at: now)
            }
        case .actionFailed(let key, let action):
            return settle(key, at: now) { machine throws(CallStateMachine.Refusal) in try machine.fail(action) }
        case .remoteEnded(let key, let reason):
            return settle(key, at: now) { machine throws(CallStateMachine.Refusal) in
                try machine.remoteEnded(reason)
            }
        case .deadlineReached:
            return []
        }
    }
}

extension CoordinatorStateMachine {
    private mutating func receive(_ push: VerifiedPush, at now: BootInstant) -> [Effect] {
        // Until an app maps its payload, the apns-id is the call id.
        let key = CallKey(app: push.app, id: CallID(push.apnsID))
        guard call(key) == nil else { return [.pushIgnored(push, .duplicate)] }
        var expiration: BootInstant?
        if case .at(let instant) = push.expiration {
            guard instant > now else { return [.pushIgnored(push, .expired)] }
            expiration = instant
        }
        let ofThisApp = active.keys.count { $0.app == push.app }
        guard active.count < limits.activeCalls, ofThisApp < limits.activeCallsOfAnApp else {
            return [.refused(.tooManyCalls(push.app))]
        }
        let machine = CallStateMachine(wokenAt: now, deadlines: deadlines, expiration: expiration)
        let call = Call(push: push, id: key.id, machine: machine)
        active[key] = call
        let request = WakeRequest(
            app: push.app, topic: push.topic, call: key.id, attempt: call.attempt, receivedAt: push.receivedAt,
            reportBy: machine.nextDeadline ?? now, payload: push.payload)
        // The wake comes first: to tell of it can wait, the caller cannot.
        return [.wake(request), .callChanged(call)]
    }

    private mutating func handlerStarted(_ key: CallKey, pid: Int32, at now: BootInstant) -> [Effect] {
        guard var call = active[key] else { return [.refused(.unknownCall(key))] }
        call.handler = pid
        call.note(.woke, at: now)
        active[key] = call
        return []
    }

    private mutating func handlerExited(_ key: CallKey, _ exit: HandlerExit, at now: BootInstant) -> [Effect] {
        if let index = finishedIndex[key] {
            finished[index - finishedDropped].handler = nil
            return []
        }
        active[key]?.handler = nil
        return settle(key, at: now) { machine throws(CallStateMachine.Refusal) in
            machine.handlerGone("the handler \(exit)")
        }
    }

    private mutating func report(
        _ key: CallKey, _ update: CallUpdate, ring: Bool, at now: BootInstant
    ) -> [Effect] {
        var effects = settle(key, at: now, updating: update) { machine throws(CallStateMachine.Refusal) in
            try machine.report(at: now)
        }
        if ring, case .reported = active[key]?.machine.state {
            effects += settle(key, at: now) { machine throws(CallStateMachine.Refusal) in
                try machine.confirmRing(at: now)
            }
        }
        return effects
    }

    /// Gives one input to a call's machine and turns what it asks for into effects; files the call when it ended.
    private mutating func settle(
        _ key: CallKey, at now: BootInstant, noting stage: TimelineEntry.Stage? = nil,
        updating update: CallUpdate? = nil,
        _ input: (inout CallStateMachine) throws(CallStateMachine.Refusal) -> [CallStateMachine.Output]
    ) -> [Effect] {
        guard var call = call(key) else { return [.refused(.unknownCall(key))] }
        let outputs: [CallStateMachine.Output]
        do {
            outputs = try input(&call.machine)
        } catch {
            return [.refused(.wrongState(key, error.state))]
        }
        guard !outputs.isEmpty else { return [] }
        if let update {
            call.update = update
        }
        if let stage {
            call.note(stage, at: now)
        }
        let effects: [Effect] = outputs.map { output in
            switch output {
            case .entered(let state):
                if let stage = state.timelineStage {
                    call.note(stage, at: now)
                }
                return .callChanged(call)
            case .request(let action, let deadline):
                return .request(action, key, by: deadline)
            case .stopHandler:
                return .stopHandler(key)
            }
        }
        file(call)
        return effects
    }

    private mutating func file(_ call: Call) {
        guard call.machine.hasEnded else {
            active[call.key] = call
            return
        }
        active[call.key] = nil
        finishedIndex[call.key] = finishedDropped + finished.count
        finished.append(call)
        // Dropped in batches: taking the first element of an array moves all the others.
        guard finished.count >= limits.finishedCalls * 2 else { return }
        let surplus = finished.count - limits.finishedCalls
        for call in finished.prefix(surplus) {
            finishedIndex[call.key] = nil
        }
        finished.removeFirst(surplus)
        finishedDropped += surplus
    }
}

extension CallStateMachine.State {
    /// What entering this state adds to the timeline; the rest is noted by the event that brings it about.
    fileprivate var timelineStage: TimelineEntry.Stage? {
        switch self {
        case .reported: .reported
        case .ringing: .rang
        case .connected: .connected
        case .ended: .ended
        case .woken, .answering, .ending: nil
        }
    }
}
