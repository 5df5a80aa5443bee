/// One call of one app: its state machine and what is known of it.
package struct Call: Hashable, Sendable {
    /// Its number in the journal: unique, and higher than those of earlier calls.
    package let number: Int64
    /// Its name on this device.
    package let key: CallKey
    /// The topic that its push came for.
    package let topic: Topic
    /// Which environment its push came in by.
    package let environment: PushEnvironment
    /// The team of its sender.
    package let team: String
    /// The `apns-id` of the push that started it.
    package let apnsID: String
    /// When its push arrived by the wall clock, in milliseconds since 1970, as the clock stood then; nil where nobody
    /// looked. For people to read: nothing is decided by it.
    package let receivedWallClock: Int64?
    /// `apns-expiration: 0`: it is not delivered again after a restart.
    package let isOneAttempt: Bool
    /// How often a handler was woken for it, or fetched it; 0 while it waits for its turn.
    package internal(set) var attempt = 0
    /// Where it stands.
    package internal(set) var machine: CallStateMachine
    /// What is known of the caller.
    package internal(set) var update: CallUpdate
    /// What its app's configuration said when it came.
    package internal(set) var policy: AppPolicy
    /// Who makes it ring; the daemon, where the handler failed.
    package internal(set) var ringer: CallRinger
    /// What kept it out.
    package internal(set) var restriction: Restriction?
    /// What its handler has said of its audio session; nil: the usual one for a call by voice, or with video.
    package internal(set) var audioConfiguration: AudioSessionConfiguration?
    /// Its audio session; nil until it was to be active.
    package internal(set) var audio: CallAudioState?
    /// Whether the user hung up while it was in focus.
    var wasEndedInFocus = false
    /// The handler that has it, or had it at its end; also one that was given it to claim and has not done so, as its
    /// machine's `claimBy` says. Nil while it waits, and while no handler is to hear of it.
    package internal(set) var handler: WakeID?
    /// How many handlers were started, or had it delivered, since it lost its own.
    var claimStarts = 0
    /// Its pushes.
    package internal(set) var pushes: CallPushes
    /// What happened, in order.
    package internal(set) var timeline: [TimelineEntry]

    /// The call of a push, which waits; `outcome` is what that push did.
    init(
        number: Int64, key: CallKey, push: VerifiedPush, outcome: PushOutcome, update: CallUpdate, policy: AppPolicy,
        machine: CallStateMachine
    ) {
        self.number = number
        self.key = key
        topic = push.topic
        environment = push.environment
        team = push.sender.team
        apnsID = push.apnsID
        receivedWallClock = push.receivedWallClock
        isOneAttempt = push.expiration == .oneAttempt
        self.machine = machine
        self.update = update
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
        topic = record.topic
        environment = record.environment
        team = record.team
        apnsID = record.apnsID
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
        pushes = CallPushes(progress?.pushes, startedBy: record.apnsID, at: arrival, payloads: payloads)
        timeline = record.timeline
    }

    /// When the push that started it arrived.
    package var receivedAt: BootInstant { timeline.first?.at ?? BootInstant(nanoseconds: 0) }

    /// Whether the journal has it.
    package var isJournaled: Bool { timeline.contains { $0.stage == .journaled } }

    /// Adds to the timeline, in order. Each stage stands there at most once, so it is bounded by the number of stages.
    mutating func note(_ stage: TimelineEntry.Stage, at now: BootInstant) {
        guard !timeline.contains(where: { $0.stage == stage }) else { return }
        let entry = TimelineEntry(stage, at: now)
        let place = timeline.lastIndex { $0 < entry } ?? 0
        timeline.insert(entry, at: place + 1)
    }

    /// How many handlers are given a call that each leaves as it comes.
    static let maximumReassignments = 3

    /// Whether another handler is given it when its own leaves without having reported it.
    var mayBeReassigned: Bool {
        guard case .woken = machine.state else { return false }
        return !isOneAttempt && attempt < Call.maximumReassignments
    }

    /// The call for people: what its log shows. ``journalRecord`` has the rest.
    package var record: CallRecord {
        var record = CallRecord(
            number: number, key: key, topic: topic, environment: environment, team: team, apnsID: apnsID,
            state: machine.state.name, reason: machine.state.endReason, detail: machine.state.endDetail,
            update: update, attempt: attempt, ringBefore: machine.ringBefore, isOneAttempt: isOneAttempt,
            ringTime: machine.deadlines.ring, timeline: timeline)
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
}
