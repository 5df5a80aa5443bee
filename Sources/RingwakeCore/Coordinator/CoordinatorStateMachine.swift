/// All calls of this device: the one place that decides what follows from a push, from what a handler does and from what
/// a user asks for.
///
///     pushReceived --its call is known--> updated, cancelled, duplicate or too late
///          |
///          +--expired----------> a Call that has ended: missed
///          +--restricted-------> a Call that has ended: kept out
///          +--too many calls---> refused
///          |
///          +--> a new Call in `active` --a handler is connected--> delivered to it
///                    |         |   --its app's handler runs already--> waits, until fetched or the handler exits
///                    |         |                                               |
///                    |         +--struck out--> rung by the daemon, or missed  |
///                    +------------------- wake <-------------------------------+
///                    |  every other event goes to its call's CallStateMachine, its app's HandlerLane
///                    v
///               `finished`, the last ones, so that a repeated push starts no second ring
///
/// This type applies events and composes the others: ``CallTable`` (calls by name), ``AppHandlers`` (lanes and strikes),
/// ``CallEngine`` (an input to a call, and what follows for the others), ``CallAssigner`` (which handler gets a call),
/// ``PushArrival`` (what a push means), ``QueuedUserRequest`` (what waits for other calls), ``StoredCall`` (what becomes of
/// a call at the start).
///
/// What holds after every event:
/// - at most one call waits for others to be held or ended for it;
/// - a push that is not refused is given to the journal exactly once;
/// - `active` and `finished` are bounded by ``Limits``, strikes by ``StrikeRecords``.
///
/// A value without clock and I/O: the driver says what time it is, runs the effects in order, and keeps one timer
/// at ``nextDeadline``.
package struct CoordinatorStateMachine: Hashable, Sendable {
    /// How much is kept.
    package struct Limits: Hashable, Sendable {
        /// Calls of one app in progress at a time, and its handlers.
        package var activeCallsOfAnApp = 512
        /// Calls of all apps in progress at a time, and handlers.
        package var activeCalls = 1024
        /// Calls that are remembered after their end.
        package var finishedCalls = 1024

        package init() {}
    }

    private var assigner: CallAssigner
    private let limits: Limits

    /// - Parameters:
    ///   - firstCallNumber: higher than that of every call that the journal knows.
    ///   - firstWakeNumber: higher than that of every handler that may still run.
    package init(firstCallNumber: Int64 = 1, firstWakeNumber: UInt64 = 1, limits: Limits = Limits()) {
        self.limits = limits
        assigner = CallAssigner(
            engine: CallEngine(
                calls: CallTable(firstNumber: firstCallNumber, maximumFinished: limits.finishedCalls),
                handlers: AppHandlers(firstWakeNumber: firstWakeNumber)))
    }

    // MARK: - Events

    /// Applies one event at `now` and says what to do, in order. What was due before is done first.
    package mutating func handle(_ event: Event, at now: BootInstant) -> [Effect] {
        var effects: [Effect] = []
        if let nextDeadline, nextDeadline <= now {
            effects = assigner.advance(to: now)
            if !effects.isEmpty { effects += followUp(at: now) }
        }
        effects += apply(event, at: now)
        effects += followUp(at: now)
        for app in assigner.engine.handlers.takeChanges() { effects.append(.appChanged(app)) }
        assigner.engine.calls.findDeadline()
        return effects
    }

    /// What follows from an event for calls that it does not concern by itself.
    private mutating func followUp(at now: BootInstant) -> [Effect] {
        let effects = assigner.withholdWaiting(at: now)
        let (progress, answered) = assigner.engine.proceed(at: now)
        return effects + progress + (answered.map { assigner.findHandler(forAnswered: $0, at: now) } ?? [])
    }

    private mutating func apply(_ event: Event, at now: BootInstant) -> [Effect] {
        switch event {
        case .pushReceived(let push, let facts, let policy, let restriction):
            return receive(push, facts, policy, restriction, at: now)
        case .pushJournaled(let key, let number, let isKnown):
            if isKnown, let call = call(key), call.number == number { return forget(call, at: now) }
            assigner.engine.calls.noteJournaled(key, number: number, at: now)
            return []
        case .ringJournaled(let key, let number, let isKnown):
            guard let call = active[key], call.number == number else { return [] }
            guard !isKnown else { return forget(call, at: now) }
            return assigner.engine.settle(key, at: now) { $0.ringJournaled(at: now) }
        case .ringNotJournaled(let key, let number):
            guard active[key]?.number == number else { return [] }
            return assigner.engine.settle(key, at: now) { $0.ringNotJournaled(at: now) }
        case .restored(let call, let policy):
            return restore(call, policy, at: now)
        case .handlersRestored(let app, let handlers, let alive, let policy):
            return assigner.restoreHandlers(handlers, of: app, alive: alive, policy, at: now)
        case .strikesRestored(let app, let strikes, let isStruckOut):
            assigner.engine.handlers.restore(strikes, of: app, isStruckOut: isStruckOut)
            return []
        case .strikesCleared(let app):
            guard let effects = assigner.engine.handlers.clearStrikes(of: app) else { return [] }
            return effects + assigner.startWaiting(of: app, at: now)
        case .handlerConnected(let app, let wake, let pid, let policy):
            return assigner.handlerConnected(app, wake, pid: pid, policy, at: now)
        case .handlerDisconnected(let wake):
            return assigner.handlerDisconnected(wake, at: now)
        case .claimed(let key, let wake):
            return assigner.claim(key, by: wake, at: now)
        case .handlerStarted(let wake, let pid):
            return assigner.handlerStarted(wake, pid: pid, at: now)
        case .handlerNotStarted(let wake, let why):
            return assigner.handlerGone(wake, .didNotStart, why, at: now)
        case .handlerExited(let wake, let exit):
            return assigner.handlerGone(
                wake, .exited, "the handler \(exit)", inGoodOrder: exit.isInGoodOrder, at: now)
        case .pushesFetched(let wake):
            return assigner.fetch(by: wake, at: now)
        case .reported(let key, let update, let ring, let wake, let restriction):
            return assigner.report(key, update, ring: ring, by: wake, restriction, at: now)
        case .ringConfirmed(let key, let wake):
            return assigner.confirmRing(key, by: wake, at: now)
        default:
            return assigner.engine.apply(event, at: now)
        }
    }

    // MARK: - Pushes

    private mutating func receive(
        _ push: VerifiedPush, _ facts: PushFacts, _ policy: AppPolicy, _ restriction: Restriction?,
        at now: BootInstant
    ) -> [Effect] {
        let key = key(of: push, facts)
        let arrival = PushArrival(
            of: push, facts, policy, known: call(key), restriction, isStruckOut: isStruckOut(push.app), at: now)
        switch arrival {
        case .repeated(let call, let before):
            // Perhaps it was answered 503: then the repeat has to bring all that the journal needs.
            let isDurable = call.isJournaled && call.pushID.lowercased() == push.pushID.lowercased()
            return ignore(
                push, call, .duplicate, recordedAs: isDurable ? .duplicate : before,
                payloads: call.isJournaled ? [] : call.pushes.payloads)
        case .late(let call):
            return ignore(push, call, .duplicate, recordedAs: .duplicate)
        case .cancelsNothing:
            let record = PushRecord(push, call: key.id, outcome: .tooLate)
            return [.journalPush(record, payloads: [], call: nil), .pushIgnored(push, key, .tooLate)]
        case .updates(let call):
            return update(call, push, facts, at: now)
        case .cancels(let call, let reason):
            return cancel(call, reason, push, at: now)
        case .starts(let outcome):
            guard hasRoom(for: push.app) else { return [.refused(.tooManyCalls(push.app))] }
            return start(key, push, facts, policy, outcome) { assigner, call in
                assigner.engine.calls.file(call)
                return assigner.admit(key, policy, at: now)
            }
        case .ends(let outcome, let reason, let detail):
            return start(key, push, facts, policy, outcome) { assigner, call in
                assigner.engine.settle(call, at: now, restricting: restriction) { $0.abandon(reason, detail) }
            }
        }
    }

    /// Whether there may be one more call, and one more handler. Handlers outlive their calls for a while.
    private func hasRoom(for app: AppID) -> Bool {
        let calls = active.keys.count { $0.app == app }
        return active.count < limits.activeCalls && calls < limits.activeCallsOfAnApp
            && assigner.engine.handlers.count < limits.activeCalls
            && lanes[app]?.handlers.count ?? 0 < limits.activeCallsOfAnApp
    }

    /// Makes a new call, which `proceed` stores, and gives its push to the journal.
    private mutating func start(
        _ key: CallKey, _ push: VerifiedPush, _ facts: PushFacts, _ policy: AppPolicy, _ outcome: PushOutcome,
        _ proceed: (inout CallAssigner, Call) -> [Effect]
    ) -> [Effect] {
        let call = Call(number: nextCallNumber, key: key, push: push, facts, outcome, policy)
        let effects = proceed(&assigner, call)
        let record = PushRecord(push, call: key.id, outcome: outcome)
        let isOver = outcome != .started && outcome != .withheld
        let journal = Effect.journalPush(
            record, payloads: isOver ? [] : [CallPayload(push: 0, bytes: push.payload)],
            call: (self.call(key) ?? call).journalRecord)
        // After the wake, which must not wait for the disk, and before observers are notified.
        let wakes = effects.prefix(while: \.isWake)
        return wakes + [journal] + effects.dropFirst(wakes.count)
    }

    /// A push that says more of a call in progress.
    private mutating func update(
        _ known: Call, _ push: VerifiedPush, _ facts: PushFacts, at now: BootInstant
    ) -> [Effect] {
        // Not durable yet: perhaps its first push was answered 503.
        let adopts = !known.isJournaled
        let outcome: PushOutcome = adopts ? (known.pushes.wasWithheld ? .withheld : .started) : .updated
        var call = known
        call.keep(push, facts, outcome)
        assigner.engine.calls.file(call)
        let record = PushRecord(push, call: call.key.id, outcome: outcome)
        let payloads = adopts ? call.pushes.payloads : call.pushes.newestPayload
        return [.journalPush(record, payloads: payloads, call: call.journalRecord), .callChanged(call)]
            + assigner.notifyHandler(of: call.key, at: now)
    }

    private mutating func cancel(
        _ known: Call, _ reason: CallEndReason, _ push: VerifiedPush, at now: BootInstant
    ) -> [Effect] {
        let key = known.key
        let effects = assigner.engine.settle(key, at: now) { machine throws(CallStateMachine.Refusal) in
            try machine.cancel(reason)
        }
        guard var call = call(key), call.machine != known.machine else {
            return ignore(push, known, .tooLate, recordedAs: .tooLate)
        }
        call.noteCancelled(by: push)
        assigner.engine.calls.file(call)
        let record = PushRecord(push, call: key.id, outcome: .cancelled)
        // Nothing has rung yet, so the handler has nothing to clean up; stop it.
        let hasHandler = known.machine.state.awaitsRing && known.machine.state != .queued
        let stop =
            hasHandler ? assigner.engine.handlers.dismissIfIdle(known.handler, of: key.app, at: now) : []
        return [.journalPush(record, payloads: [], call: call.journalRecord)] + effects + stop
    }

    /// A push that changes nothing, but may bring what the journal doesn't have yet.
    private func ignore(
        _ push: VerifiedPush, _ call: Call, _ outcome: PushOutcome, recordedAs recorded: PushOutcome,
        payloads: [CallPayload] = []
    ) -> [Effect] {
        let record = PushRecord(push, call: call.key.id, outcome: recorded)
        return [
            .journalPush(record, payloads: payloads, call: call.isJournaled ? nil : call.journalRecord),
            .pushIgnored(push, call.key, outcome),
        ]
    }

    // MARK: - The journal

    /// The journal had a call of this name long before: the push was a late repeat. Its handler was woken in vain,
    /// and the user is not told.
    private mutating func forget(_ call: Call, at now: BootInstant) -> [Effect] {
        guard !call.machine.hasEnded else { return [] }
        var effects = assigner.engine.settle(call.key, at: now) {
            $0.abandon(.cancelled, "it repeats a call that had ended")
        }
        effects.removeAll { if case .callMissed = $0 { true } else { false } }
        return effects + assigner.engine.handlers.dismissIfIdle(call.handler, of: call.key.app, at: now)
    }

    /// Calls that had ended when the daemon last did, so that their pushes' repeats are known; the oldest first.
    package mutating func remember(_ records: [CallRecord]) {
        for record in records where call(record.key) == nil { correct(record) }
    }

    /// What the journal has of a call of which the coordinator learned by a late repeat: it replaces the repeat's call.
    package mutating func correct(_ record: CallRecord) {
        guard active[record.key] == nil, record.state == .ended else { return }
        assigner.engine.calls.file(Call(record, [], AppPolicy()))
    }

    /// Takes up a call that had not ended. It finds its handler, or another one, with the event `handlersRestored`.
    private mutating func restore(_ stored: StoredCall, _ policy: AppPolicy?, at now: BootInstant) -> [Effect] {
        var record = stored.record
        let key = record.key
        guard call(key) == nil else { return [] }
        guard record.state != .ended else {
            remember([record])
            return []
        }
        if let handler = record.progress?.handler { assigner.engine.handlers.skip(handler) }
        let fate = stored.fate(hasPolicy: policy != nil, at: now)
        let rangAt = record.ringRequestedAt.map { min($0, now) }
        let stands = if case .stands = fate { true } else { false }
        if !stands { record.progress = nil }
        var call = Call(record, stored.payloads, policy ?? AppPolicy())
        // That the call was journaled is known; when, may not have been written.
        call.note(.journaled, at: now)
        if stands { call.restored(at: now) }
        assigner.engine.calls.file(call)
        switch fate {
        case .deliveredAgain: return []
        case .ends(let reason, let detail):
            return assigner.engine.settle(key, at: now) { $0.abandon(reason, detail) }
        case .stands:
            // Where the ring was requested, and that is on the disk, people may have noticed it.
            let ring = rangAt.map { at in assigner.engine.settle(key, at: at) { $0.ringJournaled(at: at) } }
            // The deadlines of what the user waited for may have passed meanwhile.
            return (ring ?? []) + assigner.engine.advance(call, at: now)
        }
    }

    // MARK: - What the driver derives after each event

    /// The calls in progress.
    package var active: [CallKey: Call] { assigner.engine.calls.active }

    /// The calls that ended last, the oldest first.
    package var finished: [Call] { assigner.engine.calls.finished }

    /// The call of this name, in progress or among the last that ended.
    package func call(_ key: CallKey) -> Call? { assigner.engine.calls[key] }

    /// The name of the call that a push is about; see ``CallTable/key(of:_:)``.
    package func key(of push: VerifiedPush, _ facts: PushFacts) -> CallKey {
        assigner.engine.calls.key(of: push, facts)
    }

    /// The number of the next call.
    package var nextCallNumber: Int64 { assigner.engine.calls.nextNumber }

    /// The handlers of each app that has any, and the calls that wait for one.
    package var lanes: [AppID: HandlerLane] { assigner.engine.handlers.lanes }

    /// The number of the next start of a handler.
    package var nextWakeNumber: UInt64 { assigner.engine.handlers.nextWakeNumber }

    /// The process of the handler that has this call; nil when there is none, or none any more.
    package func process(of call: Call) -> Int32? { call.handler.flatMap { lanes[call.key.app]?.handlers[$0]?.pid } }

    /// The strikes against the app's handlers, the oldest first: those that counted when the last one came.
    package func strikes(of app: AppID) -> [Strike] { assigner.engine.handlers.strikes.strikes(of: app) }

    /// Whether the app's handlers are not started any more, until its strikes are cleared.
    package func isStruckOut(_ app: AppID) -> Bool { assigner.engine.handlers.strikes.isStruckOut(app) }

    /// When ``Event/deadlineReached`` is due; nil while no call is in progress.
    package var nextDeadline: BootInstant? {
        guard let call = assigner.engine.calls.nextDeadline else { return assigner.engine.handlers.nextDeadline }
        return assigner.engine.handlers.nextDeadline.map { min(call, $0) } ?? call
    }

    /// Whether the device has a cellular call.
    package var isCellularActive: Bool { assigner.engine.isCellularActive }

    /// Whether a call is in progress, a cellular one too: a further one that rings is a waiting call.
    package var isInCall: Bool { assigner.engine.isInCall }

    /// Whether the user has answered or resumed this call, and other calls are being held or ended for it.
    package func waitsForOthers(_ key: CallKey) -> Bool { assigner.engine.request?.call == key }

    /// The calls that ring, the oldest first, except those that the user has answered and that wait for others.
    package var ringingCalls: [Call] {
        assigner.engine.calls.mayNeedAudio.filter { $0.machine.state.name == .ringing && !waitsForOthers($0.key) }
    }

    /// Whether a call awaits its answer, its refusal or its deadline: the machine has to stay awake for it.
    package var isAnyCallUnanswered: Bool {
        active.values.contains { call in
            let state = call.machine.state
            return state.awaitsRing || state.name == .ringing || state.name == .answering
        }
    }

    /// What the calls need of audio now.
    ///
    /// - Parameters:
    ///   - former: what they needed when this was asked last.
    ///   - processes: of a call's handler, as far as they are known.
    package func audioNeeds(
        after former: CallAudioNeeds, processes: (Call) -> Set<Int32>
    ) -> CallAudioNeeds {
        // This is asked after each event: calls that wait for their handlers cost no more than a look.
        let calls = assigner.engine.calls.mayNeedAudio
        var needs = CallAudioNeeds(
            of: calls, isFocusComing: assigner.engine.request != nil, after: former, processes: processes)
        needs.isRinging = !ringingCalls.isEmpty
        return needs
    }
}
