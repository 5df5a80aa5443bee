/// One call of one app: its state machine and what is known of it.
package struct Call: Hashable, Sendable, Codable {
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
    /// When its push arrived by the wall clock, in milliseconds since 1970, as it stood then; nil where nobody
    /// looked. For people to read: nothing is decided by it.
    package let receivedWallClock: Int64?
    /// `apns-expiration: 0`: it is not delivered again after a restart.
    package let isOneAttempt: Bool
    /// How often a handler was woken for it, or fetched it; 0 while it waits for its turn.
    package internal(set) var attempt: Int
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
    var wasEndedInFocus: Bool?
    /// The handler that has it, or had it at its end; also one that was given it to claim and has not done so, as its
    /// machine's `claimBy` says. Nil while it waits, and while no handler is to hear of it.
    package internal(set) var handler: WakeID?
    /// How many handlers were started, or had it delivered, since it lost its own.
    var claimStarts = 0
    /// The push that started it: a handler that is to claim it may know nothing of it. Nil once it has ended.
    private(set) var first: UnreadPush?
    /// What no handler has been given of its pushes, in the order of their arrival.
    package internal(set) var unread: [UnreadPush]
    /// How many of these its handler has fetched, and not answered with a report.
    private(set) var fetched = 0
    /// The pushes whose repeats are known: the one that started it, and the newest.
    private var pushes: [KnownPush]
    /// What happened, in order.
    package private(set) var timeline: [TimelineEntry]

    /// A push that no handler has been given.
    package struct UnreadPush: Hashable, Sendable, Codable {
        package let kind: WakeRequest.Kind
        package let receivedAt: BootInstant
        package let payload: [UInt8]

        package init(kind: WakeRequest.Kind, receivedAt: BootInstant, payload: [UInt8]) {
            self.kind = kind
            self.receivedAt = receivedAt
            self.payload = payload
        }

        private enum CodingKeys: String, CodingKey {
            case kind, receivedAt, payload
        }

        // A payload is text (RFC 8259 section 8.1), and as an array of numbers it would take four times the space.
        package init(from decoder: any Decoder) throws {
            let container = try decoder.container(keyedBy: CodingKeys.self)
            kind = try container.decode(WakeRequest.Kind.self, forKey: .kind)
            receivedAt = try container.decode(BootInstant.self, forKey: .receivedAt)
            payload = Array(try container.decode(String.self, forKey: .payload).utf8)
        }

        package func encode(to encoder: any Encoder) throws {
            var container = encoder.container(keyedBy: CodingKeys.self)
            try container.encode(kind, forKey: .kind)
            try container.encode(receivedAt, forKey: .receivedAt)
            try container.encode(String(decoding: payload, as: UTF8.self), forKey: .payload)
        }
    }

    /// A push that brought something about, so that its repeat brings about nothing.
    struct KnownPush: Hashable, Sendable, Codable {
        /// In lower case: an `apns-id` is a UUID, the same in either case (RFC 9562 section 4).
        let apnsID: String
        let outcome: PushOutcome
    }

    /// The most unread pushes that are kept of a call: the first, which started it, and the newest.
    static let maximumUnread = 8
    /// The most pushes of a call whose repeats are known.
    static let maximumKnown = 8

    /// The call of a push, which waits; `outcome` is what that push brought about.
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
        attempt = 0
        self.machine = machine
        self.update = update
        self.policy = policy
        ringer = policy.ringer
        let first = UnreadPush(kind: .call, receivedAt: push.receivedAt, payload: push.payload)
        self.first = first
        unread = [first]
        pushes = [KnownPush(apnsID: push.apnsID.lowercased(), outcome: outcome)]
        timeline = [
            TimelineEntry(.received, at: push.receivedAt), TimelineEntry(.verified, at: push.verifiedAt),
        ]
    }

    /// A call that the journal knows.
    init(_ record: CallRecord, payload: [UInt8], policy: AppPolicy, machine: CallStateMachine) {
        number = record.number
        key = record.key
        topic = record.topic
        environment = record.environment
        team = record.team
        apnsID = record.apnsID
        receivedWallClock = record.receivedWallClock
        isOneAttempt = record.isOneAttempt
        attempt = record.attempt
        self.machine = machine
        update = record.update
        self.policy = policy
        ringer = policy.ringer
        let first = UnreadPush(kind: .call, receivedAt: record.receivedAt, payload: payload)
        self.first = first
        unread = [first]
        pushes = [KnownPush(apnsID: record.apnsID.lowercased(), outcome: .started)]
        timeline = record.timeline
    }

    /// When the push that started it arrived.
    package var receivedAt: BootInstant { timeline.first?.at ?? BootInstant(nanoseconds: 0) }

    /// Whether the journal has it.
    package var isJournaled: Bool { timeline.contains { $0.stage == .journaled } }

    /// Adds to the timeline. Each stage stands there at most once, so it is bounded by the number of stages.
    mutating func note(_ stage: TimelineEntry.Stage, at now: BootInstant) {
        guard !timeline.contains(where: { $0.stage == stage }) else { return }
        timeline.append(TimelineEntry(stage, at: now))
    }

    /// What this push brought about when it came before; nil when it did not. A push that takes the call back is no
    /// repeat of one that does not, though its sender gave it the same `apns-id`.
    func outcome(ofRepeated push: VerifiedPush, isCancel: Bool) -> PushOutcome? {
        let apnsID = push.apnsID.lowercased()
        return pushes.first { $0.apnsID == apnsID && ($0.outcome == .cancelled) == isCancel }?.outcome
    }

    /// Keeps in mind what a further push brought about.
    mutating func note(_ push: VerifiedPush, _ outcome: PushOutcome) {
        if pushes.count >= Call.maximumKnown {
            pushes.remove(at: 1)
        }
        pushes.append(KnownPush(apnsID: push.apnsID.lowercased(), outcome: outcome))
    }

    /// Whether something of it waits that no handler has fetched.
    package var hasUnfetched: Bool { unread.count > fetched }

    /// The first of the unread pushes have gone to the handler, and are kept until it reports the call.
    mutating func noteFetched(_ count: Int) { fetched = max(fetched, count) }

    /// The first of the unread pushes have gone to the handler.
    mutating func dropUnread(_ count: Int) {
        let dropped = min(count, unread.count)
        unread.removeFirst(dropped)
        fetched = max(0, fetched - dropped)
    }

    /// Whether the handler has what it was given is not known any more.
    mutating func forgetFetched() { fetched = 0 }

    /// The handler has reported the call, so it has what it fetched.
    mutating func dropFetched() {
        unread.removeFirst(min(fetched, unread.count))
        fetched = 0
    }

    /// Keeps a further push for the handler; of too many, what lies between the first and the newest goes.
    mutating func keep(_ push: VerifiedPush, _ outcome: PushOutcome) {
        note(push, outcome)
        if unread.count >= Call.maximumUnread {
            unread.remove(at: 1)
            if fetched > 1 { fetched -= 1 }
        }
        unread.append(UnreadPush(kind: .update, receivedAt: push.receivedAt, payload: push.payload))
    }

    /// It is over: nothing of its pushes is given to anybody.
    mutating func dropPayloads() {
        unread = []
        fetched = 0
        first = nil
    }

    /// What a handler is given that is to claim it; `{}` where the push is not known any more.
    var pushToClaim: UnreadPush {
        UnreadPush(kind: .claim, receivedAt: receivedAt, payload: first?.payload ?? Array("{}".utf8))
    }

    /// It has lost its handler: the next one is given all that says more of it anew, and its first push with the claim.
    mutating func keepForClaim() {
        fetched = 0
        unread.removeAll { $0.kind == .call }
    }

    /// Whether its push came when its app's handler was not started any more.
    var wasWithheld: Bool { pushes.first?.outcome == .withheld }

    /// How many handlers are given a call that each leaves as it comes.
    static let maximumHandOns = 3

    /// Whether another handler is given it when its own leaves without having reported it.
    var mayBeHandedOn: Bool {
        guard case .woken = machine.state else { return false }
        return !isOneAttempt && attempt < Call.maximumHandOns
    }

    /// No handler has heard of it, as far as anybody knows: the next one is given its first push again.
    mutating func restoreFirst() {
        fetched = 0
        if let first, unread.first?.kind != .call { unread.insert(first, at: 0) }
    }

    /// The call as it stands.
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

    /// The call as the journal is to keep it. While the journal is being asked to record that it rings, each record
    /// says that it does: else one that an update brings meanwhile would take that back, and the call would ring again
    /// after a restart.
    package var journalRecord: CallRecord {
        var record = record
        if case .confirmed(let limit, retryAt: nil) = machine.state {
            record.state = .ringing
            // The time of the confirmation, until that of the ring itself is written.
            let confirmed = limit.advanced(by: .zero - machine.deadlines.report)
            record.timeline.append(TimelineEntry(.rang, at: confirmed))
        }
        return record
    }
}
