/// One call of one app: its state machine and what is known of it.
package struct Call: Hashable, Sendable {
    /// Its number in the journal: unique, and higher than those of earlier calls.
    package let number: Int64
    /// Its name on this device.
    package let key: CallKey
    /// Who sent its push, by which door.
    package let provenance: Provenance
    /// The id of the push that started it.
    package let pushID: String
    /// When its push arrived by the wall clock, in milliseconds since 1970, as the clock stood then; nil where nobody
    /// looked. For people to read: nothing is decided by it.
    package let receivedWallClock: Int64?
    /// Its sender wants one attempt: it is not delivered again after a restart.
    package let isOneAttempt: Bool
    /// How often a handler was woken for it, or fetched it; 0 while it waits for its turn.
    package private(set) var attempt = 0
    /// Where it stands.
    package private(set) var machine: CallStateMachine
    /// What is known of the caller.
    package private(set) var update: CallUpdate
    /// What its app's configuration said when it came.
    package let policy: AppPolicy
    /// Who makes it ring; the daemon, where the handler failed.
    package private(set) var ringer: CallRinger
    /// What kept it out.
    package private(set) var restriction: Restriction?
    /// What its handler has said of its audio session; nil: the usual one for a call by voice, or with video.
    package private(set) var audioConfiguration: AudioSessionConfiguration?
    /// Its audio session; nil until it was to be active.
    package private(set) var audio: CallAudioState?
    /// Whether the user hung up while it was in focus.
    private(set) var wasEndedInFocus = false
    /// The handler that has it, or had it at its end; also one that was given it to claim and has not done so, as its
    /// machine's `claimBy` says. Nil while it waits, and while no handler is to hear of it.
    package private(set) var handler: WakeID?
    /// How many handlers were started, or had it delivered, since it lost its own.
    private(set) var claimStarts = 0
    /// Its pushes.
    package private(set) var pushes: CallPushes
    /// What happened, in order.
    package private(set) var timeline: [TimelineEntry]

    /// The call of a push, which waits; `outcome` is what that push did.
    init(
        number: Int64, key: CallKey, push: VerifiedPush, _ facts: PushFacts, _ outcome: PushOutcome, _ policy: AppPolicy
    ) {
        self.number = number
        self.key = key
        provenance = push.provenance
        pushID = push.pushID
        receivedWallClock = push.receivedWallClock
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

    /// A call that the journal has, as it stood.
    package init(_ record: CallRecord, _ payloads: [CallPayload], _ policy: AppPolicy) {
        let arrival = record.receivedAt
        let progress = record.progress
        number = record.number
        key = record.key
        provenance = record.provenance
        pushID = record.pushID
        receivedWallClock = record.receivedWallClock
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
        handler = progress?.handler
        claimStarts = progress?.claimStarts ?? 0
        pushes = CallPushes(progress?.pushes, startedBy: record.pushID, at: arrival, payloads: payloads)
        timeline = record.timeline
    }

    /// When the push that started it arrived.
    package var receivedAt: BootInstant { timeline.first?.at ?? BootInstant(nanoseconds: 0) }

    /// Whether the journal has it.
    package var isJournaled: Bool { timeline.contains { $0.stage == .journaled } }

    /// The call for people: what its log shows. ``journalRecord`` has the rest.
    package var record: CallRecord {
        var record = CallRecord(
            number: number, key: key, provenance: provenance, pushID: pushID, state: machine.state.name,
            reason: machine.state.endReason, detail: machine.state.endDetail, update: update, attempt: attempt,
            ringBefore: machine.ringBefore, isOneAttempt: isOneAttempt, ringTime: machine.deadlines.ring,
            timeline: timeline)
        record.receivedWallClock = receivedWallClock
        record.restriction = restriction?.kind
        return record
    }

    /// All that there is to know of the call: a restarted daemon takes it up from this.
    package var journalRecord: CallRecord {
        var record = record
        if !machine.hasEnded { record.progress = CallProgress(of: self) }
        return record
    }

    /// Whether the user is told that it was missed: not if it was kept out.
    var isToBeToldAsMissed: Bool { machine.hasEnded && restriction == nil && timeline.isMissed(machine.state.endReason) }

    /// How many handlers are given a call that each leaves without having reported it.
    private static let maximumReassignments = 3

    /// Whether another handler is given it when its own leaves without having reported it.
    var mayBeReassigned: Bool {
        machine.state.name == .woken && !isOneAttempt && attempt < Call.maximumReassignments
    }

    // MARK: - What happens to it

    /// Gives its machine an input, and updates what follows from that.
    ///
    /// - Parameters:
    ///   - stage: what the input adds to the timeline.
    ///   - update: what the input says of the caller.
    ///   - restriction: what keeps the call out with this input.
    /// - Returns: nil when nothing changed.
    mutating func apply(
        at now: BootInstant, noting stage: TimelineEntry.Stage? = nil, updating update: CallUpdate? = nil,
        restricting restriction: Restriction? = nil,
        _ input: (inout CallStateMachine) throws(CallStateMachine.Refusal) -> [CallStateMachine.Output]
    ) throws(CallStateMachine.Refusal) -> [CallStateMachine.Output]? {
        let before = machine
        var next = machine
        let outputs = try input(&next)
        guard next != before else { return nil }
        machine = next
        if let update { self.update.merge(update) }
        if let stage { note(stage, at: now) }
        if let stage = next.state.timelineStage { note(stage, at: now) }
        self.restriction = restriction ?? self.restriction
        if case .woken = before.state { pushes.dropFetched() }
        if next.hasEnded { pushes.dropAll() }
        switch next.lease {
        case .taken, .offered: return outputs
        case .absent: ringer = .daemon
        case .lost(let deadline): if before.claimBy != deadline { claimStarts = 0 }
        }
        handler = nil
        pushes.keepForClaim()
        return outputs
    }

    /// Adds to the timeline, in order. Each stage stands there at most once, so it is bounded by the number of stages.
    mutating func note(_ stage: TimelineEntry.Stage, at now: BootInstant) {
        guard !timeline.contains(where: { $0.stage == stage }) else { return }
        let entry = TimelineEntry(stage, at: now)
        let place = timeline.lastIndex { $0 < entry } ?? 0
        timeline.insert(entry, at: place + 1)
    }

    /// A further push says more of it.
    mutating func keep(_ push: VerifiedPush, _ facts: PushFacts, _ outcome: PushOutcome) {
        update.merge(facts.update)
        pushes.keep(push, outcome)
    }

    /// A further push took it back.
    mutating func noteCancelled(by push: VerifiedPush) { pushes.note(push, .cancelled) }

    /// The user hangs up: whether this is the call that he talks in.
    mutating func noteHangUp() {
        if case .connected = machine.state { wasEndedInFocus = true }
    }

    /// What its handler says of its audio session.
    mutating func configureAudio(_ configuration: AudioSessionConfiguration) { audioConfiguration = configuration }

    /// Something happened to its audio session. False when that was known.
    mutating func apply(_ change: CallAudioChange, at now: BootInstant) -> Bool {
        var audio = self.audio ?? CallAudioState()
        guard audio.apply(change) else { return false }
        self.audio = audio
        if case .activated = change { note(.audioActive, at: now) }
        return true
    }

    /// The daemon starts again within the same boot, and the call stands as it stood.
    mutating func restored(at now: BootInstant) {
        claimStarts = 0
        if [.answering, .connected, .held, .ending].contains(machine.state.name) {
            audio = (audio ?? CallAudioState()).afterRestart
        }
        machine.restored(at: now)
    }

    // MARK: - Its handler

    /// How a handler is given what is unread.
    enum Transfer {
        /// With its start, where it cannot be lost.
        case start
        /// It fetches all that it has not shown to have.
        case fetch
        /// By the connection that it keeps: what it has not been given by it yet.
        case connection
    }

    /// A handler is started for the call, or has it delivered.
    mutating func noteClaimStart() {
        if machine.claimBy != nil { claimStarts += 1 }
    }

    mutating func assign(to wake: WakeID) {
        handler = wake
        attempt += 1
    }

    /// Gives the handler at most `limit` pushes that are unread. What is fetched or delivered of a call that has not been
    /// reported is kept until it is: the answer may be lost, and the connection.
    mutating func takeUnread(
        for wake: WakeID, by transfer: Transfer, atMost limit: Int
    ) -> (pushes: [CallPushes.Unread], isNew: Bool) {
        let isNew = handler == nil
        if isNew { assign(to: wake) }
        // A handler that is to claim the call may not know of it, so it gets the push that started the call.
        let isClaim = machine.claimBy != nil && (isNew || transfer == .fetch) && limit > 0
        let claim = isClaim ? [pushes.claim(receivedAt: receivedAt)] : []
        let given = transfer == .connection ? pushes.fetched : 0
        let new = pushes.unread.dropFirst(given).prefix(limit - claim.count)
        if [.queued, .woken].contains(machine.state.name), transfer != .start {
            pushes.noteFetched(given + new.count)
        } else {
            pushes.drop(new.count)
        }
        return (claim + new, isNew)
    }

    /// What the handler gets of a push.
    func request(of push: CallPushes.Unread, for wake: WakeID, at now: BootInstant) -> WakeRequest {
        WakeRequest(
            wake: wake, kind: push.kind, app: key.app, call: key.id, attempt: attempt,
            receivedAt: push.receivedAt, reportBy: machine.nextDeadline ?? now, payload: push.payload)
    }

    /// The handler's connection is gone: nobody knows whether it has what it was given.
    mutating func forgetFetched() { pushes.forgetFetched() }

    /// It waits for another handler, which gets all of it.
    mutating func requeue() {
        handler = nil
        pushes.restoreFirst()
    }
}

extension CallStateMachine.State {
    /// What entering this state adds to the timeline; the rest is noted by the event that leads to it.
    fileprivate var timelineStage: TimelineEntry.Stage? {
        switch self {
        case .reported: .reported
        case .ringing: .rang
        case .connected: .connected
        case .ended: .ended
        case .queued, .woken, .confirmed, .answering, .held, .ending: nil
        }
    }
}
