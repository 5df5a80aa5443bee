/// All calls of this device. Only this type decides what follows from a push, from a handler's report and from a user's
/// request.
///
///     pushReceived --its call is known--> updated, cancelled, duplicate or too late
///          |
///          +--expired----------> a Call that has ended: missed
///          +--restricted-------> a Call that has ended: restricted
///          +--too many, too fast-> refused
///          +--its collapse id--> the waiting Call with that id has ended: replaced; and
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
/// This type applies events and composes the others: ``CallTable`` (calls by key), ``AppHandlers`` (lanes and strikes),
/// ``CallEngine`` (an input to a call, and what follows for the others), ``CallAssigner`` (which handler gets a call),
/// ``PushArrival`` (what a push means), ``QueuedUserRequest`` (a request that waits for other calls), ``StoredCall``
/// (how a call is restored).
///
/// What holds after every event:
/// - at most one call waits until others are held or ended for it;
/// - a push that is not refused is sent to the journal exactly once;
/// - `active` and `finished` are bounded by ``Limits``, strikes by ``StrikeRecords``.
///
/// A value without clock and I/O: the driver passes the time, runs the effects in order, and keeps one timer at
/// ``nextDeadline``.
package struct CoordinatorStateMachine: Hashable, Sendable {
    /// The maximum number of calls and handlers.
    package struct Limits: Hashable, Sendable {
        /// Calls in progress of one app, and its handlers.
        package var activeCallsOfAnApp = 512
        /// Calls in progress of all apps, and handlers.
        package var activeCalls = 1024
        /// Calls that are kept after their end.
        package var finishedCalls = 1024
        /// Calls that pushes to one device token may start at once, and the time after which each further one may.
        package var startsAtOnce = 1000
        package var startInterval = Duration.milliseconds(50)

        package init() {}
    }

    private var assigner: CallAssigner

    /// - Parameters:
    ///   - firstCallNumber: higher than the number of every call in the journal.
    ///   - firstWakeNumber: higher than the number of every handler that may still run.
    package init(firstCallNumber: Int64 = 1, firstWakeNumber: UInt64 = 1, limits: Limits = Limits()) {
        assigner = CallAssigner(
            engine: CallEngine(
                calls: CallTable(firstNumber: firstCallNumber, maximumFinished: limits.finishedCalls),
                handlers: AppHandlers(firstWakeNumber: firstWakeNumber),
                pace: CallPace(RateBucket(burst: limits.startsAtOnce, interval: limits.startInterval)), limits: limits))
    }

    // MARK: - Events

    /// Applies one event at `now` and returns the effects, in order. Overdue deadlines are applied first.
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

    /// Applies the consequences of an event for other calls.
    private mutating func followUp(at now: BootInstant) -> [Effect] {
        let effects = assigner.withholdWaiting(at: now)
        let (progress, done) = assigner.engine.proceed(at: now)
        return effects + progress + (done.map { assigner.findHandler(for: $0, at: now) } ?? [])
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
            guard let call = active[key], call.number == number else { return [] }
            let then = call.policy.unrecorded
            return assigner.engine.settle(key, at: now) { $0.ringNotJournaled(then, at: now) }
        case .restored(let call, let policy): return restore(call, policy, at: now)
        case .handlersRestored(let app, let handlers, let alive, let policy):
            return assigner.restoreHandlers(handlers, of: app, alive: alive, policy, at: now)
        case .strikesRestored(let app, let strikes, let isStruckOut):
            assigner.engine.handlers.restore(strikes, of: app, isStruckOut: isStruckOut)
            return []
        case .strikesCleared(let app):
            guard let effects = assigner.engine.handlers.clearStrikes(of: app) else { return [] }
            return effects + assigner.startWaiting(of: app, at: now)
        case .callersDeleted:
            assigner.engine.calls.forgetCallers()
            return []
        case .callersRevealed(let callers): return assigner.engine.calls.reveal(callers).map { .callChanged($0) }
        case .policiesChanged(let policies): return assigner.adopt(policies, at: now)
        case .appReset(let app): return assigner.reset(app, at: now)
        case .handlerConnected(let app, let wake, let pid, let policy):
            return assigner.handlerConnected(app, wake, pid: pid, policy, at: now)
        case .handlerDisconnected(let wake): return assigner.handlerDisconnected(wake, at: now)
        case .claimed(let key, let wake): return assigner.claim(key, by: wake, at: now)
        case .handlerStarted(let wake, let pid): return assigner.handlerStarted(wake, pid: pid, at: now)
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
            // The push may have been answered with 503. Then the repeat must bring everything that the journal needs.
            let isDurable = call.isJournaled && call.pushID.canonicalPushID == push.pushID.canonicalPushID
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
            let replaced = assigner.engine.waiting(replacedBy: push)
            if let refusal = assigner.engine.refusal(of: push, replacing: replaced, at: now) {
                return [.refused(refusal)]
            }
            assigner.engine.pace.note(push, at: now)
            return start(key, push, facts, policy, outcome, replacing: replaced, at: now) { assigner, call in
                assigner.engine.calls.file(call)
                return assigner.admit(key, policy, at: now)
            }
        case .ends(let outcome, let reason, let detail):
            return start(key, push, facts, policy, outcome, at: now) { assigner, call in
                assigner.engine.settle(call, at: now, restricting: restriction) { $0.abandon(reason, detail) }
            }
        }
    }

    /// Makes a new call, lets `proceed` store it, and sends its push to the journal, with the call that it replaces.
    private mutating func start(
        _ key: CallKey, _ push: VerifiedPush, _ facts: PushFacts, _ policy: AppPolicy, _ outcome: PushOutcome,
        replacing former: Call? = nil, at now: BootInstant, _ proceed: (inout CallAssigner, Call) -> [Effect]
    ) -> [Effect] {
        let end = former.map { assigner.engine.replace($0, at: now) } ?? []
        let call = Call(number: nextCallNumber, key: key, push: push, facts, outcome, policy)
        let effects = proceed(&assigner, call)
        let record = PushRecord(push, call: key.id, outcome: outcome)
        let isOver = outcome != .started && outcome != .withheld
        let journal = Effect.journalPush(
            record, payloads: isOver ? [] : [CallPayload(push: 0, bytes: push.payload)],
            call: (self.call(key) ?? call).journalRecord,
            replaced: former.flatMap { self.call($0.key)?.journalRecord })
        // After the wake, which must not wait for the disk, and before observers are notified.
        let wakes = effects.prefix(while: \.isWake)
        return wakes + [journal] + end + effects.dropFirst(wakes.count)
    }

    /// A further push of a call in progress.
    private mutating func update(
        _ known: Call, _ push: VerifiedPush, _ facts: PushFacts, at now: BootInstant
    ) -> [Effect] {
        // The call is not durable yet: its first push may have been answered with 503.
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

    /// A push that changes nothing, but may bring data that the journal doesn't have yet.
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

    /// The journal already had a call with this key: the push was a late repeat. Its handler was woken in vain, and the
    /// user is not notified.
    private mutating func forget(_ call: Call, at now: BootInstant) -> [Effect] {
        guard !call.machine.hasEnded else { return [] }
        var effects = assigner.engine.settle(call.key, at: now) {
            $0.abandon(.cancelled, "it repeats a call that had ended")
        }
        effects.removeAll { if case .callMissed = $0 { true } else { false } }
        return effects + assigner.engine.handlers.dismissIfIdle(call.handler, of: call.key.app, at: now)
    }

    /// The next call and the next handler get these numbers, or higher ones: lower ones may be taken.
    package mutating func skip(toCall call: Int64, toWake wake: UInt64) {
        assigner.engine.calls.skip(to: call)
        assigner.engine.handlers.skip(to: wake)
    }

    /// Adds calls that had ended before the daemon started, the oldest first, so that repeats of their pushes are
    /// known.
    package mutating func remember(_ records: [CallRecord]) {
        for record in records where call(record.key) == nil { correct(record) }
    }

    /// Replaces the call of a late repeat by the journal's record of the call.
    package mutating func correct(_ record: CallRecord) {
        guard active[record.key] == nil, record.state == .ended else { return }
        assigner.engine.calls.file(Call(record, [], AppPolicy()))
    }

    /// Restores a call that had not ended. The event `handlersRestored` gives it its handler, or another one.
    private mutating func restore(_ stored: StoredCall, _ policy: AppPolicy?, at now: BootInstant) -> [Effect] {
        var record = stored.record
        let key = record.key
        if let known = call(key) { return unite(known, with: record, at: now) }
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
        // The call was journaled, but the time may not have been written.
        call.note(.journaled, at: now)
        if stands { call.restored(at: now) }
        assigner.engine.calls.file(call)
        switch fate {
        case .deliveredAgain: return []
        case .ends(let reason, let detail):
            return assigner.engine.settle(key, at: now) { $0.abandon(reason, detail) }
        case .stands:
            // The request to ring is on disk, so the call may have rung before the restart.
            let ring = rangAt.map { at in assigner.engine.settle(key, at: at) { $0.ringJournaled(at: at) } }
            // Deadlines that the user waits for may have passed meanwhile.
            return (ring ?? []) + assigner.engine.advance(call, at: now)
        }
    }

    /// The journal has an open call that a push has started again, while the journal could not be read: both are one
    /// call, under the journal's number. Otherwise the journal would take the push for a late repeat, and end the call.
    private mutating func unite(_ known: Call, with record: CallRecord, at now: BootInstant) -> [Effect] {
        guard known.number != record.number, known.provenance.sender == record.provenance.sender else { return [] }
        var call = known
        call.number = record.number
        call.note(.journaled, at: now)
        assigner.engine.calls.file(call)
        return [.callNoted(call)]
    }

    // MARK: - State that the driver reads after each event

    /// The calls in progress.
    package var active: [CallKey: Call] { assigner.engine.calls.active }

    /// The calls that ended last, the oldest first.
    package var finished: [Call] { assigner.engine.calls.finished }

    /// The call with this key, in progress or among the last that ended.
    package func call(_ key: CallKey) -> Call? { assigner.engine.calls[key] }

    /// The key of the call that a push is about; see ``CallTable/key(of:_:)``.
    package func key(of push: VerifiedPush, _ facts: PushFacts) -> CallKey {
        assigner.engine.calls.key(of: push, facts)
    }

    /// When the call's present state ends, if nothing happens; nil: never.
    package func deadline(of call: Call) -> BootInstant? {
        let lane = lanes[call.key.app].flatMap { $0.waiting.contains(call.key) ? $0.unattendedDeadline : nil }
        return [call.machine.stateDeadline, lane].compactMap { $0 }.min()
    }

    /// The number of the next call.
    package var nextCallNumber: Int64 { assigner.engine.calls.nextNumber }

    /// The handlers of each app that has any, and the calls that wait for one.
    package var lanes: [AppID: HandlerLane] { assigner.engine.handlers.lanes }

    /// The number of the next start of a handler.
    package var nextWakeNumber: UInt64 { assigner.engine.handlers.nextWakeNumber }

    /// The process of the handler that has this call; nil if there is none.
    package func process(of call: Call) -> Int32? { call.handler.flatMap { lanes[call.key.app]?.handlers[$0]?.pid } }

    /// The strikes against the app's handlers, the oldest first: those that counted at the last strike.
    package func strikes(of app: AppID) -> [Strike] { assigner.engine.handlers.strikes.strikes(of: app) }

    /// Whether the app's handlers are no longer started, until its strikes are cleared.
    package func isStruckOut(_ app: AppID) -> Bool { assigner.engine.handlers.strikes.isStruckOut(app) }

    /// When ``Event/deadlineReached`` is due; nil if there is no deadline.
    package var nextDeadline: BootInstant? {
        guard let call = assigner.engine.calls.nextDeadline else { return assigner.engine.handlers.nextDeadline }
        return assigner.engine.handlers.nextDeadline.map { min(call, $0) } ?? call
    }

    /// Whether the device has a cellular call.
    package var isCellularActive: Bool { assigner.engine.isCellularActive }

    /// Whether a call is in progress, including a cellular one. A further ringing call is then a waiting call.
    package var isInCall: Bool { assigner.engine.isInCall }

    /// Whether the user has answered or resumed this call, and other calls are being held or ended for it.
    package func waitsForOthers(_ key: CallKey) -> Bool { assigner.engine.request?.call == key }

    /// The ringing calls, the oldest first, except one that the user has answered and that waits for others.
    package var ringingCalls: [Call] {
        assigner.engine.calls.mayNeedAudio.filter { $0.machine.state.name == .ringing && !waitsForOthers($0.key) }
    }

    /// Whether the machine must stay awake for a call.
    package func needsAwake(_ rule: AwakeRule) -> Bool {
        active.values.contains { rule.covers($0.machine.state) }
    }

    /// What the calls need of audio now.
    ///
    /// - Parameters:
    ///   - former: the previous needs.
    ///   - processes: the processes of a call's handler, as far as they are known.
    package func audioNeeds(
        after former: CallAudioNeeds, processes: (Call) -> Set<Int32>
    ) -> CallAudioNeeds {
        // This runs after each event, so it must not look at every call that waits for its handler.
        let calls = assigner.engine.calls.mayNeedAudio
        var needs = CallAudioNeeds(
            of: calls, isFocusComing: assigner.engine.request != nil, after: former, processes: processes)
        needs.isRinging = !ringingCalls.isEmpty
        return needs
    }
}
