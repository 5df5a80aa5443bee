/// One call of one app: its state machine, and everything else that is known about it.
package struct Call: Hashable, Sendable {
    /// The call's number in the journal: unique, and higher than those of earlier calls.
    package internal(set) var number: Int64
    /// The call's key on this device.
    package let key: CallKey
    /// The sender of its push, and how the push came in.
    package let provenance: Provenance
    /// The id of the push that started it; empty without a push.
    package let pushID: String
    /// The collapse id of the push that started it. A later push with the same id takes its place while it waits.
    package let collapseID: String?
    /// When its push arrived, in milliseconds since 1970 by the wall clock at that time; nil if the clock was not read.
    /// For display only: no decision depends on it.
    package let receivedWallClock: Int64?
    /// Whether the user calls an emergency number: nothing may keep it from being tried.
    package let isEmergency: Bool
    /// Whether its sender wants one attempt: the call is not delivered again after a restart.
    package let isOneAttempt: Bool
    /// How often a handler was woken for the call, or fetched it; 0 while the call is queued.
    package private(set) var attempt = 0
    /// Its state.
    package private(set) var machine: CallStateMachine
    /// What is known about the caller; of an outgoing call: about who is called.
    package private(set) var update: CallUpdate
    /// Its app's configuration when its last handler was started or connected; until then, the present one.
    package private(set) var policy: AppPolicy
    /// What rings for it: the handler or the daemon. It is the daemon if the handler failed.
    package private(set) var ringer: CallRinger
    /// What kept the call from ringing.
    package private(set) var restriction: Restriction?
    /// The handler's configuration of the audio session; nil: the default for a voice or video call.
    package private(set) var audioConfiguration: AudioSessionConfiguration?
    /// The state of its audio session; nil before the first activation.
    package private(set) var audio: CallAudioState?
    /// Whether the user hung up while it was in focus.
    private(set) var wasEndedInFocus = false
    /// Whether it was to answer itself: that is tried once, and not in a call that a restarted daemon restores, for which
    /// nobody knows whether it was tried.
    private var hasAnsweredItself = false
    /// The number of the conference that it is in. It has its own number as long as two calls are in it.
    package private(set) var conference: Int64?
    /// The handler that has the call, or had it at its end. Also a handler that was offered the call and has not
    /// claimed it yet, as the machine's `claimBy` says. Nil while the call is queued, and after it lost its handler.
    package private(set) var handler: WakeID?
    /// How many handlers were started for the call, or had it delivered, since it lost its handler.
    private(set) var claimStarts = 0
    /// Its pushes.
    package private(set) var pushes: CallPushes
    /// What happened to it, in order.
    package private(set) var timeline: [TimelineEntry]

    /// A queued call for a push; `outcome` is the outcome of that push.
    init(
        number: Int64, key: CallKey, push: VerifiedPush, _ facts: PushFacts, _ outcome: PushOutcome, _ policy: AppPolicy
    ) {
        self.number = number
        self.key = key
        provenance = push.provenance
        pushID = push.pushID
        collapseID = push.collapseID
        receivedWallClock = push.receivedWallClock
        isEmergency = false
        isOneAttempt = push.expiration == .oneAttempt
        var deadlines = policy.deadlines
        deadlines.ring = facts.ringTime ?? deadlines.ring
        machine = CallStateMachine(deadlines: deadlines, ringBefore: push.ringBefore(facts, policy))
        update = facts.update
        self.policy = policy
        ringer = policy.ringer
        pushes = CallPushes(first: push, outcome)
        timeline = [
            TimelineEntry(.received, at: push.receivedAt), TimelineEntry(.verified, at: push.verifiedAt),
        ]
    }

    /// A queued outgoing call.
    init(number: Int64, _ outgoing: OutgoingCall, _ policy: AppPolicy, at now: BootInstant) {
        self.number = number
        key = outgoing.key
        provenance = .device
        pushID = ""
        collapseID = nil
        receivedWallClock = outgoing.wallClock
        isEmergency = outgoing.isEmergency
        isOneAttempt = false
        let limit = now.advanced(by: policy.deadlines.ring)
        machine = CallStateMachine(deadlines: policy.deadlines, ringBefore: limit, isOutgoing: true)
        update = outgoing.update
        self.policy = policy
        ringer = policy.ringer
        pushes = CallPushes(nil, startedBy: "", at: now, payloads: OutgoingCall.payloads(of: outgoing.update))
        timeline = [TimelineEntry(.received, at: now)]
    }

    /// Applies a changed configuration, while the call waits for a handler. Its deadlines stay.
    mutating func adopt(_ policy: AppPolicy) {
        self.policy = policy
        // After the call has rung, what rang for it goes on.
        if case .queued = machine.state { ringer = policy.ringer }
    }

    /// What is taken away from its app is taken away at once; what is given is given to its later calls.
    mutating func adoptRights(_ policy: AppPolicy) {
        self.policy.maySelfAnswer = self.policy.maySelfAnswer && policy.maySelfAnswer
        if policy.autoAnswer == nil { self.policy.autoAnswer = nil }
    }

    /// Restores a call from the journal.
    package init(_ record: CallRecord, _ payloads: [CallPayload], _ policy: AppPolicy) {
        let arrival = record.receivedAt
        let progress = record.progress
        number = record.number
        key = record.key
        provenance = record.provenance
        pushID = record.pushID
        collapseID = record.collapseID
        receivedWallClock = record.receivedWallClock
        isEmergency = record.isEmergency
        isOneAttempt = record.isOneAttempt
        attempt = record.attempt
        machine = CallStateMachine(record, policy)
        update = record.update
        self.policy = policy
        ringer = progress?.ringer ?? policy.ringer
        restriction = record.restriction.map { Restriction($0, record.detail ?? "") }
        audioConfiguration = progress?.audio?.configuration
        audio = progress?.activation.map { CallAudioState(activation: $0) }
        wasEndedInFocus = progress?.wasEndedInFocus ?? false
        conference = progress?.conference
        handler = progress?.handler
        claimStarts = progress?.claimStarts ?? 0
        pushes = CallPushes(
            progress?.pushes, startedBy: record.pushID, at: arrival,
            payloads: record.isOutgoing && progress != nil ? OutgoingCall.payloads(of: record.update) : payloads)
        timeline = record.timeline
    }

    /// When its first push arrived.
    package var receivedAt: BootInstant { timeline.first?.at ?? BootInstant(nanoseconds: 0) }

    /// Whether the journal has stored it.
    package var isJournaled: Bool { timeline.contains { $0.stage == .journaled } }

    /// The call's record for the call log. ``journalRecord`` adds the rest.
    package var record: CallRecord {
        var record = CallRecord(
            number: number, key: key, provenance: provenance, pushID: pushID, state: machine.state.name,
            reason: machine.state.endReason, detail: machine.state.endDetail, update: update, attempt: attempt,
            ringBefore: machine.ringBefore, isOneAttempt: isOneAttempt, ringTime: machine.deadlines.ring,
            timeline: timeline)
        record.collapseID = collapseID
        record.isEmergency = isEmergency
        record.receivedWallClock = receivedWallClock
        record.restriction = restriction?.kind
        return record
    }

    /// The complete record of the call. A restarted daemon restores the call from it.
    package var journalRecord: CallRecord {
        var record = record
        if !machine.hasEnded { record.progress = CallProgress(of: self) }
        return record
    }

    /// Whether to notify the user of a missed call. A call that was restricted is not reported.
    var isToBeToldAsMissed: Bool {
        machine.hasEnded && restriction == nil && !machine.isOutgoing && timeline.isMissed(machine.state.endReason)
    }

    /// When it answers itself; nil: it does not.
    package var answersItselfAt: BootInstant? {
        guard case .ringing = machine.state, update.answersItself == true, !hasAnsweredItself,
            let delay = policy.autoAnswer, let rang = timeline.first(where: { $0.stage == .rang })
        else { return nil }
        return rang.at.advanced(by: delay)
    }

    /// When something happens to it by itself; nil once it has ended.
    package var nextDeadline: BootInstant? {
        guard let deadline = machine.nextDeadline else { return nil }
        return min(deadline, answersItselfAt ?? deadline)
    }

    /// It is to answer itself now.
    mutating func noteSelfAnswer() { hasAnsweredItself = true }

    /// How many handlers get a call that its handlers leave without reporting it.
    private static let maximumReassignments = 3

    /// Whether another handler gets the call if its handler leaves without reporting it.
    var mayBeReassigned: Bool {
        machine.state.name == .woken && !isOneAttempt && attempt < Call.maximumReassignments
    }

    // MARK: - Inputs

    /// Applies an input to the state machine, and updates everything that depends on the state.
    ///
    /// - Parameters:
    ///   - stage: the timeline entry for the input.
    ///   - standIn: who made the input instead of the user.
    ///   - update: what the input says about the caller.
    ///   - restriction: what keeps the call from ringing with this input.
    /// - Returns: nil if nothing changed.
    mutating func apply(
        at now: BootInstant, noting stage: TimelineEntry.Stage? = nil, by standIn: TimelineEntry.StandIn? = nil,
        updating update: CallUpdate? = nil, restricting restriction: Restriction? = nil,
        _ input: (inout CallStateMachine) throws(CallStateMachine.Refusal) -> [CallStateMachine.Output]
    ) throws(CallStateMachine.Refusal) -> [CallStateMachine.Output]? {
        let before = machine
        var next = machine
        let outputs = try input(&next)
        guard next != before else { return nil }
        machine = next
        if let update { self.update.merge(update) }
        if let stage { note(stage, at: now, by: stage.isUsers ? standIn : nil) }
        if let stage = next.state.timelineStage { note(stage, at: now) }
        self.restriction = restriction ?? self.restriction
        if before.state.isUnconfirmed { pushes.dropFetched() }
        if next.hasEnded {
            pushes.dropAll()
            conference = nil
        }
        switch next.lease {
        case .taken, .offered: return outputs
        case .absent: ringer = .daemon
        case .lost(let deadline): if before.claimBy != deadline { claimStarts = 0 }
        }
        handler = nil
        pushes.keepForClaim()
        return outputs
    }

    /// Adds to the timeline, in order. Each stage occurs at most once, so the number of stages bounds the timeline.
    mutating func note(_ stage: TimelineEntry.Stage, at now: BootInstant, by standIn: TimelineEntry.StandIn? = nil) {
        guard !timeline.contains(where: { $0.stage == stage }) else { return }
        let entry = TimelineEntry(stage, at: now, by: standIn)
        let place = timeline.lastIndex { $0 < entry } ?? 0
        timeline.insert(entry, at: place + 1)
    }

    /// Nobody can read any more who called.
    mutating func forgetCaller() {
        (update.caller, update.callerName, update.identifiedAs, update.lockedBy) = (nil, nil, nil, nil)
    }

    /// Its handler knows more, or something has changed. Returns false if it is all known.
    mutating func change(to newer: CallUpdate) -> Bool {
        let former = update
        update.change(to: newer)
        return update != former
    }

    /// Who called can be read now.
    mutating func reveal(_ known: CallUpdate) {
        guard update.lockedBy != nil, known.lockedBy == nil else { return }
        let later = update
        update = known
        update.merge(later)
        update.lockedBy = nil
    }

    /// Keeps a further push of the call.
    mutating func keep(_ push: VerifiedPush, _ facts: PushFacts, _ outcome: PushOutcome) {
        update.change(to: facts.update)
        pushes.keep(push, outcome)
    }

    /// What the sender of a push of this call is told: a further push shares the fate of the call. So a sender that got
    /// no answer, and sends again, learns what became of the first.
    package func outcome(of push: PushRecord) -> PushOutcome {
        switch push.outcome {
        case .started, .updated, .duplicate:
            if machine.state.endReason == .replaced { return .replaced }
            guard push.outcome != .started else { return .started }
            let first = pushes.firstOutcome ?? push.outcome
            return first == .started && machine.hasEnded ? .duplicate : first
        case .cancelled, .expired, .tooLate, .restricted, .withheld, .replaced: return push.outcome
        }
    }

    /// A further push cancelled the call.
    mutating func noteCancelled(by push: VerifiedPush) { pushes.note(push, .cancelled) }

    /// The user hangs up: notes whether the call was in focus.
    mutating func noteHangUp() {
        if [.answering, .dialling, .connecting, .connected].contains(machine.state.name) { wasEndedInFocus = true }
    }

    /// Joins a conference; nil: leaves its own.
    mutating func join(_ conference: Int64?) { self.conference = conference }

    /// Stores the handler's configuration of the audio session.
    mutating func configureAudio(_ configuration: AudioSessionConfiguration) { audioConfiguration = configuration }

    /// Applies a change of its audio session. Returns false if nothing changed.
    mutating func apply(_ change: CallAudioChange, at now: BootInstant) -> Bool {
        var audio = self.audio ?? CallAudioState()
        guard audio.apply(change) else { return false }
        self.audio = audio
        if case .activated = change { note(.audioActive, at: now) }
        return true
    }

    /// Restores the call after a restart of the daemon within the same boot.
    mutating func restored(at now: BootInstant) {
        claimStarts = 0
        if [.confirmed, .ringing].contains(machine.state.name) { hasAnsweredItself = true }
        if [.answering, .connecting, .connected, .held, .ending].contains(machine.state.name) {
            audio = (audio ?? CallAudioState()).afterRestart
        }
        machine.restored(at: now)
    }

    // MARK: - Its handler

    /// How a handler gets its unread pushes.
    enum Transfer {
        /// With its start, where they cannot be lost.
        case start
        /// It fetches every push that it has not acknowledged.
        case fetch
        /// Over its connection: every push that was not yet sent on it.
        case connection
    }

    /// A handler is started for the call, or the call is delivered to one.
    mutating func noteClaimStart() {
        if machine.claimBy != nil { claimStarts += 1 }
    }

    mutating func assign(to wake: WakeID) {
        handler = wake
        attempt += 1
    }

    /// Gives the handler at most `limit` unread pushes. Until the call is reported, pushes that were fetched or
    /// delivered are kept: the answer or the connection may be lost.
    mutating func takeUnread(
        for wake: WakeID, by transfer: Transfer, atMost limit: Int
    ) -> (pushes: [CallPushes.Unread], isNew: Bool) {
        let isNew = handler == nil
        if isNew { assign(to: wake) }
        // A handler that is to claim the call may not know it, so it gets the push that started the call.
        let isClaim = machine.claimBy != nil && (isNew || transfer == .fetch) && limit > 0
        let claim = isClaim ? [pushes.claim(receivedAt: receivedAt)] : []
        let given = transfer == .connection ? pushes.fetched : 0
        let new = pushes.unread.dropFirst(given).prefix(limit - claim.count)
        if machine.state == .queued || machine.state.isUnconfirmed, transfer != .start {
            pushes.noteFetched(given + new.count)
        } else {
            pushes.drop(new.count)
        }
        return (claim + new, isNew)
    }

    /// The request that brings a push to the handler.
    func request(of push: CallPushes.Unread, for wake: WakeID, at now: BootInstant) -> WakeRequest {
        WakeRequest(
            wake: wake, kind: machine.isOutgoing && push.kind == .call ? .start : push.kind, app: key.app, call: key.id,
            attempt: attempt,
            receivedAt: push.receivedAt, reportBy: machine.nextDeadline ?? now, payload: push.payload)
    }

    /// The handler's connection is gone, so it may not have received its pushes.
    mutating func forgetFetched() { pushes.forgetFetched() }

    /// Queues the call for another handler, which gets all of its pushes.
    mutating func requeue() {
        handler = nil
        pushes.restoreFirst()
    }
}

extension CallStateMachine.State {
    /// The timeline entry for entering this state; events add the other entries.
    fileprivate var timelineStage: TimelineEntry.Stage? {
        switch self {
        case .reported: .reported
        case .ringing: .rang
        case .connected: .connected
        case .connecting: .dialled
        case .ended: .ended
        case .queued, .woken, .confirmed, .answering, .held, .dialling, .ending: nil
        }
    }

    /// Whether a handler got the call, and hasn't said so.
    fileprivate var isUnconfirmed: Bool {
        switch self {
        case .woken, .dialling: true
        default: false
        }
    }
}
