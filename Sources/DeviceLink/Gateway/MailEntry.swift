import RingwakeCore

/// A push in a ``Mailbox``.
struct MailEntry: Sendable {
    enum Durability: Hashable, Sendable {
        /// Only in memory: the commit is held back until the device has answered, or this time.
        case held(until: BootInstant)
        case committing
        case stored
    }

    enum Delivery: Hashable, Sendable {
        case waiting
        case reading
        case inFlight
        /// The device could not take it.
        case resting(until: BootInstant)
        /// A later push with its collapse id takes its place as soon as that one is stored.
        case superseded(by: MailKey)
    }

    /// Its payload is empty while only the disk has it.
    private(set) var push: LinkPush
    private(set) var payloadBytes: Int
    var durability: Durability
    var delivery: Delivery
    private(set) var hasPayload: Bool
    /// It was sent, or could not be because there was no link. A push that allows one attempt has had it then.
    var hadAttempt: Bool

    var key: MailKey { push.key }

    /// A push that a sender sends now.
    init(_ push: LinkPush, _ durability: Durability, _ delivery: Delivery, hadAttempt: Bool) {
        self.push = push
        payloadBytes = push.payload.count
        self.durability = durability
        self.delivery = delivery
        hasPayload = true
        self.hadAttempt = hadAttempt
    }

    /// A push that the last run left, without its payload.
    init(restored push: LinkPush, payloadBytes: Int) {
        self.push = push
        self.payloadBytes = push.notice == nil ? payloadBytes : 0
        durability = .stored
        delivery = .waiting
        hasPayload = push.notice != nil
        hadAttempt = true
    }

    /// Whether it is neither on its way nor being written.
    var isAtRest: Bool {
        guard durability == .stored else { return false }
        switch delivery {
        case .waiting, .resting: return true
        case .reading, .inFlight, .superseded: return false
        }
    }

    /// Whether it is this push of the same sender.
    func isRepeated(by other: LinkPush) -> Bool {
        push.slot == other.slot && push.sender == other.sender
            && push.pushID.canonicalPushID == other.pushID.canonicalPushID
    }

    /// Whether a later push takes its place. A push on its way is followed, not replaced.
    func isCollapsed(by other: LinkPush) -> Bool {
        guard let id = other.collapseID else { return false }
        return isAtRest && push.notice == nil && push.collapseID == id && push.slot == other.slot
            && push.sender == other.sender
    }

    /// Why it must not ring any more; nil if it may.
    func notice(at now: BootInstant, _ limits: LinkLimits) -> LinkPush.Notice? {
        let milliseconds = now.nanoseconds / 1_000_000
        if push.expires == 0, hadAttempt { return .oneAttempt }
        if let left = push.millisecondsLeft(at: milliseconds), left <= 0 { return .expired }
        let age = milliseconds.subtractingClamped(push.arrivedBoot)
        return age > limits.maximumMailAge.milliseconds ? .tooOld : nil
    }

    mutating func becomeNotice(_ notice: LinkPush.Notice) {
        push.notice = notice
        push.content = .plain
        push.payload = []
        payloadBytes = 0
        hasPayload = true
    }

    /// Only the disk keeps the payload of a push that is stored. A notice has none.
    mutating func forgetPayload() {
        guard durability == .stored, push.notice == nil else { return }
        push.payload = []
        hasPayload = false
    }

    mutating func takePayload(_ stored: Mailbox.StoredPayload) {
        push.content = stored.content
        push.payload = stored.bytes
        hasPayload = true
    }
}
